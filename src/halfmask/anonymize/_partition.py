"""A partition of the quasi-identifiers' space into cells: grown once, then a value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import GuaranteeNotMetError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """A binary tree of cuts; its leaves are the cells.

    Parameters
    ----------
    feature
        The column that each node cuts, -1 in a cell, (nodes,).
    cut
        The last code that goes left, (nodes,).
    left, right
        The children of each node; in a cell, its number and -1, (nodes,).
    low, high
        The least and greatest code of each column among a cell's rows, (cells, columns).
    sizes
        How many rows each cell has, (cells,).
    """

    feature: NDArray[np.int32]
    cut: NDArray[np.int64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    sizes: NDArray[np.int64]

    def __repr__(self) -> str:
        return f"Partition({self.n_cells} cells of {int(self.sizes.sum())} rows)"

    @property
    def n_cells(self) -> int:
        """How many cells there are."""
        return len(self.sizes)

    def cells_of(self, codes: Sequence[NDArray[np.int64]]) -> NDArray[np.int32]:
        """Return the cell of each row; -1 where a code is negative.

        Parameters
        ----------
        codes
            For each column, in the order of the fit, the codes of the rows.
        """
        from halfmask.kernels.partition.descent import descend  # noqa: PLC0415 # the compiler loads late

        cells = np.empty(len(codes[0]), dtype=np.int32)
        stacked = np.ascontiguousarray(np.stack(codes), dtype=np.int64)
        descend(stacked, self.feature, self.cut, self.left, self.right, cells)
        return cells

    def levels_of(self, place: int) -> NDArray[np.int64] | None:  # noqa: ARG002 # a subclass needs it
        """Return a column's level in each cell; ``None`` where cells have no levels.

        Parameters
        ----------
        place
            The place of the column.
        """
        return None

    def details(self, columns: Sequence[str]) -> dict[str, Any]:  # noqa: ARG002 # the same
        """Return what a manifest says of how the cells were found.

        Parameters
        ----------
        columns
            The names of the columns.
        """
        return {}

    def renumbered(self, target: NDArray[np.int64], *, sizes: NDArray[np.int64]) -> Partition:
        """Return the partition with cells joined or dropped.

        Parameters
        ----------
        target
            The new number of each old cell; -1 for one whose rows are suppressed.
        sizes
            How many rows each new cell has.
        """
        if not len(sizes):
            raise GuaranteeNotMetError(
                "No cell keeps the guarantees; every row would be suppressed.",
                hint="Ask for less, or name fewer quasi-identifiers.",
            )
        kept = target >= 0
        low = np.full((len(sizes), self.low.shape[1]), np.iinfo(np.int32).max, dtype=np.int32)
        high = np.full_like(low, -1)
        np.minimum.at(low, target[kept], self.low[kept])
        np.maximum.at(high, target[kept], self.high[kept])
        left = self.left.copy()
        cells = self.feature < 0
        left[cells] = target[left[cells]]
        return replace(self, left=left, low=low, high=high, sizes=sizes)


def boxes(
    points: NDArray[np.int32], cuts: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the least and greatest code of each column between cuts."""
    low = np.minimum.reduceat(points, cuts[:-1], axis=0)
    return low, np.maximum.reduceat(points, cuts[:-1], axis=0)


def balanced_tree(
    n_cells: int,
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Return feature, cut, left and right of the flattest tree over cells from left to right.

    Nodes are numbered as in a heap, so that the children of i are 2i + 1 and 2i + 2.
    """
    from halfmask.kernels.partition.descent import cell_spans  # noqa: PLC0415 # the compiler loads late

    n_nodes = 2 * n_cells - 1
    node = np.arange(n_nodes)
    inner = node < n_cells - 1
    deepest = (1 << (n_nodes.bit_length() - 1)) - 1  # the first node of the deepest row
    # Cells of the deepest row lie left of those that are one row higher.
    cell = np.where(node >= deepest, node - deepest, node + n_nodes - deepest - (n_cells - 1))
    feature = np.where(inner, 0, -1).astype(np.int32)
    left = np.where(inner, 2 * node + 1, cell).astype(np.int32)
    right = np.where(inner, 2 * node + 2, -1).astype(np.int32)
    parent = np.empty(n_nodes, dtype=np.int32)
    first, last = np.empty(n_nodes, dtype=np.int64), np.empty(n_nodes, dtype=np.int64)
    cell_spans(feature, left, right, parent, first, last)
    cut = np.where(inner, last[np.where(inner, left, 0)], 0)
    return feature, cut, left, right
