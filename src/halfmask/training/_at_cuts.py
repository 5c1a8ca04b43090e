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
    partition: Partition, values: Sequence[NDArray[np.float64]], rows: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Put one class on each side of every cut next to it, so that the middle is the cut.

    Parameters
    ----------
    partition
        Grown on the very columns that the model sees.
    values
        The values of each column in the order of their codes.
    rows
        The rows that aren't suppressed, (rows, columns): no other value is written.

    Returns
    -------
    points
        (cells, columns); NaN where a class needn't stand at a cut.

    Notes
    -----
    A tree that learns of points cuts half-way between two of them. Between medians that is
    anywhere, and rows as they were, of which the model is asked later, fall on the wrong side;
    half-way between the last value below a cut and the first above it, it is where the rows were
    cut. One class on each side is enough, for the others stand further away. A class stands at one
    end of a column only: of two cuts that want it at both, the one that parts more is served first,
    and of the classes that touch a cut the largest that is free. Where none is free the cut is
    learned elsewhere.

    **Guarantees.** A point at a cut is in the box of its class. The value is one of the column's,
    and needn't be of a row of the class: it tells that somebody has it.

    **Edge cases.** Cells that were joined touch what any of them touches; cells that were dropped,
    nothing.
    """
    leaves = _Leaves(partition, len(values))
    ends = [_Ends(own, np.unique(column)) for own, column in zip(values, rows.T, strict=True)]
    points = np.full((partition.n_cells, len(values)), np.nan)
    for node in range(len(partition.feature)):  # children have higher numbers
        column, cut = int(partition.feature[node]), int(partition.cut[node])
        if column < 0:
            continue
        sides = (
            (int(partition.left[node]), leaves.high, cut, ends[column].below(cut)),
            (int(partition.right[node]), leaves.low, cut + 1, ends[column].above(cut)),
        )
        for child, reach, code, value in sides:
            under = slice(leaves.first[child], leaves.last[child])
            cells = leaves.cells[under][reach[under, column] == code]
            cells = cells[cells >= 0]
            there = points[cells, column]
            free = cells[np.isnan(there)]
            if len(free) and not (there == value).any():
                points[free[partition.sizes[free].argmax()], column] = value
    return points


class _Ends:
    """The values next to each cut of a column, of those that occur."""

    def __init__(self, values: NDArray[np.float64], there: NDArray[np.float64]) -> None:
        self.values, self.there = values, there

    def below(self, cut: int) -> float:
        """Return the greatest that goes left."""
        return float(self.there[np.searchsorted(self.there, self.values[cut], side="right") - 1])

    def above(self, cut: int) -> float:
        """Return the least that goes right."""
        return float(self.there[np.searchsorted(self.there, self.values[cut], side="right")])


class _Leaves:
    """The leaves of a partition from left to right, and the box of codes of each.

    Those below a node stand side by side: from its ``first`` to before its ``last``.
    """

    def __init__(self, partition: Partition, n_columns: int) -> None:
        n = len(partition.feature)
        self.first = np.zeros(n, dtype=np.int64)
        self.last = np.zeros(n, dtype=np.int64)
        cells: list[int] = []
        lows: list[NDArray[np.int32]] = []
        highs: list[NDArray[np.int32]] = []
        whole = np.full(n_columns, np.iinfo(np.int32).max, dtype=np.int32)
        todo = [(0, np.zeros(n_columns, dtype=np.int32), whole)]
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
            left, right = int(partition.left[node]), int(partition.right[node])
            todo += [(right, since, high), (left, low, until)]
        self.cells = np.array(cells, dtype=np.int64)
        self.low, self.high = np.stack(lows), np.stack(highs)
        for node in range(n - 1, -1, -1):
            inner = partition.feature[node] >= 0
            self.last[node] = self.last[partition.right[node]] if inner else self.first[node] + 1
