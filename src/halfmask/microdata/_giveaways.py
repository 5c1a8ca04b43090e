"""Giveaways: columns that are released unchanged and predict the label nearly alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from halfmask.data import as_text
from halfmask.microdata._class_measures import as_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Which share of what no feature predicts a column must predict alone.
NEARLY_ALL = 0.95
#: A tree of one column has no more leaves, and as many rows in each.
LEAVES, LEAST_ROWS = 64, 5


def giveaways(
    train: pl.DataFrame,
    test: pl.DataFrame,
    label: pl.Series,
    truth: pl.Series,
    *,
    task: Literal["classification", "regression"],
) -> tuple[tuple[str, float], ...]:
    """Return the columns that predict the label nearly alone, the best first, with their scores."""
    learnt, wanted = _targets(label, truth, task)
    base = _score(np.full(len(wanted), _typical(learnt, task)), wanted, task)
    found = []
    for name in train.columns:
        score = _score(_told(train[name], test[name], learnt, task), wanted, task)
        if base < 1 and score - base >= NEARLY_ALL * (1 - base):
            found.append((name, score))
    return tuple(sorted(found, key=lambda each: (-each[1], each[0])))


def _targets(
    label: pl.Series, truth: pl.Series, task: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return both columns of labels as numbers: classes by their place among those learnt."""
    if task == "regression":
        return as_numbers(label), as_numbers(truth)
    both = pl.concat([as_text(label), as_text(truth)])
    codes = both.rank("dense").cast(pl.Float64).to_numpy()
    return codes[: len(label)], codes[len(label) :]


def _told(
    column: pl.Series, asked: pl.Series, learnt: NDArray[np.float64], task: str
) -> NDArray[np.float64]:
    """Return what a column alone predicts of the rows that are asked about."""
    if column.dtype.is_numeric() or column.dtype.is_temporal():
        return _by_tree(as_numbers(column), as_numbers(asked), learnt, task)
    usual = pl.col("label").mode().min() if task == "classification" else pl.col("label").mean()
    known = (
        pl.DataFrame({"value": column.cast(pl.String), "label": learnt})
        .group_by("value")
        .agg(usual)
    )
    predicted = pl.DataFrame({"value": asked.cast(pl.String)}).join(
        known, on="value", how="left", nulls_equal=True, maintain_order="left"
    )
    return predicted["label"].fill_null(_typical(learnt, task)).to_numpy()


def _by_tree(
    values: NDArray[np.float64],
    asked: NDArray[np.float64],
    learnt: NDArray[np.float64],
    task: str,
) -> NDArray[np.float64]:
    from sklearn.tree import (  # noqa: PLC0415 # 1 s to import
        DecisionTreeClassifier,
        DecisionTreeRegressor,
    )

    kind = DecisionTreeClassifier if task == "classification" else DecisionTreeRegressor
    tree = kind(max_leaf_nodes=LEAVES, min_samples_leaf=LEAST_ROWS, random_state=0)
    there = values[np.isfinite(values)]
    below = float(there.min()) - 1 if len(there) else 0.0

    def ready(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.where(np.isfinite(numbers), numbers, below).clip(-1e30, 1e30)[:, None]

    return np.asarray(tree.fit(ready(values), learnt).predict(ready(asked)), dtype=np.float64)


def _typical(learnt: NDArray[np.float64], task: str) -> float:
    """Return what is predicted without any column: the usual class, or the mean."""
    if task == "regression":
        return float(learnt.mean())
    values, counts = np.unique(learnt, return_counts=True)
    return float(values[counts.argmax()])


def _score(predicted: NDArray[np.float64], truth: NDArray[np.float64], task: str) -> float:
    if task == "classification":
        return float((predicted == truth).mean())
    spread = float(((truth - truth.mean()) ** 2).sum())
    return 1 - float(((predicted - truth) ** 2).sum()) / spread if spread else 0.0
