"""Training on anonymized people beside ai-privacy-toolkit, on seeds that nothing was chosen by.

    python benchmarks/peers.py --only ai-privacy-toolkit                          # once
    python benchmarks/quality/training_beside_toolkit.py --cells cells.jsonl      # hours; goes on
    python benchmarks/quality/training_beside_toolkit.py --cells cells.jsonl --summarize
    python benchmarks/quality/training_beside_toolkit.py --rows 12000 --cells few.jsonl
    python benchmarks/quality/training_beside_toolkit.py --quick                  # no peer

The cells are the paper's 42 (seven places, six k), and 24 more in which all columns are recoded.
One line of JSON an arm is appended to `--cells`; what is there isn't measured again. Progress goes
to standard error; the last line of standard output is one JSON object of bars.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from ablation.scene import Answers, measured
from ml_models import toolkit
from ml_models.counting import classes_of
from ml_models.frozen import CENTROID, OURS, TOOLKITS, bars, table
from ml_models.methods import METHODS
from ml_models.models import MODELS, trained
from ml_models.plan import KS, PAPERS, RAW, Group, selects
from ml_models.retrained import retrained
from ml_models.scene import Scene
from ml_models.task import as_matrix

from bars import report, say
from halfmask.guarantees import KAnonymity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ml_models.frozen import Cell
    from ml_models.grid import Place
    from ml_models.task import Anonymized, Task

#: Nothing may be chosen by these.
FROZEN_SEEDS = (904, 905, 903, 902, 901)
PAPERS_PLACES: tuple[Place, ...] = tuple(
    each[1:] for stage in PAPERS for each in stage if each[0] == "accuracy"
)
ALL_RECODED: tuple[Place, ...] = (
    ("adult", "12", "nn"),
    ("adult", "12", "dt"),
    ("adult", "12", "gb"),
    ("nursery", "8", "dt"),
    ("adult", "12", "rf"),
)
REGULARIZED = "raw, regularized"
#: Set before anything was measured: leaves of ten people (fifty of a lone tree), slow steps, a
#: large weight penalty.
PENALTIES: dict[str, dict[str, float]] = {
    "rf": {"min_samples_leaf": 10},
    "dt": {"min_samples_leaf": 50},
    "gb": {"learning_rate": 0.05},
    "nn": {"alpha": 1.0},
}
NAMES = ("data", "qi", "model", "k", "arm", "seed")
QUICK_ROWS = 6_000
CACHE = Path(__file__).resolve().parents[2] / "build" / "training_beside_toolkit"


@dataclass(slots=True)
class Lines:
    """What was measured, a line of JSON an arm."""

    path: Path | None
    cells: list[Cell] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.path is not None and self.path.exists():
            text = self.path.read_text(encoding="utf-8")
            cells = [json.loads(line) for line in text.splitlines()]
            # an arm of a cell that was cut off is measured twice
            self.cells = list({tuple(cell[n] for n in NAMES): cell for cell in cells}.values())

    def has(self, place: Place, k: int, arm: str, seed: int) -> bool:
        wanted = (*place, k, arm, seed)
        return any(tuple(cell[name] for name in NAMES) == wanted for cell in self.cells)

    def add(self, group: Group, k: int, arm: str, found: dict[str, Any]) -> None:
        where = {"data": group.data, "qi": group.qi, "model": group.model, "k": k, "arm": arm}
        cell = where | {"seed": group.seed} | found
        self.cells.append(cell)
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(cell) + "\n")
        say(f"{group.name} k={k} {arm}: {found['score']:.4f} in {found['seconds']:.1f} s")


def main() -> None:
    options = _options()
    lines = Lines(options.cells)
    deadline = time.monotonic() + 60 * options.minutes
    if not options.summarize:
        for group in _groups(options):
            if time.monotonic() > deadline:
                say("out of time: the rest isn't measured")
                break
            _measure(group, options, lines, deadline)
    print(table(lines.cells))
    papers = () if options.rows else PAPERS_PLACES  # what was published is of all rows
    report(bars(lines.cells, papers, ALL_RECODED))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=Path, help="a file of cells, read and appended to")
    parser.add_argument("--summarize", action="store_true", help="measure nothing")
    parser.add_argument("--quick", action="store_true", help="one place, one seed, few rows")
    parser.add_argument("--seeds", type=int, nargs="+", default=list(FROZEN_SEEDS))
    parser.add_argument("--places", nargs="+", help='such as "adult 12 nn"; all unless given')
    parser.add_argument("--rows", type=int, help="draw so many rows; another file of cells each")
    parser.add_argument("--minutes", type=float, default=600.0, help="begin no k after so long")
    options = parser.parse_args()
    if options.quick:
        options.rows = QUICK_ROWS
    options.peer = toolkit.available() and not options.quick
    if not options.peer:
        say("SKIPPED ai-privacy-toolkit: --quick, or no venv (benchmarks/peers.py)")
    return options


def _groups(options: argparse.Namespace) -> Iterator[Group]:
    """Yield all places with one seed, then those with all columns recoded, then the others."""
    if options.quick:
        yield _group(ALL_RECODED[-2], options.seeds[0])
        return
    everywhere = tuple(dict.fromkeys((*ALL_RECODED, *PAPERS_PLACES)))
    first, rest = options.seeds[:1], options.seeds[1:]
    others = [place for place in everywhere if place not in ALL_RECODED]
    slow, quick = ALL_RECODED[-1:], ALL_RECODED[:-1]  # a forest takes as long as all the others
    for seeds, places in ((first, everywhere), (rest, quick), (rest, slow), (rest, others)):
        for seed in seeds:
            for place in places:
                if not options.places or " ".join(place) in options.places:
                    yield _group(place, seed)


def _group(place: Place, seed: int) -> Group:
    data, qi, model = place
    cells = tuple((OURS, k) for k in KS)
    return Group(
        kind="accuracy",
        data=data,
        qi=qi,
        model=model,
        seed=seed,
        cells=cells,
        select=selects(place),
    )


def _measure(group: Group, options: argparse.Namespace, lines: Lines, deadline: float) -> None:
    place = (group.data, group.qi, group.model)
    if all(lines.has(place, k, OURS, group.seed) for k in KS):
        return
    scene = Scene.of(group, CACHE, options.rows)
    if not lines.has(place, 0, RAW, group.seed):
        lines.add(group, 0, RAW, _of_model(scene, scene.raw, 0.0))
        start = time.perf_counter()
        model = MODELS[group.trains](group.seed).set_params(**PENALTIES[group.model])
        model.fit(scene.train, scene.split.y_train)
        found = _of_model(scene, model, time.perf_counter() - start)
        lines.add(group, 0, REGULARIZED, found)
    for k in KS:
        if time.monotonic() > deadline:
            return
        if lines.has(place, k, OURS, group.seed):
            continue
        task = scene.task(k)
        for arm in _toolkits(group) if options.peer else ():
            lines.add(group, k, arm, _of_arm(scene, task, arm))
        _ours(scene, task, lines)


def _toolkits(group: Group) -> tuple[str, ...]:
    """Return its ways: where all columns are quasi-identifiers they are one."""
    return TOOLKITS[: 1 if (group.data, group.qi) in (("adult", "12"), ("nursery", "8")) else 2]


def _of_arm(scene: Scene, task: Task, arm: str) -> dict[str, Any]:
    start = time.perf_counter()
    done = METHODS[arm](task)
    rows = as_matrix(done.rows, scene.encoder)
    model = trained(scene.group.trains, rows, scene.split.y_train, scene.group.seed)
    return _of_model(scene, model, time.perf_counter() - start) | _counted(done, task)


def _ours(scene: Scene, task: Task, lines: Lines) -> None:
    """Measure the defaults last: a cell is there when they are."""
    start = time.perf_counter()
    done = METHODS[OURS](task)
    seconds, is_centroid = time.perf_counter() - start, not done.more
    start = time.perf_counter()
    plain = done
    if not is_centroid:
        plain = retrained(task, [KAnonymity(k=task.k)], representative="centroid")
    own = _counted(plain, task)
    found = _of_model(scene, plain.model, time.perf_counter() - start) | own
    lines.add(scene.group, task.k, CENTROID, found)
    lines.add(scene.group, task.k, f"{CENTROID}, transformed", _transformed(scene, plain) | own)
    found = _of_model(scene, done.model, seconds) | _counted(done, task)
    lines.add(scene.group, task.k, OURS, found | {"is_centroid": is_centroid})


def _counted(done: Anonymized, task: Task) -> dict[str, Any]:
    return {"smallest_class": classes_of(done, task).smallest}


def _of_model(scene: Scene, model: Any, seconds: float) -> dict[str, Any]:  # noqa: ANN401 # scikit-learn's
    return _of_rows(scene, model, scene.train, scene.test) | {"seconds": round(seconds, 2)}


def _transformed(scene: Scene, done: Anonymized) -> dict[str, Any]:
    if done.transform is None:
        message = "these rows can't be transformed"
        raise TypeError(message)
    test = as_matrix(done.transform(scene.split.test), scene.encoder)
    train = as_matrix(done.rows, scene.encoder)
    return _of_rows(scene, done.model, train, test) | {"seconds": 0.0}


def _of_rows(scene: Scene, model: Any, train: Any, test: Any) -> dict[str, Any]:  # noqa: ANN401 # the same
    said = Answers(train=model.predict_proba(train), test=model.predict_proba(test))
    return measured(said, scene.split.y_train, scene.split.y_test, seed=scene.group.seed)


if __name__ == "__main__":
    main()
