"""Find the cell of each row of codes in a grown partition, and the cells below each node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.kernels.compiling import njit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["cell_spans", "descend"]


@njit()
def descend(
    codes: NDArray[np.int64],
    feature: NDArray[np.int32],
    cut: NDArray[np.int64],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    cells: NDArray[np.int32],
) -> None:
    """Write the cell of each row.

    Parameters
    ----------
    codes
        (columns, rows); a negative code has no place, and its row no cell (-1).
    feature, cut, left, right
        The tree, as :class:`halfmask.kernels.partition.records.TreeRoom` holds it.
    cells
        Written, (rows,).
    """
    for i in range(codes.shape[1]):
        node = 0
        while feature[node] >= 0:
            code = codes[feature[node], i]
            node = left[node] if code <= cut[node] else right[node]
        cells[i] = left[node]
    for j in range(codes.shape[0]):
        for i in range(codes.shape[1]):
            if codes[j, i] < 0:
                cells[i] = -1


@njit()
def cell_spans(
    feature: NDArray[np.int32],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    parent: NDArray[np.int32],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
) -> None:
    """Write each node's parent (-1 for the root) and its first and last cell.

    Cells are numbered from left to right, so those below a node are one run. Children are numbered
    behind their parents, so one pass backwards sees every child before its parent.
    """
    parent[0] = -1
    for node in range(feature.shape[0] - 1, -1, -1):
        if feature[node] < 0:
            first[node] = left[node]
            last[node] = left[node]
        else:
            parent[left[node]] = node
            parent[right[node]] = node
            first[node] = first[left[node]]
            last[node] = last[right[node]]
