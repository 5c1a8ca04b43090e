"""Defences of training: on changed rows, by labels of neighbours, by blocks that are left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl
from sklearn.base import clone, is_regressor

from halfmask._errors import ParameterError
from halfmask._foreign import foreign
from halfmask._validation import fraction, integer_at_least
from halfmask.assess.robustness._budget import (
    SLACK,
    AttackerBudget,
    are_within,
    is_number,
    is_whole,
    numbers,
)
from halfmask.assess.robustness._cost_to_flip import either
from halfmask.training import Encoding

if TYPE_CHECKING:
    from halfmask.assess._arrays import Floats, Ints, Model, Values

_READS = "It gets a frame of polars. Name columns in it: make_column_selector only reads pandas."
#: Rows and their labels.
Labelled: TypeAlias = "tuple[pl.DataFrame, Values]"
#: Trains a model of rows and labels, with or without a defence.
Learn: TypeAlias = "Callable[[pl.DataFrame, Values], Model]"


def train_hardened(
    estimator: Model,
    rows: pl.DataFrame,
    labels: Values,
    *,
    budget: AttackerBudget,
    rounds: int = 3,
    tries: int = 4,
    random_state: int = 0,
) -> Model:
    """Train on rows and on changes of them within an attacker's budget.

    Parameters
    ----------
    estimator
        What is trained, not fitted; it stays as it is.
    rows, labels
        The training rows and their labels.
    budget
        What an attacker may change.
    rounds, tries
        In each round a random change of each row is added, and the worst of so many.
    random_state
        The seed of the changes.

    Returns
    -------
    estimator
        The fitted model.

    Notes
    -----
    After Kantchelian, Tygar and Joseph, "Evasion and hardening of tree ensemble classifiers" (ICML
    2016). Nothing is guaranteed: compare the costs to flip before and after. Trees with small
    leaves memorize the changed rows, and get worse: bound their depth.
    """
    integer_at_least(1, owner="train_hardened", rounds=rounds, tries=tries)
    budget, rng = budget.for_rows(rows), np.random.default_rng(random_state)
    learned, known, model = rows, labels, fitted(estimator, rows, labels)
    for _ in range(rounds):
        tried = worst = rows
        most = losses_of(model, rows, labels)
        for _ in range(tries):
            tried = change_randomly(rows, budget, rng)
            lost = losses_of(model, tried, labels)
            worst, most = either(lost > most, tried, worst), np.maximum(lost, most)
        learned, known = pl.concat([learned, worst, tried]), np.concatenate([known, labels, labels])
        model = fitted(estimator, learned, known)
    return model


def change_randomly(
    rows: pl.DataFrame, budget: AttackerBudget, rng: np.random.Generator
) -> pl.DataFrame:
    """Return rows after random changes that cost at most the budget.

    Parameters
    ----------
    rows
        The rows.
    budget
        What may be changed, with limits: see `AttackerBudget.for_rows`.
    rng
        Draws the changes. A row whose change would break a relation stays as it is.
    """
    shape, most = (rows.height, len(budget.columns)), budget.most
    n_changed = {"greatest": shape[1], "sum": 1, "columns": int(most)}[budget.norm]
    is_changed = rng.random(shape).argsort(axis=1) < n_changed
    spent = np.where(is_changed, np.inf if budget.norm == "columns" else most, 0.0)
    moved = [
        _moved(rows[name], budget, each, rng)
        for name, each in zip(budget.columns, spent.T, strict=True)
    ]
    changed = rows.with_columns(moved)
    return either(are_within(budget.cost_of(rows, changed), most), changed, rows)


def _moved(
    cells: pl.Series, budget: AttackerBudget, spent: Floats, rng: np.random.Generator
) -> pl.Series:
    """Return cells of a column after changes that each cost at most so much."""
    column, n = budget.columns[cells.name], len(cells)
    unit, drawn = column.cost or 1.0, rng.random(n)
    if is_number(cells):
        own = numbers(cells)
        low, high = budget.interval(cells)
        least, most = np.maximum(low, own - spent / unit), np.minimum(high, own + spent / unit)
        step = least + drawn * (most - least) - own
        if is_whole(cells.dtype):  # each whole step as often, the furthest too
            ends = np.trunc((least - own) * (1 + SLACK)), np.trunc((most - own) * (1 + SLACK))
            step = ends[0] + np.floor(drawn * (ends[1] - ends[0] + 1))
        moved = own + step
        is_moved = np.isfinite(moved)
        others = pl.Series(np.where(is_moved, moved, 0)).cast(cells.dtype)
    elif column.change == "no" or not column.categories:
        return cells
    else:
        is_moved = (spent >= unit) & (drawn < 0.5) & cells.is_not_null().to_numpy()
        others = pl.Series(rng.choice(column.categories, n)).cast(cells.dtype)
    return others.zip_with(pl.Series(is_moved), cells).alias(cells.name)


def fitted(estimator: Model, rows: pl.DataFrame, labels: Values) -> Model:
    """Return a fitted copy of an estimator."""
    failed = f"{type(estimator).__name__} couldn't be fitted to {rows.height:,} rows"
    with foreign(failed, hint=_READS):
        return clone(estimator).fit(rows, labels)


def losses_of(model: Model, rows: pl.DataFrame, labels: Values) -> Floats:
    """Return how wrong a model is on each row: log loss, squared error, or whether it is wrong."""
    with foreign(f"The model couldn't predict {rows.height:,} rows"):
        if hasattr(model, "predict_proba"):
            chances = model.predict_proba(rows) * (labels[:, None] == model.classes_)
            return np.asarray(-np.log(np.maximum(chances.sum(axis=1), 1e-6)))
        predicted = model.predict(rows)
        if is_regressor(model):
            return np.asarray(np.square(predicted - labels), dtype=np.float64)
        return np.asarray(predicted != labels, dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Suspicions:
    """How suspicious each training row is; rows go by their numbers.

    Parameters
    ----------
    scores
        Of each row; the higher, the more suspicious.
    """

    scores: Floats = field(repr=False)

    def rows(self, n: int = 10) -> Ints:
        """Return the numbers of the most suspicious rows, the most suspicious one first.

        Parameters
        ----------
        n
            How many.
        """
        return np.argsort(-self.scores, kind="stable")[:n]

    def kept(self, share: float) -> Ints:
        """Return the numbers of all rows but the most suspicious share.

        Parameters
        ----------
        share
            In [0, 1].
        """
        fraction(owner="Suspicions", share=share)
        return np.sort(self.rows(len(self.scores))[round(share * len(self.scores)) :])


def suspect_labels(rows: pl.DataFrame, labels: Values, *, neighbours: int = 10) -> Suspicions:
    """Suspect rows whose nearest rows have other labels.

    Parameters
    ----------
    rows, labels
        The training rows and their labels.
    neighbours
        How many nearest rows, in standard scores, count; a score is the share with another label.
    """
    from sklearn.neighbors import NearestNeighbors  # noqa: PLC0415 # loads late

    integer_at_least(1, owner="suspect_labels", neighbours=neighbours)
    if rows.height <= neighbours:
        raise ParameterError(f"{rows.height} rows are too few for {neighbours} neighbours of each.")
    encoded = Encoding(None, rows.columns[:1]).fit(rows).encode(rows)
    near = NearestNeighbors(n_neighbors=neighbours).fit(encoded).kneighbors(return_distance=False)
    return Suspicions((labels[near] != labels[:, None]).mean(axis=1))


def suspect_blocks(
    learn: Learn, training: Labelled, held_out: Labelled, *, blocks: Ints
) -> Suspicions:
    """Suspect rows by how much the loss on trusted rows falls without their block.

    Parameters
    ----------
    learn
        Trains a model of rows and labels.
    training, held_out
        Rows and labels: those under suspicion, and those that are trusted.
    blocks
        The number of each training row's block, such as of who sent it.

    Notes
    -----
    After Barreno, Nelson, Joseph and Tygar, "The security of machine learning" (Machine Learning
    2010): reject on negative impact.
    """
    (rows, labels), (names, own) = training, np.unique(blocks, return_inverse=True)
    if len(own) != rows.height or len(names) < 2:
        raise ParameterError(f"{rows.height} rows need as many numbers of two blocks or more.")
    whole = losses_of(learn(rows, labels), *held_out).mean()
    parts = [np.flatnonzero(own != block) for block in range(len(names))]
    without = [losses_of(learn(rows[it], labels[it]), *held_out).mean() for it in parts]
    return Suspicions((whole - np.array(without))[own])
