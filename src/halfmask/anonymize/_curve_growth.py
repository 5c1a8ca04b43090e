"""From coded columns to runs of a Hilbert curve in which every guarantee holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.anonymize._curve_partition import (
    CurvePartition,
    balanced_tree,
    curve_bits,
    curve_words,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.anonymize._sensitive_codes import SensitiveCodes
    from halfmask.kernels.partition.criteria import Rules

#: How many neighbouring runs are joined at most where a guarantee asks for more than k rows.
REACH = 32
#: About how many counts of sensitive values may be read in that search.
MAX_READ = 1 << 30


def cut_curve(
    codes: Sequence[NDArray[np.integer]],
    n_codes: Sequence[int],
    *,
    sensitive: Sequence[SensitiveCodes],
    rules: Rules,
    k: int,
    weights: NDArray[np.float64] | float = 1.0,
) -> tuple[CurvePartition, NDArray[np.int32]]:
    """Cut the rows, in the order of a Hilbert curve, into runs that keep k and every rule."""
    from halfmask.kernels.partition.curve import cut_runs  # noqa: PLC0415 # the compiler loads late
    from halfmask.kernels.partition.hilbert import curve_keys  # noqa: PLC0415 # the same

    points = np.stack(codes, axis=1, dtype=np.int32, casting="unsafe")
    greatest = np.array([max(0, count - 1) for count in n_codes], dtype=np.int64)
    keys = np.empty((len(points), curve_words(greatest)), dtype=np.uint64)
    curve_keys(points, greatest, curve_bits(greatest), keys)
    order = _order(keys)
    keys = keys[order]
    first = np.append(0, np.flatnonzero((keys[1:] != keys[:-1]).any(axis=1)) + 1)
    distinct, starts = points[order[first]], np.append(first, len(points))
    scale = weights / np.maximum(1, greatest)
    origin = np.zeros(len(starts), dtype=np.int64)
    cut_runs(distinct, starts, scale, k, origin)
    cuts = _cuts(origin)
    if len(rules.kinds):
        cuts = cuts[joined(distinct, starts, cuts, order, sensitive, scale, k, rules)]
    feature, cut, left, right = balanced_tree(len(cuts) - 1)
    sizes = np.diff(starts[cuts])
    low, high = boxes(distinct, cuts)
    cell_of_row = np.empty(len(points), dtype=np.int32)
    cell_of_row[order] = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    partition = CurvePartition(
        feature=feature,
        cut=cut,
        left=left,
        right=right,
        low=low,
        high=high,
        sizes=sizes,
        greatest=greatest,
        lasts=keys[starts[cuts[1:]] - 1],
    )
    return partition, cell_of_row


def _order(keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    if keys.shape[1] == 1:
        return np.argsort(keys[:, 0], kind="stable")
    return np.lexsort(keys.T[::-1])


def _cuts(origin: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places of the best cuts, both ends included."""
    cuts = [len(origin) - 1]
    while cuts[-1] > 0:
        cuts.append(int(origin[cuts[-1]]))
    return np.array(cuts[::-1], dtype=np.int64)


def boxes(
    points: NDArray[np.int32], cuts: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the least and greatest code of each column between cuts."""
    low = np.minimum.reduceat(points, cuts[:-1], axis=0)
    return low, np.maximum.reduceat(points, cuts[:-1], axis=0)


def joined(  # what both steps share
    points: NDArray[np.int32],
    starts: NDArray[np.int64],
    cuts: NDArray[np.int64],
    order: NDArray[np.int64],
    sensitive: Sequence[SensitiveCodes],
    scale: NDArray[np.float64],
    k: int,
    rules: Rules,
) -> NDArray[np.int64]:
    """Return which of the cuts are left so that every rule holds between them."""
    from halfmask.kernels.partition.curve import join_runs  # noqa: PLC0415 # the compiler loads late

    low, high = boxes(points, cuts)
    judged = np.stack([column.codes[order] for column in sensitive]).astype(np.int64)
    reach = int(np.clip(MAX_READ // (len(low) * max(1, int(rules.offsets[-1]))), 2, REACH))
    origin = np.zeros(len(cuts), dtype=np.int64)
    join_runs(low, high, starts[cuts], judged, scale, k, rules, reach, origin)
    return _cuts(origin)
