"""Groups of near rows in which every guarantee holds: a partition by the nearest centroid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask.anonymize._partition import Partition, balanced_tree, boxes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.anonymize._axes import Axes
    from halfmask.anonymize._summary import SensitiveCodes
    from halfmask.kernels.partition.criteria import Rules


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

    def cells_of(self, codes: Sequence[NDArray[np.int64]]) -> NDArray[np.int32]:
        """Return the cell of each row; -1 where a code is negative."""
        from halfmask.kernels.partition.mdav import nearest_points  # noqa: PLC0415 # the compiler loads late

        placed = np.logical_and.reduce([column >= 0 for column in codes])
        points = self.axes.points([column[placed] for column in codes])
        runs = np.full(len(placed), -1, dtype=np.int64)
        found = nearest_points(self.centroids, points, capped=self.axes.capped)
        runs[placed] = self.run_of[found]
        return Partition.cells_of(self, [runs])


#: How many neighbouring groups are joined at most where a guarantee asks for more than k rows.
REACH = 32
#: About how many counts of sensitive values may be read in that search.
MAX_READ = 1 << 30


def group_near(
    codes: Sequence[NDArray[np.integer]],
    axes: Axes,
    *,
    sensitive: Sequence[SensitiveCodes],
    rules: Rules,
    k: int,
    block_rows: int,
    weights: NDArray[np.float64] | float = 1.0,
) -> tuple[CentroidPartition, NDArray[np.int32]]:
    """Group rows by MDAV, and join neighbouring groups where a rule asks for more than k rows."""
    from halfmask.kernels.partition.halving import halve  # noqa: PLC0415 # the compiler loads late
    from halfmask.kernels.partition.mdav import mdav_groups, middles  # noqa: PLC0415 # the same

    points, columns = axes.points(codes), axes.columns(codes)
    n, least = len(points), max(k, 2)
    group = np.zeros(n, dtype=np.int64)
    if n >= 2 * least:
        group = mdav_groups(points, columns, k=least, block_rows=block_rows)
    centroids = middles(points, columns, group)
    # Numbered so that neighbours have numbers next to each other.
    order = np.arange(len(centroids))
    halve(centroids, order, 1, 1, axes.capped)
    group, centroids = np.argsort(order)[group], centroids[order]
    rows = np.argsort(group, kind="stable")
    cuts = np.concatenate([[0], np.cumsum(np.bincount(group))]).astype(np.int64)
    stacked = np.stack(codes, axis=1, dtype=np.int32, casting="unsafe")[rows]
    run_of = np.arange(len(centroids))
    if len(rules.kinds):
        scale = weights / np.maximum(1, stacked.max(axis=0))
        kept = _join_groups(stacked, cuts, rows, sensitive, scale, k, rules)
        run_of = np.repeat(np.arange(len(kept) - 1), np.diff(kept))
        cuts = cuts[kept]
    feature, cut, left, right = balanced_tree(len(cuts) - 1)
    low, high = boxes(stacked, cuts)
    partition = CentroidPartition(
        feature=feature,
        cut=cut,
        left=left,
        right=right,
        low=low,
        high=high,
        sizes=np.diff(cuts),
        axes=axes,
        centroids=centroids,
        run_of=run_of,
    )
    return partition, run_of[group].astype(np.int32)


def _join_groups(
    points: NDArray[np.int32],
    cuts: NDArray[np.int64],
    order: NDArray[np.int64],
    sensitive: Sequence[SensitiveCodes],
    scale: NDArray[np.float64],
    k: int,
    rules: Rules,
) -> NDArray[np.int64]:
    """Return which of the cuts between groups are left so that every rule holds between them."""
    from halfmask.kernels.partition.joining import join_runs  # noqa: PLC0415 # the compiler loads late

    low, high = boxes(points, cuts)
    judged = np.stack([column.codes[order] for column in sensitive]).astype(np.int64)
    reach = int(np.clip(MAX_READ // (len(low) * max(1, int(rules.offsets[-1]))), 2, REACH))
    origin = np.zeros(len(cuts), dtype=np.int64)
    join_runs(low, high, cuts, judged, scale, k, rules, reach, origin)
    left = [len(origin) - 1]
    while left[-1] > 0:
        left.append(int(origin[left[-1]]))
    return np.array(left[::-1], dtype=np.int64)
