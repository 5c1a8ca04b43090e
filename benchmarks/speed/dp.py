"""Questions under a budget: speed beside polars and OpenDP, errors beside theory, attacks.

    python benchmarks/speed/dp.py            # 1M rows, OpenDP in its own venv; a few minutes
    python benchmarks/speed/dp.py --quick    # fewer draws, no peer; under a minute

`python benchmarks/peers.py --only opendp` makes the venv of OpenDP, with the polars that it pins.
Progress goes to stderr. The last line of stdout is one JSON object of bars.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # what all benchmarks share

import numpy as np
import polars as pl

from bars import RUNS, Bar, report, say, seconds_of
from halfmask.dp.ledger import PrivacyLedger
from halfmask.dp.queries import Count, Mean, PrivateTable, Quantile, Sum, Variance
from halfmask.dp.queries._answer import released
from halfmask.dp.queries._tallying import tally
from peers import python_of

ROWS, GROUPS = 1_000_000, 50
PEER = Path(__file__).with_name("peer_opendp.py")
RANDOM = np.random.default_rng(0)
#: The whole budget of an attacker: at most 2.5 points more than chance for any attack on a person.
ATTACKED = 0.1


def people(n: int) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "group": [f"group {each}" for each in RANDOM.integers(0, GROUPS, n)],
            "value": RANDOM.integers(0, 100, n),
            "fine": RANDOM.integers(0, 10_000, n),
        }
    )


def opened(
    table: pl.DataFrame, folder: Path, *, epsilon: float = 1e6, delta: float = 0.0
) -> PrivateTable:
    name = f"table{len(list(folder.iterdir()))}"
    ledger = PrivacyLedger.create(
        folder / name, table, dataset="people", epsilon=epsilon, delta=delta
    )
    return PrivateTable.open(table, ledger=ledger)


def speed(folder: Path, *, quick: bool) -> list[Bar]:
    table = people(ROWS)
    private = opened(table, folder)
    keys = [f"group {each}" for each in range(GROUPS)]
    asked = iter(range(1000))

    def ours() -> pl.DataFrame:
        """Another question each time: one that was asked before would come from the book."""
        question = private.group_by({"group": keys}).select(
            Count(), Sum(of="value", bounds=(0, 99), name=f"sum{next(asked)}")
        )
        return question.answer(epsilon=1.0).frame

    def plain() -> pl.DataFrame:
        return table.group_by("group").agg(pl.len(), pl.col("value").sum())

    ours(), plain()
    taken, _ = seconds_of(ours)
    least, _ = seconds_of(plain)
    say(f"group-by of 1M rows: {taken:.3f} s, plain polars {least:.3f} s")
    bars = [
        Bar(
            name="group-by count and sum of 1M rows, times plain polars' seconds",
            value=taken / least,
            goal=5,
            side="at most",
            why="the ledger's two commits to the disk are part of it",
        )
    ]
    peer = None if quick else python_of("opendp")
    theirs, why = None, "the venv isn't made, or --quick"
    if peer is not None:
        file = folder / "people.parquet"
        table.write_parquet(file)
        done = subprocess.run(
            [peer, PEER, file, str(GROUPS), str(RUNS)], check=True, capture_output=True, text=True
        )
        theirs, why = float(json.loads(done.stdout)["seconds"]) / taken, ""
        say(f"OpenDP takes {theirs:.1f} times as long")
    if not quick:
        bars.append(
            Bar(name="times OpenDP's speed", value=theirs, goal=10, side="at least", why=why)
        )
    return bars


def errors(folder: Path, *, quick: bool) -> list[Bar]:
    """Return mean absolute errors, divided by those of continuous noise that NumPy draws."""
    n, draws, epsilon = 20_000, 300 if quick else 1500, 1.0
    table = people(n)
    values = table["value"].to_numpy()
    private = opened(table, folder)

    def noise(sensitivity: float, parts: int) -> np.ndarray:
        return RANDOM.laplace(0, sensitivity * parts / epsilon, draws)

    # By hand: sums of distances from the middle, 49, have a sensitivity of 50, squares of 1250.
    total, rows = (values - 49).sum(), n
    mean = 49 + (total + noise(50, 2)) / (rows + noise(1, 2))
    counted = rows + noise(1, 3)
    squares = ((values - 49) ** 2 - 1250).sum() + noise(1250, 3)
    spread = 1250 + squares / counted - ((total + noise(50, 3)) / counted) ** 2
    asked = {
        Count(): (n, n + noise(1, 1)),
        Sum(of="value", bounds=(0, 99)): (values.sum(), values.sum() + noise(99, 1)),
        Mean(of="value", bounds=(0, 99)): (values.mean(), mean),
        Variance(of="value", bounds=(0, 99)): (values.var(), spread),
    }
    bars = []
    for aggregate, (exact, simulated) in asked.items():
        found = _draws(private, aggregate, draws)
        ratio = np.abs(found - exact).mean() / np.abs(simulated - exact).mean()
        say(f"error of {aggregate.kind}: {ratio:.3f} times theory's")
        bars.append(
            Bar(
                name=f"error of {aggregate.kind}, times theory's",
                value=float(ratio),
                goal=1.2,
                side="at most",
            )
        )
    return [*bars, _quantile(private, table["fine"].to_numpy(), 60 if quick else 200)]


def _draws(private: PrivateTable, aggregate: Count | Sum | Mean | Variance, n: int) -> np.ndarray:
    plan = private.select(aggregate).plan(epsilon=1.0)
    exact = tally(private.source, plan.question, plan.measures, private.ledger.terms)
    return np.array([released(plan, exact)[aggregate.label][0] for _ in range(n)], dtype=float)


def _quantile(private: PrivateTable, values: np.ndarray, draws: int) -> Bar:
    """Return the 95th percentile of the error in ranks, divided by what the plan states."""
    aggregate = Quantile(of="fine", at=0.5, bounds=(0, 9_999), grid=1)
    plan = private.select(aggregate).plan(epsilon=1.0)
    exact = tally(private.source, plan.question, plan.measures, private.ledger.terms)
    found = np.array([released(plan, exact)[aggregate.label][0] for _ in range(draws)])
    ranks = np.sort(values)
    half = len(ranks) / 2
    low, high = (np.searchsorted(ranks, found, side=side) for side in ("left", "right"))
    off = np.maximum(0, np.maximum(low - half, half - high))
    stated = plan.expected_errors()[0].margin
    ratio = float(np.quantile(off, 0.95) / stated)
    say(f"error of quantile: {ratio:.3f} times what the plan states")
    return Bar(name="error of quantile, times theory's", value=ratio, goal=1.2, side="at most")


def reconstruction(folder: Path, *, quick: bool) -> list[Bar]:
    """Dinur and Nissim 2003: random subsets are counted, and the secrets solved for."""
    n, asked, trials = 60, 120, 1 if quick else 5
    right: dict[str, list[float]] = {"exact": [], "ours": []}
    for _ in range(trials):
        secret = RANDOM.integers(0, 2, n)
        private = opened(
            pl.DataFrame({"id": np.arange(n), "secret": secret}), folder, epsilon=ATTACKED
        )
        subsets = RANDOM.random((asked, n)) < 0.5
        answers = []
        for subset in subsets:
            listed = ", ".join(str(each) for each in np.flatnonzero(subset))
            question = private.where(f"secret = 1 AND id IN ({listed})").select(Count())
            answers.append(question.answer(epsilon=ATTACKED / asked).value)
        for name, given in (("exact", subsets @ secret), ("ours", np.array(answers))):
            solved = np.linalg.lstsq(subsets.astype(float), given, rcond=None)[0]
            right[name].append(float(((solved > 0.5) == secret).mean()))
    found, control = float(np.mean(right["ours"])), float(np.mean(right["exact"]))
    # Four standard errors of coins above what epsilon allows.
    most = np.exp(ATTACKED) / (1 + np.exp(ATTACKED)) + 4 * 0.5 / np.sqrt(n * trials)
    say(f"reconstruction: {found:.1%} of secrets, of exact answers {control:.1%}")
    return [
        Bar(
            name="secrets reconstructed",
            value=found,
            goal=float(most),
            side="at most",
            why="chance is 0.5; the goal adds the attack's random error",
        ),
        Bar(
            name="secrets reconstructed from exact answers",
            value=control,
            goal=0.95,
            side="at least",
            why="the control: the attack works",
        ),
    ]


def averaging(folder: Path, *, quick: bool) -> list[Bar]:
    """Ask about one person in many wordings, and average: is the person in the table?"""
    wordings, trials = 5, 20 if quick else 200
    right = 0
    repeats = set()
    for _ in range(trials):
        is_in = bool(RANDOM.integers(0, 2))
        table = pl.DataFrame({"x": [0] * 50 + [1] * is_in + [0] * 2})
        private = opened(table, folder, epsilon=ATTACKED)
        answers = []
        for at in range(wordings):
            question = private.where(f"x = 1 AND x >= {-at}").select(Count())
            answer = question.answer(epsilon=ATTACKED / wordings)
            repeats.add(question.answer(epsilon=ATTACKED / wordings).value == answer.value)
            answers.append(answer.value)
        right += bool(np.mean(answers) > 0.5) == is_in
    most = np.exp(ATTACKED) / (1 + np.exp(ATTACKED)) + 4 * 0.5 / np.sqrt(trials)
    say(f"averaging: {right / trials:.1%} of guesses right")
    return [
        Bar(
            name="guesses right by averaging",
            value=right / trials,
            goal=float(most),
            side="at most",
            why="chance is 0.5; the goal adds the attack's random error",
        ),
        Bar(
            name="repeats answered from the book",
            value=float(repeats == {True}),
            goal=1,
            side="at least",
        ),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer draws, no peer")
    quick = parser.parse_args().quick
    bars: list[Bar] = []
    with tempfile.TemporaryDirectory() as folder:
        for part in (speed, errors, reconstruction, averaging):
            say(f"{part.__name__} ...")
            bars += part(Path(folder), quick=quick)
    report(bars)


if __name__ == "__main__":
    main()
