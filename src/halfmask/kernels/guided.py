"""The guided cut: where the guides' values part most."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from halfmask.kernels.lean import lean
from halfmask.kernels.sides import may_cut, sides_hold, top_level

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.kernels.criteria import Int, Rules
    from halfmask.kernels.records import Columns, Guide

__all__ = ["COUNT_SHIFT", "guided_cut"]

#: A count and a guide's sum share one 64-bit sum: the count in the bits from here on.
COUNT_SHIFT = 36
COUNT_ONE = 1 << COUNT_SHIFT
SUM_MASK = COUNT_ONE - 1


@njit(nogil=True, cache=True)
def guided_cut(
    lanes: NDArray[np.uint8],
    start: Int,
    stop: Int,
    low: NDArray[np.uint8],
    high: NDArray[np.uint8],
    columns: Columns,
    rules: Rules,
    guide: Guide,
    k: Int,
    sums: NDArray[np.uint64],
    counts: NDArray[np.int64],
    scratch: NDArray[np.float64],
) -> tuple[Int, Int]:
    """Return the cut that takes away most of the guide's spread and keeps every rule, if any."""
    n_columns = columns.scale.shape[0]
    shifts = np.zeros(n_columns, dtype=np.int64)
    for j in range(n_columns):
        while (np.int64(high[j]) - np.int64(low[j])) >> shifts[j] >= guide.bins:
            shifts[j] += 1
    first_guide = n_columns + columns.n_sensitive
    apart = False
    for g in range(first_guide, first_guide + guide.lanes):
        apart = apart or low[g] < high[g]
    if not apart:
        return -1, 0
    spread = _gather(lanes, start, stop, low, high, columns, guide, shifts, sums)
    gains, cuts = np.zeros(n_columns), np.zeros(n_columns, dtype=np.int64)
    for j in range(n_columns):
        gains[j], cuts[j] = _best_cut(
            j, stop - start, low, high, columns, guide, shifts[j], k, sums
        )
    while True:
        feature = np.argmax(gains)
        # A spread near 0 may be rounded below it; no gain is then no cut all the same.
        if gains[feature] <= max(0.0, guide.gain * spread):
            return -1, 0
        if sides_hold(lanes, start, stop, feature, cuts[feature], columns, rules, counts, scratch):
            return feature, cuts[feature]
        gains[feature] = 0.0


@lean
def _gather(
    lanes: NDArray[np.uint8],
    start: Int,
    stop: Int,
    low: NDArray[np.uint8],
    high: NDArray[np.uint8],
    columns: Columns,
    guide: Guide,
    shifts: NDArray[np.int64],
    sums: NDArray[np.uint64],
) -> float:
    """Sum counts and guides by column and bin; return the guides' spread in the node."""
    n_columns = columns.scale.shape[0]
    room = n_columns * guide.bins
    first_guide = n_columns + columns.n_sensitive
    for g in range(guide.lanes):
        for j in range(n_columns):
            used = ((np.int64(high[j]) - np.int64(low[j])) >> shifts[j]) + 1
            at = g * room + j * guide.bins
            sums[at : at + used] = 0
    squares = 0.0
    for i in range(start, stop):
        value = np.uint64(lanes[i, first_guide])
        squares += np.float64(value) * np.float64(value)
        value += np.uint64(COUNT_ONE)
        for j in range(n_columns):
            b = (np.int64(lanes[i, j]) - np.int64(low[j])) >> shifts[j]
            sums[j * guide.bins + b] += value
    for g in range(1, guide.lanes):
        for i in range(start, stop):
            value = np.uint64(lanes[i, first_guide + g])
            squares += np.float64(value) * np.float64(value)
            for j in range(n_columns):
                b = (np.int64(lanes[i, j]) - np.int64(low[j])) >> shifts[j]
                sums[g * room + j * guide.bins + b] += value
    return squares - _explained(
        sums, guide, room, ((np.int64(high[0]) - np.int64(low[0])) >> shifts[0]) + 1, stop - start
    )


@lean
def _explained(sums: NDArray[np.uint64], guide: Guide, room: Int, used: Int, size: Int) -> float:
    """Return the squared sums of the node's guides over its size, from the first column's bins."""
    explained = 0.0
    for g in range(guide.lanes):
        total = 0.0
        for b in range(used):
            total += np.float64(sums[g * room + b] & np.uint64(SUM_MASK))
        explained += total * total / size
    return explained


@njit(nogil=True, cache=True)
def _best_cut(
    feature: Int,
    size: Int,
    low: NDArray[np.uint8],
    high: NDArray[np.uint8],
    columns: Columns,
    guide: Guide,
    shift: Int,
    k: Int,
    sums: NDArray[np.uint64],
) -> tuple[float, Int]:
    """Return the most that one cut of a column takes from the squared deviations, and the cut."""
    room = columns.scale.shape[0] * guide.bins
    first, last = np.int64(low[feature]), np.int64(high[feature])
    used = ((last - first) >> shift) + 1
    at = feature * guide.bins
    level = top_level(columns, feature, first, last)
    best, best_cut = 0.0, np.int64(0)
    totals, lefts = np.zeros(guide.lanes), np.zeros(guide.lanes)
    base = 0.0
    for g in range(guide.lanes):
        for b in range(used):
            totals[g] += np.float64(sums[g * room + at + b] & np.uint64(SUM_MASK))
        base += totals[g] * totals[g] / size
    left: Int = 0
    for b in range(used - 1):
        left += np.int64(sums[at + b] >> np.uint64(COUNT_SHIFT))
        for g in range(guide.lanes):
            lefts[g] += np.float64(sums[g * room + at + b] & np.uint64(SUM_MASK))
        cut = first + ((b + 1) << shift) - 1
        if left < k or size - left < k or not may_cut(columns, feature, cut, level):
            continue
        gain = -base
        for g in range(guide.lanes):
            rest = totals[g] - lefts[g]
            gain += lefts[g] * lefts[g] / left + rest * rest / (size - left)
        if gain > best:
            best, best_cut = gain, cut
    return best, best_cut
