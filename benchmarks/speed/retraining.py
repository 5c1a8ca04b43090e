"""How many trainings an anonymized model costs: `AnonymizedEstimator` beside its model alone.

    python benchmarks/speed/retraining.py           # the bars: about a minute
    python benchmarks/speed/retraining.py --cases   # then other rows, columns and settings
    python benchmarks/speed/retraining.py --quick   # under a minute: fewer rows

Forty per cent of Adult, ten quasi-identifiers and no other column, k = 100. Ours is timed from a
frame in memory to a model that may leave, with all that the default tries; beside it the model is
trained on the same rows as they are, encoded before. Libraries of linear algebra and OpenMP get
one thread, and seconds are of the processor. Progress goes to stderr; the last line of stdout is
one JSON object of bars. What the how-to says of other cases is on stderr, too: nothing is promised
of those.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # what all benchmarks share

from lightgbm import LGBMClassifier
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

import workloads
from bars import Bar, report, say
from halfmask.guarantees import KAnonymity
from halfmask.training import AnonymizedEstimator

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

K = 100
#: The quasi-identifiers where the last two columns, hours of work and country, aren't.
EIGHT = 8
FEW_ROWS = 2_000
#: What a fit does less with, by what the how-to calls it.
CHEAPER: dict[str, dict[str, str]] = {
    "centroid": {"representative": "centroid"},
    "split_targets=labels": {"split_targets": "labels"},
    "centroid and labels": {"representative": "centroid", "split_targets": "labels"},
}
SHARE = 0.4
QUICK_SHARE = 0.1
#: Three trainings on two thirds of the rows to guide, one on all, two on few, and what is around.
MOST_TRAININGS = 5.0
MODELS = {
    "tree": DecisionTreeClassifier(random_state=0),
    "forest of 100": RandomForestClassifier(100, random_state=0),
    "boosting, 50 rounds": HistGradientBoostingClassifier(
        max_iter=50, early_stopping=False, random_state=0
    ),
    "LightGBM": LGBMClassifier(n_jobs=1, verbose=-1, random_state=0),
    "network of 100, 10 epochs": MLPClassifier((100,), max_iter=10, random_state=0),
}


def trainings(
    name: str,
    model: Any,  # noqa: ANN401 # scikit-learn's
    frame: pl.DataFrame,
    **settings: Any,  # noqa: ANN401 # those of an estimator
) -> Bar:
    """Time both, and say how often the model could have been trained on rows as they are."""
    table, labels = frame.drop(workloads.LABEL), workloads.label_codes(frame)
    ours = AnonymizedEstimator(clone(model), guarantees=[KAnonymity(k=K)], **settings)
    seconds, fitted = _processor(lambda: clone(ours).fit(table, labels))
    rows = fitted.encode(table)
    alone = min(_processor(lambda: clone(model).fit(rows, labels))[0] for _ in range(3))
    said = f"{seconds / alone:.1f} trainings, {fitted.representative_}"
    say(f"{name}: {said}, {seconds:.2f} s beside {alone:.2f} s")
    return Bar(
        name=f"{name}, k={K}: a fit takes as long as so many trainings of its model",
        value=seconds / alone,
        goal=MOST_TRAININGS,
        side="at most",
        why=f"{seconds:.1f} s beside {alone:.2f} s, {table.height:,} rows",
    )


def _processor(run: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds of the processor, and the result."""
    start = time.process_time()
    result = run()
    return time.process_time() - start, result


def other_cases(frame: pl.DataFrame) -> None:
    """Say of fewer rows, of columns that aren't recoded and of what is cheaper how much it is."""
    columns = [name for name in frame.columns if name != workloads.LABEL]
    eight = {"quasi_identifiers": columns[:EIGHT]}
    few = frame.head(FEW_ROWS)
    cases: list[tuple[str, pl.DataFrame, dict[str, Any]]] = [
        (f"{EIGHT} of {len(columns)} quasi-identifiers", frame, eight),
        (f"{FEW_ROWS:,} rows", few, {}),
        (f"{FEW_ROWS:,} rows, {EIGHT} of {len(columns)} quasi-identifiers", few, eight),
        *((cheaper, frame, settings) for cheaper, settings in CHEAPER.items()),
        *(
            (f"{cheaper}, {EIGHT} of {len(columns)} quasi-identifiers", frame, settings | eight)
            for cheaper, settings in CHEAPER.items()
        ),
    ]
    for case, rows, settings in cases:
        say(f"{case}:")
        for name, model in MODELS.items():
            trainings(f"    {name}", model, rows, **settings)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under a minute: fewer rows")
    parser.add_argument("--cases", action="store_true", help="what the how-to says of others, too")
    arguments = parser.parse_args()
    share = QUICK_SHARE if arguments.quick else SHARE
    frame = workloads.adult().sample(fraction=share, seed=0, shuffle=True)
    AnonymizedEstimator(MODELS["tree"], guarantees=[KAnonymity(k=K)]).fit(
        frame.drop(workloads.LABEL), workloads.label_codes(frame)
    )  # compiles, or loads what was compiled
    with threadpool_limits(1), warnings.catch_warnings():
        # the epochs are given, not run until nothing changes
        warnings.simplefilter("ignore", ConvergenceWarning)
        bars = [trainings(name, model, frame) for name, model in MODELS.items()]
        if arguments.cases:
            other_cases(frame)
    report(bars)


if __name__ == "__main__":
    main()
