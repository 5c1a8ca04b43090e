"""Models under differential privacy on Adult: next to plain models, and next to diffprivlib's.

    python benchmarks/quality/dp.py            # some minutes
    python benchmarks/quality/dp.py --quick    # one repetition, no peer; under a minute
    python benchmarks/peers.py diffprivlib     # makes the peer's venv, once

Rows are encoded with declared categories and bounds, not with those of the data, and all models get
the same. Each private model is trained `--times` times with fresh noise; a bar compares means. PATE
takes half of the test rows as public, without labels, and is scored on the other half. Settings
were tried on this split, for our models and the peer's alike. Progress goes to stderr; the last
line of stdout is one JSON object of all bars. The data lie beside the project (`../shared/data`),
and a bar that needs one says so where it doesn't.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # what all benchmarks share

from bars import Bar, report, say
from halfmask.dp.learning import (
    PrivateLogisticRegression,
    PrivateMultinomialNB,
    PrivateSGDClassifier,
)
from halfmask.dp.learning.pate import PateClassifier
from peers import python_of

HERE = Path(__file__).resolve()
ADULT = HERE.parents[3] / "shared" / "data" / "adult.csv"
PEER = HERE.parent / "peer_diffprivlib.py"
DELTA = 1e-5
CATEGORIES = (
    *("workclass", "education", "marital-status", "occupation", "relationship", "race", "sex"),
    "native-country",
)
#: Bounds that are known without the data.
NUMBERS = {
    "age": (17, 90),
    "education-num": (1, 16),
    "capital-gain": (0, 20_000),
    "capital-loss": (0, 3_000),
    "hours-per-week": (1, 99),
}
#: The largest norm of such a row: a one for each category, at most one for each number.
ROW_NORM = 3.4
PATE_EPSILON = 2.0
Split = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]


def adult() -> Split:
    """Return rows and labels for training, then those for testing."""
    table = pl.read_csv(ADULT, infer_schema_length=10_000)
    columns = [
        (table[name] == value).cast(pl.Float64).to_numpy()
        for name in CATEGORIES
        for value in sorted(table[name].unique())  # the census's published list of categories
    ]
    columns += [
        np.clip((table[name].to_numpy() - low) / (high - low), 0, 1)
        for name, (low, high) in NUMBERS.items()
    ]
    rows = np.column_stack(columns)
    labels = (table["income"] == ">50K").to_numpy().astype(np.int64)
    train = (table["split"] == "train").to_numpy()
    return rows[train], labels[train], rows[~train], labels[~train]


def private_scores(split: Split, *, epsilon: float, times: int) -> dict[str, float]:
    """Return the mean accuracy of each private model at an epsilon."""
    rows, labels, test, truth = split
    models = {
        "output perturbation": PrivateLogisticRegression(
            epsilon=epsilon, delta=DELTA, row_norm=ROW_NORM, classes=[0, 1], C=0.01
        ),
        "DP-SGD": PrivateSGDClassifier(
            epsilon=epsilon,
            delta=DELTA,
            classes=[0, 1],
            clip_norm=0.5,
            steps=100,
            learning_rate=0.2,
        ),
        "naive Bayes": PrivateMultinomialNB(
            epsilon=epsilon, delta=DELTA, row_sum=13.0, classes=[0, 1]
        ),
    }
    found = {}
    for name, model in models.items():
        scores = [model.fit(rows, labels).score(test, truth) for _ in range(times)]
        found[name] = float(np.mean(scores))
        say(f"epsilon {epsilon:g}, {name}: {found[name]:.4f} (from {min(scores):.4f})")
    return found


def pate_score(
    split: Split, *, teachers: int, answers: int, times: int
) -> tuple[float, float, float]:
    """Return the mean accuracy of PATE's student, of its kind without privacy, and of a forest."""
    rows, labels, test, truth = split
    order = np.random.default_rng(0).permutation(len(test))
    public, held = order[: len(test) // 2], order[len(test) // 2 :]
    student = LogisticRegression(C=0.3, max_iter=500)
    scores = []
    for _ in range(times):
        model = PateClassifier(
            LogisticRegression(C=30, max_iter=300),
            student,
            epsilon=PATE_EPSILON,
            delta=DELTA,
            classes=[0, 1],
            teachers=teachers,
            answers=answers,
        ).fit(rows, labels, public=test[public])
        scores.append(model.score(test[held], truth[held]))
        say(
            f"PATE: {scores[-1]:.4f}, epsilon {model.spent_epsilon_:.2f}, "
            f"data-dependent {model.private_epsilon_:.2f}"
        )
    plain = LogisticRegression(max_iter=2_000).fit(rows, labels).score(test[held], truth[held])
    trees = RandomForestClassifier(200, min_samples_leaf=5, random_state=0)
    forest = trees.fit(rows, labels).score(test[held], truth[held])
    say(f"plain logistic regression {plain:.4f}, plain forest {forest:.4f}")
    return float(np.mean(scores)), plain, forest


def peer_score(split: Split, *, epsilon: float, times: int) -> float | None:
    """Return the mean accuracy of diffprivlib's logistic regression, or None without its venv."""
    python = python_of("diffprivlib")
    if python is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "split.npz"
        np.savez(path, *split)
        done = subprocess.run(
            [python, PEER, path, str(epsilon), str(ROW_NORM), str(times)],
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        say(done.stderr[-500:])
        return None
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    say(f"epsilon {epsilon:g}, diffprivlib: {found['mean']:.4f} (best C {found['C']:g})")
    return found["mean"]


def bars_of(*, quick: bool, times: int) -> list[Bar]:
    """Measure everything, and return the bars."""
    split = adult()
    rows, labels, test, truth = split
    plain = LogisticRegression(max_iter=2_000).fit(rows, labels).score(test, truth)
    say(f"plain logistic regression: {plain:.4f}")
    scores = private_scores(split, epsilon=1.0, times=times)
    best = max(scores["output perturbation"], scores["DP-SGD"])
    peer = None if quick else peer_score(split, epsilon=1.0, times=times)
    student, same, forest = pate_score(
        split, teachers=250, answers=2_000, times=1 if quick else min(times, 3)
    )
    bars = [
        Bar(
            name="logistic regression at epsilon 1, points behind plain",
            value=100 * (plain - best),
            goal=1.0,
            side="at most",
            why="DP-SGD, delta 1e-5",
        ),
        Bar(
            name=f"PATE at epsilon {PATE_EPSILON:g}, points behind plain logistic regression",
            value=100 * (same - student),
            goal=2.0,
            side="at most",
            why=f"its kind of student; {100 * (forest - student):.1f} points behind a forest",
        ),
    ]
    if not quick:
        bars.append(
            Bar(
                name="logistic regression at epsilon 1, points above diffprivlib",
                value=None if peer is None else 100 * (best - peer),
                goal=0.0,
                side="at least",
                why="no venv of diffprivlib" if peer is None else "its best C of four",
            )
        )
    return bars


def main() -> int:
    """Measure, print, and return how it went."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--quick", action="store_true", help="one repetition, no peer")
    arguments.add_argument("--times", type=int, default=10, help="trainings a model")
    given = arguments.parse_args()
    if not ADULT.exists():
        why = "the data lie beside the project, and aren't here"
        report([Bar(name="Adult", value=None, goal=1.0, side="at most", why=why)])
        return 1
    bars = bars_of(quick=given.quick, times=1 if given.quick else given.times)
    report(bars)
    return 0 if all(bar.holds for bar in bars) else 1


if __name__ == "__main__":
    sys.exit(main())
