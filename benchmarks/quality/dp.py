"""Models under differential privacy on Adult: next to plain models, and next to diffprivlib's.

    python benchmarks/quality/dp.py            # some minutes
    python benchmarks/quality/dp.py --quick    # one repetition, no peer; under a minute
    python benchmarks/peers.py diffprivlib     # makes the peer's venv, once

Rows are encoded with declared categories and bounds, not with those of the data, and all models get
the same. Each private model is trained `--times` times with fresh noise; a bar compares means. PATE
takes half of the test rows as public, without labels, and is scored on the other half. Settings,
ours and the peer's, are chosen on a third of the training rows, and the test rows are looked at
once; the choice is not charged. Progress goes to stderr; the last line of stdout is one JSON object
of all bars. The data lie beside the project (`../shared/data`),
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

from typing import TYPE_CHECKING

from bars import Bar, report, say
from halfmask.dp.learning import (
    PrivateLogisticRegression,
    PrivateMultinomialNB,
    PrivateSGDClassifier,
)
from halfmask.dp.learning.pate import PateClassifier
from peers import python_of

if TYPE_CHECKING:
    from sklearn.base import ClassifierMixin

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
STRENGTHS = (0.001, 0.01, 0.1, 1.0)
#: Teachers, and the rows that they label.
PATE_SIZES = ((150, 1_000), (250, 1_000), (250, 2_000), (400, 2_000))
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


def private_models(epsilon: float) -> dict[str, list[ClassifierMixin]]:
    """Return, for each way to train, the settings to choose from."""
    budget = {"epsilon": epsilon, "delta": DELTA, "classes": [0, 1]}
    return {
        "output perturbation": [
            PrivateLogisticRegression(**budget, row_norm=ROW_NORM, C=strength)
            for strength in STRENGTHS
        ],
        "objective perturbation": [
            PrivateLogisticRegression(
                **budget, row_norm=ROW_NORM, C=strength, perturbation="objective"
            )
            for strength in (epsilon / ROW_NORM**2 * share for share in (0.1, 0.3, 1.0))
        ],
        "DP-SGD": [
            PrivateSGDClassifier(**budget, clip_norm=clip, steps=100, learning_rate=rate)
            for clip in (0.25, 0.5, 1.0)
            for rate in (0.1, 0.2, 0.5)
        ],
        "naive Bayes": [PrivateMultinomialNB(**budget, row_sum=13.0)],
    }


def private_scores(split: Split, *, epsilon: float, times: int) -> dict[str, float]:
    """Return the mean accuracy of each private model at an epsilon, its settings chosen."""
    rows, labels, test, truth = split
    inner = within_training(split)
    found = {}
    for name, choices in private_models(epsilon).items():
        tried = [_mean_score(model, inner, max(1, times // 3)) for model in choices]
        chosen = choices[int(np.argmax(tried))]
        scores = [chosen.fit(rows, labels).score(test, truth) for _ in range(times)]
        found[name] = float(np.mean(scores))
        say(f"epsilon {epsilon:g}, {name}: {found[name]:.4f} (from {min(scores):.4f}), {chosen}")
    return found


def within_training(split: Split) -> Split:
    """Return a split of the training rows alone: settings are chosen on it."""
    rows, labels = split[:2]
    last = np.random.default_rng(1).random(len(rows)) < 1 / 3
    return rows[~last], labels[~last], rows[last], labels[last]


def _mean_score(model: ClassifierMixin, split: Split, times: int) -> float:
    rows, labels, test, truth = split
    return float(np.mean([model.fit(rows, labels).score(test, truth) for _ in range(times)]))


def pate_score(split: Split, *, times: int, quick: bool) -> tuple[float, float, float]:
    """Return the mean accuracy of PATE's student, of its kind without privacy, and of a forest."""
    sizes = PATE_SIZES[2:3]
    if not quick:
        inner = within_training(split)
        tried = [np.mean(_students(inner, *each, times=2)) for each in PATE_SIZES]
        sizes = (PATE_SIZES[int(np.argmax(tried))],)
        say(f"PATE: chose {sizes[0][0]} teachers, {sizes[0][1]} answers")
    student = float(np.mean(_students(split, *sizes[0], times=times)))
    rows, labels, test, truth = split
    _, held = _public_and_held(len(test))
    plain = LogisticRegression(max_iter=2_000).fit(rows, labels).score(test[held], truth[held])
    trees = RandomForestClassifier(200, min_samples_leaf=5, random_state=0)
    forest = trees.fit(rows, labels).score(test[held], truth[held])
    say(f"PATE {student:.4f}, plain logistic regression {plain:.4f}, plain forest {forest:.4f}")
    return student, plain, forest


def _students(split: Split, teachers: int, answers: int, *, times: int) -> list[float]:
    rows, labels, test, truth = split
    public, held = _public_and_held(len(test))
    model = PateClassifier(
        LogisticRegression(C=30, max_iter=300),
        LogisticRegression(C=0.3, max_iter=500),
        epsilon=PATE_EPSILON,
        delta=DELTA,
        classes=[0, 1],
        teachers=teachers,
        answers=answers,
    )
    scores = []
    for _ in range(times):
        model.fit(rows, labels, public=test[public])
        scores.append(model.score(test[held], truth[held]))
        say(
            f"PATE: {scores[-1]:.4f}, epsilon {model.spent_epsilon_:.2f}, "
            f"data-dependent {model.private_epsilon_:.2f}"
        )
    return scores


def _public_and_held(rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    order = np.random.default_rng(0).permutation(rows)
    return order[: rows // 2], order[rows // 2 :]


def peer_score(split: Split, *, epsilon: float, times: int) -> float | None:
    """Return the mean accuracy of diffprivlib's logistic regression, or None without its venv."""
    python = python_of("diffprivlib")
    if python is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "split.npz"
        np.savez(path, *within_training(split), *split)
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
    say(f"epsilon {epsilon:g}, diffprivlib: {found['mean']:.4f} (C {found['C']:g})")
    return found["mean"]


def bars_of(*, quick: bool, times: int) -> list[Bar]:
    """Measure everything, and return the bars."""
    split = adult()
    rows, labels, test, truth = split
    plain = LogisticRegression(max_iter=2_000).fit(rows, labels).score(test, truth)
    say(f"plain logistic regression: {plain:.4f}")
    scores = private_scores(split, epsilon=1.0, times=times)
    linear = ("output perturbation", "objective perturbation", "DP-SGD")
    best = max(scores[name] for name in linear)
    peer = None if quick else peer_score(split, epsilon=1.0, times=times)
    student, same, forest = pate_score(split, times=1 if quick else min(times, 3), quick=quick)
    bars = [
        Bar(
            name="logistic regression at epsilon 1, points behind plain",
            value=100 * (plain - best),
            goal=1.0,
            side="at most",
            why="the best of three ways, delta 1e-5",
        ),
        Bar(
            name="objective perturbation at epsilon 1, points above output perturbation",
            value=100 * (scores["objective perturbation"] - scores["output perturbation"]),
            goal=0.0,
            side="at least",
            why="delta 1e-5, the best C of each",
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
                why="no venv of diffprivlib" if peer is None else "its C of four",
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
