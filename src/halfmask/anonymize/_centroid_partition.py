"""A partition of the quasi-identifiers' space by the nearest centroid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask.anonymize._partition import Partition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.anonymize._axes import Axes


@dataclass(frozen=True, slots=True, kw_only=True)
class CentroidPartition(Partition):
    """A binary tree over the numbers of runs of groups; its leaves are the cells.

    The tree is one over the runs' numbers, as if they were the only column: so cells are joined and
    dropped as in any other partition. The boxes of cells overlap; a row is found by the nearest
    centroid of a group.
    """

    axes: Axes
    centroids: NDArray[np.float64]
    run_of: NDArray[np.int64]

    def __repr__(self) -> str:
        return f"CentroidPartition({self.n_cells} cells of {int(self.sizes.sum())} rows)"

    def features_cut(self) -> NDArray[np.bool_]:
        """Return that every column was cut: a distance depends on all of them."""
        return np.ones((self.n_cells, len(self.axes.places)), dtype=np.bool_)

    def cells_of(self, codes: Sequence[NDArray[np.int64]]) -> NDArray[np.int32]:
        """Return the cell of each row; -1 where a code is negative."""
        from halfmask.kernels.partition.mdav import nearest_points  # noqa: PLC0415 # the compiler loads late

        placed = np.logical_and.reduce([column >= 0 for column in codes])
        points = self.axes.points([column[placed] for column in codes])
        runs = np.full(len(placed), -1, dtype=np.int64)
        found = nearest_points(self.centroids, points, capped=self.axes.capped)
        runs[placed] = self.run_of[found]
        return Partition.cells_of(self, [runs])
