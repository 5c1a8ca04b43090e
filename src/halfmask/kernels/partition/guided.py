"""The guided cut: where the guides' values part most."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit_no_nrt
from halfmask.kernels.partition.sides import may_cut, sides_hold, top_level

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.kernels.partition.criteria import Int, Rules
    from halfmask.kernels.partition.records import Guide, RecordColumns, Room

__all__ = ["COUNT_SHIFT", "guided_cut"]

#: A count and a guide's sum share one 64-bit sum: the count in the bits from here on.
COUNT_SHIFT = 36
COUNT_ONE = 1 << COUNT_SHIFT
SUM_MASK = COUNT_ONE - 1


@njit_no_nrt
def guided_cut(
    lanes: NDArray[np.uint8],
    start: Int,
    stop: Int,
    low: NDArray[np.uint8],
    high: NDArray[np.uint8],
    columns: RecordColumns,
    rules: Rules,
    guide: Guide,
    k: Int,
    room: Room,
) -> tuple[Int, Int]:
    """Return the cut that takes away most of the guide's spread and keeps every rule, if any."""
    n_columns = columns.scale.shape[0]
    first_guide = n_columns + columns.n_sensitive
    apart = False
    for g in range(first_guide, first_guide + guide.lanes):
        apart = apart or low[g] < high[g]
    if not apart:
        return -1, 0
    spread = _gather(lanes, start, stop, low, high, columns, guide, room)
    for j in range(n_columns):
        room.gains[j], room.cuts[j] = _best_cut(j, stop - start, low, high, columns, guide, k, room)
    while True:
        feature = 0
        for j in range(1, n_columns):
            if room.gains[j] > room.gains[feature]:
                feature = j
        # A spread near 0 may be rounded below it; no gain is then no cut all the same.
        if room.gains[feature] <= max(0.0, guide.gain * spread):
            return -1, 0
        cut = room.cuts[feature]
        if sides_hold(lanes, start, stop, feature, cut, columns, rules, room):
            return feature, cut
        room.gains[feature] = 0.0


@njit_no_nrt
def _gather(
    lanes: NDArray[np.uint8],
    start: Int,
    stop: Int,
    low: NDArray[np.uint8],
    high: NDArray[np.uint8],
    columns: RecordColumns,
    guide: Guide,
    room: Room,
) -> float:
    """Sum counts and guides by column and bin; return the guides' spread in the node."""
    n_columns = columns.scale.shape[0]
    width = n_columns * guide.bins
    shifted = _lay_out(n_columns, low, high, guide, room)
    first_guide = n_columns + columns.n_sensitive
    sums, bases, shifts = room.sums, room.bases, room.shifts
    squares = 0.0
    # Unsigned places: a signed one is first asked whether it counts from the end.
    first, last, d = np.uint64(start), np.uint64(stop), np.uint64(n_columns)
    for g in range(guide.lanes):
        lane, plane = np.uint64(first_guide + g), np.uint64(g * width)
        # The first guide's sums carry the counts in their upper bits.
        one = np.uint64(COUNT_ONE if g == 0 else 0)
        for i in range(first, last):
            value = np.uint64(lanes[i, lane])
            squares += np.float64(value) * np.float64(value)
            value += one
            if shifted:
                for j in range(d):
                    code = np.uint64(lanes[i, j]) - np.uint64(low[j])
                    sums[plane + bases[j] + (code >> shifts[j])] += value
            else:
                for j in range(d):
                    sums[plane + bases[j] + (np.uint64(lanes[i, j]) - np.uint64(low[j]))] += value
    explained = 0.0
    used = (np.int64(high[0]) - np.int64(low[0]) >> np.int64(shifts[0])) + 1
    for g in range(guide.lanes):
        total = 0.0
        for b in range(used):
            total += np.float64(sums[g * width + b] & np.uint64(SUM_MASK))
        explained += total * total / (stop - start)
    return float(squares - explained)


@njit_no_nrt
def _lay_out(
    n_columns: Int, low: NDArray[np.uint8], high: NDArray[np.uint8], guide: Guide, room: Room
) -> bool:
    """Choose each column's bins and clear them; return whether a bin holds more than one code."""
    shifted = False
    for j in range(n_columns):
        span, shift = np.int64(high[j]) - np.int64(low[j]), 0
        while span >> shift >= guide.bins:
            shift += 1
        shifted = shifted or shift > 0
        room.shifts[j], room.bases[j] = np.uint64(shift), np.uint64(j * guide.bins)
        for g in range(guide.lanes):
            at = (g * n_columns + j) * guide.bins
            for b in range((span >> shift) + 1):
                room.sums[at + b] = np.uint64(0)
    return shifted


@njit_no_nrt
def _best_cut(
    feature: Int,
    size: Int,
    low: NDArray[np.uint8],
    high: NDArray[np.uint8],
    columns: RecordColumns,
    guide: Guide,
    k: Int,
    room: Room,
) -> tuple[float, Int]:
    """Return the most that one cut of a column takes from the squared deviations, and the cut."""
    width, shift = columns.scale.shape[0] * guide.bins, np.int64(room.shifts[feature])
    first, last = np.int64(low[feature]), np.int64(high[feature])
    used = ((last - first) >> shift) + 1
    at = feature * guide.bins
    level = top_level(columns, feature, first, last)
    best, best_cut, base = 0.0, np.int64(0), 0.0
    for g in range(guide.lanes):
        total = np.uint64(0)
        for b in range(used):
            total += room.sums[g * width + at + b] & np.uint64(SUM_MASK)
        room.totals[g], room.lefts[g] = np.float64(total), 0.0
        base += room.totals[g] * room.totals[g] / size
    left: Int = 0
    for b in range(used - 1):
        count = np.int64(room.sums[at + b] >> np.uint64(COUNT_SHIFT))
        if count == 0 and not columns.tiered[feature]:
            continue  # the same sides as the cut before; in a tree that one may be forbidden
        left += count
        for g in range(guide.lanes):
            room.lefts[g] += np.float64(room.sums[g * width + at + b] & np.uint64(SUM_MASK))
        cut = first + ((b + 1) << shift) - 1
        if left < k or size - left < k or not may_cut(columns, feature, cut, level):
            continue
        gain = -base
        for g in range(guide.lanes):
            rest = room.totals[g] - room.lefts[g]
            gain += room.lefts[g] * room.lefts[g] / left + rest * rest / (size - left)
        if gain > best:
            best, best_cut = gain, cut
    return best, best_cut
