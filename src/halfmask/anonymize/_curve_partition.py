"""A partition of the quasi-identifiers' space into runs of a curve that fills it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask.anonymize._partition import Partition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePartition(Partition):
    """A binary tree of cuts along a Hilbert curve; its leaves are the cells.

    The tree is one over the runs' numbers, as if they were the only column: so cells are joined,
    dropped and found as in any other partition. The boxes of cells may overlap; a row is found by
    its place on the curve alone.
    """

    greatest: NDArray[np.int64]
    lasts: NDArray[np.uint64]

    def __repr__(self) -> str:
        return f"CurvePartition({self.n_cells} cells of {int(self.sizes.sum())} rows)"

    def features_cut(self) -> NDArray[np.bool_]:
        """Return that every column was cut: a place on the curve tells of all of them."""
        return np.ones((self.n_cells, len(self.greatest)), dtype=np.bool_)

    def cells_of(self, codes: Sequence[NDArray[np.int64]]) -> NDArray[np.int32]:
        """Return the cell of each row; -1 where a code is negative.

        A row between two runs belongs to the one that it comes before, and one behind the last to
        the last.
        """
        from halfmask.kernels.partition.hilbert import find_runs  # noqa: PLC0415 # the compiler loads late

        points = np.ascontiguousarray(np.stack(codes, axis=1), dtype=np.int32)
        runs = np.empty(len(points), dtype=np.int64)
        find_runs(points, self.greatest, curve_bits(self.greatest), self.lasts, runs)
        return Partition.cells_of(self, [runs])


def curve_bits(greatest: NDArray[np.int64]) -> int:
    """Return how many bits a side of the curve's cube needs."""
    return max(1, int(greatest.max()).bit_length())


def curve_words(greatest: NDArray[np.int64]) -> int:
    """Return how many words a place on the curve needs."""
    return -(-len(greatest) * curve_bits(greatest) // 64)


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
