"""Learning online: beside bare loops, and from a file of texts beside Vowpal Wabbit.

    python benchmarks/peers.py --only vowpalwabbit river
    python benchmarks/speed/trainer.py            # 2 million records, 5 turns; two to six minutes
    python benchmarks/speed/trainer.py --quick    # 500,000 records, 3 turns; half a minute

In memory: records of 39 features learnt by `OnlineLearner` at its defaults (normalized, invariant,
measured as it learns, whole batches or nothing) beside loops of a dozen lines that do nothing but
predict and update, of which the fastest counts. One thread each.

From a file: 13 numbers and 26 categories of Zipf's law a record (`benchmarks/clicks.py`). Ours is
`learn_file` on all processors, after a hasher was made from the first 10,000 rows, which counts,
too. Vowpal Wabbit's driver reads its own text, in which numbers are bins already, by its own
threads, and then its cache; the writing of either isn't counted. Both are adaptive, normalized and
invariant at the rate 0.5 with 22 bits. The losses are progressive, of the same rows.

Everything runs in turns, so that a minute in which the machine is slow falls on all; medians count.
river and scikit-learn learn the first rows only and are shown, no bars.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # what all benchmarks share

import numpy as np  # after the path
import polars as pl
from numba import njit
from sklearn.feature_extraction import FeatureHasher
from sklearn.linear_model import SGDClassifier

import peers
from bars import Bar, report, say
from clicks import LABEL, Clicks, clicks
from halfmask.hashing import FileHasher, HashedRows, HasherSettings
from halfmask.trainer.learner import OnlineLearner, learn_file
from halfmask.vault import Secret

if TYPE_CHECKING:
    from numpy.typing import NDArray

MILLION = 1_000_000
QUICK_ROWS = 500_000
BITS = 22
BATCH = 1 << 16
SAMPLE = 10_000
SHARE = 0.70
FROM_TEXT, FROM_CACHE, FROM_PARQUET = 3.0, 2.0, 5.0
WORSE = 0.002
SLOW_ROWS = 20_000
SECRET = Secret.from_bytes(bytes(range(32)))
HERE = Path(__file__).resolve().parent


@njit(nogil=True)
def bare_sgd(
    indices: NDArray[np.uint32],
    labels: NDArray[np.float32],
    weights: NDArray[np.float32],
    rate: float,
) -> None:
    for r in range(indices.shape[0]):
        margin = np.float32(0.0)
        for k in range(indices.shape[1]):
            margin += weights[indices[r, k]]
        step = np.float32(rate * (labels[r] - 1.0 / (1.0 + math.exp(-margin))))
        for k in range(indices.shape[1]):
            weights[indices[r, k]] += step


@njit(nogil=True)
def bare_adagrad(
    indices: NDArray[np.uint32],
    labels: NDArray[np.float32],
    weights: NDArray[np.float32],
    squares: NDArray[np.float32],
    rate: float,
) -> None:
    for r in range(indices.shape[0]):
        margin = np.float32(0.0)
        for k in range(indices.shape[1]):
            margin += weights[indices[r, k]]
        pull = np.float32(labels[r] - 1.0 / (1.0 + math.exp(-margin)))
        for k in range(indices.shape[1]):
            slot = indices[r, k]
            squares[slot] += pull * pull
            weights[slot] += np.float32(rate) * pull / np.sqrt(squares[slot])


@njit(nogil=True)
def bare_adagrad_in_pairs(
    indices: NDArray[np.uint32],
    labels: NDArray[np.float32],
    model: NDArray[np.float32],
    rate: float,
) -> None:
    for r in range(indices.shape[0]):
        margin = np.float32(0.0)
        for k in range(indices.shape[1]):
            margin += model[indices[r, k], 0]
        pull = np.float32(labels[r] - 1.0 / (1.0 + math.exp(-margin)))
        for k in range(indices.shape[1]):
            slot = indices[r, k]
            square = model[slot, 1] + pull * pull
            model[slot, 1] = square
            model[slot, 0] += np.float32(rate) * pull / np.sqrt(square)


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def in_turns(runs: dict[str, Callable[[], float]], turns: int) -> dict[str, list[float]]:
    """Run each once to warm up, then all in turns; return the seconds that each says."""
    for run in runs.values():
        run()
    taken: dict[str, list[float]] = {what: [] for what in runs}
    for _ in range(turns):
        for what, run in runs.items():
            taken[what].append(run())
    return taken


def hashed(made: Clicks) -> HashedRows:
    return HashedRows.concat(hasher(made.csv).rows(made.csv))


def hasher(path: Path) -> FileHasher:
    """Fit to the first rows: kinds of columns and classes; logarithmic bins need no more."""
    if path.suffix == ".csv":
        head = pl.read_csv(path, n_rows=SAMPLE)
    else:
        head = pl.read_parquet(path, n_rows=SAMPLE)
    settings = HasherSettings(bits=BITS, numbers="log")
    return FileHasher.fit(
        head, settings=settings, secret=SECRET, label=LABEL, task="classification"
    )


def in_memory(rows: HashedRows, turns: int) -> list[Bar]:
    """Learn from hashed batches in memory, beside bare loops."""
    indices = rows.indices
    labels = np.asarray(rows.labels, np.float32)
    batches = [rows.slice(start, start + BATCH) for start in range(0, len(rows), BATCH)]

    def bare(loop: Callable[..., None], shapes: list[tuple[int, ...]]) -> Callable[[], float]:
        def run() -> float:
            state = [np.zeros(shape, np.float32) for shape in shapes]
            return seconds(lambda: loop(indices, labels, *state, 0.05))

        return run

    def ours(**settings: Any) -> Callable[[], float]:  # noqa: ANN401 # those of the learner
        def run() -> float:
            learner = OnlineLearner(bits=BITS, **settings)
            return seconds(lambda: [learner.learn(batch) for batch in batches])

        return run

    slots = 1 << BITS
    runs = {
        "bare sgd": bare(bare_sgd, [(slots,)]),
        "bare adagrad": bare(bare_adagrad, [(slots,), (slots,)]),
        "bare adagrad in pairs": bare(bare_adagrad_in_pairs, [(slots, 2)]),
        "sgd": ours(optimizer="sgd"),
        "adagrad": ours(),
        "ftrl": ours(optimizer="ftrl"),
        "sgd, two threads": ours(optimizer="sgd", threads=2),
        "adagrad, two threads": ours(threads=2),
    }
    best = {what: median(each) for what, each in in_turns(runs, turns).items()}
    for what, taken in best.items():
        say(f"  in memory, {what}: {len(rows) / taken / MILLION:.2f} million records/s")
    bars = {
        "sgd": best["bare sgd"],
        "adagrad": min(best["bare adagrad"], best["bare adagrad in pairs"]),
    }
    return [
        Bar(
            name=f"{len(rows):,} hashed records in memory, {what}: share of a bare loop's speed",
            value=loop / best[what],
            goal=SHARE,
            side="at least",
            why=f"{len(rows) / best[what] / MILLION:.2f} beside "
            f"{len(rows) / loop / MILLION:.2f} million records/s",
        )
        for what, loop in bars.items()
    ]


class FromFile:
    """Our way from a file to a trained model; what it learnt is kept."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.losses: set[float] = set()
        self.digests: set[str] = set()

    def __call__(self) -> float:
        start = time.perf_counter()
        learner = OnlineLearner(bits=BITS)
        progress = learn_file(learner, hasher(self.path), self.path)
        taken = time.perf_counter() - start
        self.losses.add(round(progress.loss, 9))
        self.digests.add(learner.digest())
        return taken


