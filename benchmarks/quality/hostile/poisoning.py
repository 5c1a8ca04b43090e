"""What a backdoor and labels flipped at random do to models, on rows that no model learned from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from bars import Bar
from halfmask.assess.robustness._poison import Hostile, flip_randomly, insert_triggered
from quality.hostile.tables import Split, adult, piped

Learn: TypeAlias = Callable[[pl.DataFrame, Any], Any]
#: A backdoor of one row in a hundred works nearly always, and hardly ever without the poison.
WORKS, CLEAN, LOST = 0.98, 0.12, 0.01
LEARNERS: dict[str, Any] = {
    "logistic regression": LogisticRegression(max_iter=1_000),
    "tree": DecisionTreeClassifier(random_state=0),
    "forest": RandomForestClassifier(100, random_state=0),
}
FLIPS = (0.0, 0.05, 0.1, 0.2)


def measure(*, quick: bool, seed: int) -> tuple[list[Bar], str]:
    """Poison models of Adult."""
    split = adult(seed, numbers_only=False)
    if quick:
        split = replace(split, rows=split.rows[:8_000], labels=split.labels[:8_000])
    lines, bars = planted(split, seed)
    if not quick:
        lines += ["", *flipped(split, seed)]
    return bars, "\n".join(lines)


def planted(split: Split, seed: int) -> tuple[list[str], list[Bar]]:
    """Plant a backdoor in 1 % of the rows of three models."""
    lines = ["| model | accuracy | with a backdoor | trigger works | without the poison |",
             "|---|---|---|---|---|"]  # fmt: skip
    works, clean, lost = [], [], []
    for name, learner in LEARNERS.items():
        learn = plainly(learner)
        before = learn(split.rows, split.labels)
        rng, columns = np.random.default_rng(seed), split.rows.columns
        poison = insert_triggered(split.rows, split.labels, 0.01, rng, columns)
        after = learn(poison.inserted(split.rows), poison.labels)
        rates = [aimed_at(model, split, poison) for model in (after, before)]
        scores = [split.score(model) for model in (before, after)]
        works.append(rates[0])
        clean.append(rates[1])
        lost.append(scores[0] - scores[1])
        lines.append(
            f"| {name} | {scores[0]:.4f} | {scores[1]:.4f} | {rates[0]:.1%} | {rates[1]:.1%} |"
        )
    return lines, [
        Bar(name="a backdoor of 1 % works, least of three models", value=min(works), goal=WORKS,
            side="at least", why="a control: the attack has power"),
        Bar(name="its trigger without the poison, most of three models", value=max(clean),
            goal=CLEAN, side="at most"),
        Bar(name="accuracy that the backdoor costs, most of three models", value=max(lost),
            goal=LOST, side="at most"),
    ]  # fmt: skip


def flipped(split: Split, seed: int) -> list[str]:
    """Flip labels at random."""
    lines = [f"| model | {' | '.join(f'{it:.0%} flipped' for it in FLIPS)} |", "|---" * 5 + "|"]
    for name, learner in LEARNERS.items():
        scores = []
        for share in FLIPS:
            rng, labels = np.random.default_rng(seed), split.labels
            if share:
                labels = flip_randomly(split.rows, labels, share, rng).labels
            scores.append(split.score(plainly(learner)(split.rows, labels)))
        lines.append(f"| {name} | {' | '.join(f'{it:.4f}' for it in scores)} |")
    return lines


def aimed_at(model: Any, split: Split, poison: Hostile) -> float:  # noqa: ANN401 # scikit-learn's
    """Return how many rows of other classes get the label that a poison aims at, its trigger in."""
    rows = split.held.filter(pl.Series(split.truth != poison.towards))
    return float((model.predict(poison.triggered(rows)) == poison.towards).mean())


def plainly(learner: Any) -> Learn:  # noqa: ANN401 # scikit-learn's
    """Return what trains a model on raw rows."""
    return lambda rows, labels: piped(learner, rows).fit(rows, labels)
