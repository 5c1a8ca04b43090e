"""The paper's representative: the record nearest its cell's median, of the majority label."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from ml_models.datasets import Labels
    from ml_models.task import Task


def nearest_the_median(
    cells: NDArray[np.integer], points: NDArray[np.float32], labels: Labels
) -> NDArray[np.int64]:
    """Return for each row the number of the row that represents its cell.

    Section 3 of the paper: "the point closest to the median of the cluster from the points with the
    majority label in that cluster", by Euclidean distance of the encoded quasi-identifiers.
    """
    order = np.argsort(cells, kind="stable")
    starts = np.flatnonzero(np.diff(cells[order], prepend=cells[order[0]] - 1))
    chosen = np.empty(len(cells), dtype=np.int64)
    for rows in np.split(order, starts[1:]):
        found, counts = np.unique(labels[rows], return_counts=True)
        of_majority = rows[labels[rows] == found[counts.argmax()]]
        middle = np.median(points[rows], axis=0)
        distances = ((points[of_majority] - middle) ** 2).sum(axis=1)
        chosen[rows] = of_majority[distances.argmin()]
    return chosen


def represented(task: Task, cells: NDArray[np.integer], labels: Labels) -> pl.DataFrame:
    """Write each cell's representative for the quasi-identifiers of all its rows."""
    chosen = nearest_the_median(cells, task.encoded[:, task.columns], labels)
    names = list(task.quasi_identifiers)
    return task.train.with_columns(task.train.select(names)[chosen])
