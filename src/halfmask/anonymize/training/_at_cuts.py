"""Points at the cuts: what a model of splits needs to cut where the classes were cut."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.anonymize._partition import Partition

__all__ = ["at_cuts"]


def at_cuts(
    partition: Partition, values: Sequence[NDArray[np.float64]], elsewhere: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Put one class on each side of every cut next to it, so that the middle is the cut.

    Parameters
    ----------
    partition
        Grown on the very columns that the model sees.
    values
        The values of each column in the order of their codes.
    elsewhere
        Each class's point where it needn't stand at a cut, (cells, columns).

    Notes
    -----
    A tree that learns of points cuts half-way between two of them. Between medians that is
    anywhere, and rows as they were, of which the model is asked later, fall on the wrong side;
    between the last value that went left and the first that went right it is where the rows were
    cut. One class on each side is enough, for the others stand further away. A class stands at one
    end of a column only: of two cuts that want it at both, the one that parts more is served first,
    and of the classes that touch a cut the largest that is free. Where none is free the cut is
    learned elsewhere.

    **Edge cases.** Cells that were joined touch what any of them touches; cells that were dropped,
    nothing.
    """
    leaves = _Leaves(partition, len(values))
    points = np.full(elsewhere.shape, np.nan)
    for node in range(len(partition.feature)):  # children have higher numbers
        column = int(partition.feature[node])
        if column < 0:
            continue
        cut = int(partition.cut[node])
        sides = (
            (int(partition.left[node]), cut, leaves.high),
            (int(partition.right[node]), cut + 1, leaves.low),
        )
        for child, code, ends in sides:
            below = slice(leaves.first[child], leaves.last[child])
            cells = leaves.cells[below][ends[below, column] == code]
            cells = cells[cells >= 0]
            there = points[cells, column]
            free = cells[np.isnan(there)]
            if len(free) and not (there == values[column][code]).any():
                points[free[partition.sizes[free].argmax()], column] = values[column][code]
    return np.where(np.isnan(points), elsewhere, points)


class _Leaves:
    """The leaves of a partition from left to right, and the box of codes of each.

    Those below a node stand side by side: from its ``first`` to before its ``last``.
    """

    def __init__(self, partition: Partition, n_columns: int) -> None:
        n = len(partition.feature)
        self.first = np.zeros(n, dtype=np.int64)
        self.last = np.zeros(n, dtype=np.int64)
        cells: list[int] = []
        lows: list[NDArray[np.int64]] = []
        highs: list[NDArray[np.int64]] = []
        whole = np.full(n_columns, np.iinfo(np.int64).max)
        todo = [(0, np.zeros(n_columns, dtype=np.int64), whole)]
        while todo:
            node, low, high = todo.pop()
            self.first[node] = len(cells)
            column = partition.feature[node]
            if column < 0:
                cells.append(int(partition.left[node]))
                lows.append(low)
                highs.append(high)
                continue
            until, since = high.copy(), low.copy()
            until[column], since[column] = partition.cut[node], partition.cut[node] + 1
            todo += [
                (int(partition.right[node]), since, high),
                (int(partition.left[node]), low, until),
            ]
        self.cells = np.array(cells, dtype=np.int64)
        self.low, self.high = np.stack(lows), np.stack(highs)
        for node in range(n - 1, -1, -1):
            inner = partition.feature[node] >= 0
            self.last[node] = self.last[partition.right[node]] if inner else self.first[node] + 1