class Vowpal:
    """Vowpal Wabbit's way from its text, or from the cache that it made of it."""

    def __init__(self, python: Path, made: Clicks, cache: Path | None) -> None:
        told = f"-d {made.vw} -b {BITS} --loss_function logistic --no_stdin"
        self.command: list[str | Path] = [python, HERE / "peer_vowpal_wabbit.py"]
        if cache is None:
            self.command.append(told)
        else:
            cached = f"{told} --cache_file {cache}"
            if not cache.exists():
                subprocess.run([*self.command, f"{cached} -k"], check=True, capture_output=True)
            self.command.append(cached)
        self.loss = math.nan

    def __call__(self) -> float:
        done = subprocess.run(self.command, capture_output=True, text=True, check=True)
        told = json.loads(done.stdout.splitlines()[-1])
        self.loss = float(told["loss"])
        return float(told["seconds"])


def from_files(made: Clicks, turns: int, folder: Path) -> list[Bar]:
    """From a file of texts to a trained model, beside Vowpal Wabbit."""
    python = peers.python_of("vowpalwabbit")
    ways = {"csv": FromFile(made.csv), "parquet": FromFile(made.parquet)}
    runs: dict[str, Callable[[], float]] = dict(ways)
    text = cache = None
    if python is not None:
        text = Vowpal(python, made, None)
        cache = Vowpal(python, made, folder / "clicks.cache")
        runs |= {"vw text": text, "vw cache": cache}
    taken = {what: median(each) for what, each in in_turns(runs, turns).items()}
    for what, each in taken.items():
        say(f"  from a file, {what}: {made.rows / each / 1000:,.0f} thousand records/s")
    if text is None:
        say("  Vowpal Wabbit isn't there: python benchmarks/peers.py --only vowpalwabbit")

    def against(way: str, rival: str, goal: float) -> Bar:
        there = rival in taken
        return Bar(
            name=f"{made.rows:,} records from {way} to a trained model: times {rival}",
            value=taken[rival] / taken[way] if there else None,
            goal=goal,
            side="at least",
            why=f"{made.rows / taken[way] / 1000:,.0f} beside "
            f"{made.rows / taken[rival] / 1000:,.0f} thousand records/s"
            if there
            else "Vowpal Wabbit isn't installed",
        )

    loss = max(*ways["csv"].losses, *ways["parquet"].losses)
    return [
        against("csv", "vw text", FROM_TEXT),
        against("csv", "vw cache", FROM_CACHE),
        against("parquet", "vw text", FROM_PARQUET),
        Bar(
            name="progressive log-loss: above Vowpal Wabbit's",
            value=None if text is None else loss - text.loss,
            goal=WORSE,
            side="at most",
            why="" if text is None else f"{loss:.5f} beside {text.loss:.5f}",
        ),
        Bar(
            name="models of the same seed and rows that differ, over all turns and both files",
            value=float(len(ways["csv"].digests | ways["parquet"].digests) - 1),
            goal=0,
            side="at most",
        ),
    ]


