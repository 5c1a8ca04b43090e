"""From coded columns to groups of near rows in which every guarantee holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.anonymize._centroid_partition import CentroidPartition
from halfmask.anonymize._curve_growth import boxes, joined
from halfmask.anonymize._curve_partition import balanced_tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.anonymize._axes import Axes
    from halfmask.anonymize._sensitive_codes import SensitiveCodes
    from halfmask.kernels.partition.criteria import Rules


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
        kept = joined(stacked, np.arange(n + 1), cuts, rows, sensitive, scale, k, rules)
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