def slow_peers(made: Clicks) -> None:
    """Show river and scikit-learn on the first rows."""
    python = peers.python_of("river")
    if python is not None:
        command = [python, HERE / "peer_river.py", made.csv, LABEL, str(SLOW_ROWS)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        told = json.loads(done.stdout)
        say(f"  river: {told['rows'] / told['seconds'] / 1000:,.0f} thousand records/s")
    start = time.perf_counter()
    frame = pl.read_csv(made.csv, n_rows=SLOW_ROWS, infer_schema=False)
    labels = (frame[LABEL] == "1").to_numpy()
    features = FeatureHasher(1 << BITS, input_type="string")
    model = SGDClassifier(loss="log_loss", penalty=None, learning_rate="constant", eta0=0.05)
    names = [name for name in frame.columns if name != LABEL]
    for first in range(0, SLOW_ROWS, 1000):
        part = frame.select(names)[first : first + 1000]
        words = ([f"{n}_{c}" for n, c in zip(names, row, strict=True)] for row in part.iter_rows())
        model.partial_fit(features.transform(words), labels[first : first + 1000], classes=[0, 1])
    taken = time.perf_counter() - start
    say(f"  scikit-learn: {SLOW_ROWS / taken / 1000:,.0f} thousand records/s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="500,000 records, 3 turns")
    parser.add_argument("--rows", type=int, help="other than 2 million")
    parser.add_argument("--turns", type=int)
    options = parser.parse_args()
    rows = options.rows or (QUICK_ROWS if options.quick else 2 * MILLION)
    turns = options.turns or (3 if options.quick else 5)
    made = clicks(rows)
    bars = in_memory(hashed(made), turns)
    with tempfile.TemporaryDirectory() as temporary:
        bars += from_files(made, turns, Path(temporary))
    slow_peers(made)
    report(bars)


if __name__ == "__main__":
    main()
