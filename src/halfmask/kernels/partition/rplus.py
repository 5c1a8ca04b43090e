"""The R+ tree's cut: where the boxes of both sides, drawn tight around their rows, are smallest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit_no_nrt
from halfmask.kernels.partition.sides import may_cut, sides_hold, top_level

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.kernels.partition.criteria import Int, Rules
    from halfmask.kernels.partition.records import RecordColumns, Room

__all__ = ["BOX_BINS", "margin_cut"]

#: How many bins a column's codes are counted in; a power of two.
BOX_BINS = 256


@njit_no_nrt
def margin_cut(
    lanes: NDArray[np.uint8],
    start: Int,
    stop: Int,
    low: NDArray[np.uint8],
    high: NDArray[np.uint8],
    columns: RecordColumns,
    rules: Rules,
    k: Int,
    share: tuple[Int, Int],
    room: Room,
) -> tuple[Int, Int]:
    """Return the cut whose two boxes are smallest, of those that are even enough.

    A box's size is its margin, the sum of its normalized widths, times its rows. Each column offers
    the best of its cuts with ``share`` of the rows on each side, or its most even one where there
    is none; the best offer that keeps every rule is taken. Returns the column (-1: none) and the
    last code of the left side.
    """
    n_columns = columns.scale.shape[0]
    even = -(-share[0] * (stop - start) // share[1])
    for j in range(n_columns):
        room.gains[j] = np.inf
        if low[j] < high[j]:
            room.gains[j], room.cuts[j] = _best_cut(
                lanes, start, stop, j, low, high, columns, k, even, room
            )
    while True:
        feature = 0
        for j in range(1, n_columns):
            if room.gains[j] < room.gains[feature]:
                feature = j
        if room.gains[feature] == np.inf:
            return -1, 0
        cut = room.cuts[feature]
        if sides_hold(lanes, start, stop, feature, cut, columns, rules, room):
            return feature, cut
        room.gains[feature] = np.inf


@njit_no_nrt
def _best_cut(
    lanes: NDArray[np.uint8],
    start: Int,
    stop: Int,
    feature: Int,
    low: NDArray[np.uint8],
    high: NDArray[np.uint8],
    columns: RecordColumns,
    k: Int,
    even: Int,
    room: Room,
) -> tuple[float, Int]:
    """Return the size of both boxes of a column's best cut (inf: none), and the cut."""
    first, last = np.int64(low[feature]), np.int64(high[feature])
    shift = 0
    while (last - first) >> shift >= BOX_BINS:
        shift += 1
    used, size = ((last - first) >> shift) + 1, stop - start
    _gather(lanes, start, stop, feature, first, shift, used, columns, room)
    _rights(used, columns, room)
    level = top_level(columns, feature, first, last)
    best, best_cut, margin = np.inf, np.int64(0), 0.0
    left: Int = 0
    evenest: Int = k
    for b in range(used - 1):
        count = room.histogram[b]
        if count > 0:
            margin = _widened(room, b, 0, left == 0, columns)
            left += count
        elif not columns.tiered[feature]:
            continue  # the same sides as the cut before; in a tree that one may be forbidden
        cut = first + ((b + 1) << shift) - 1
        smaller = min(left, size - left)
        if smaller < min(evenest, even) or smaller < k:
            continue
        if not may_cut(columns, feature, cut, level):
            continue
        loss = margin * left + room.margins[b] * (size - left)
        if smaller > evenest and evenest < even:
            best = np.inf
        evenest = max(evenest, smaller)
        if loss < best:
            best, best_cut = loss, cut
    return best, best_cut


@njit_no_nrt
def _gather(
    lanes: NDArray[np.uint8],
    start: Int,
    stop: Int,
    feature: Int,
    first: Int,
    shift: Int,
    used: Int,
    columns: RecordColumns,
    room: Room,
) -> None:
    """Count the rows of each bin and draw the box around them."""
    histogram, lows, highs = room.histogram, room.lows, room.highs
    for b in range(used):
        histogram[b] = 0
    # Unsigned places: a signed one is first asked whether it counts from the end.
    lane, d = np.uint64(feature), np.uint64(columns.scale.shape[0])
    base, places = np.uint64(first), np.uint64(shift)
    for i in range(np.uint64(start), np.uint64(stop)):
        own = (np.uint64(lanes[i, lane]) - base) >> places
        if histogram[own] == 0:
            for j in range(d):
                lows[own, j] = lanes[i, j]
                highs[own, j] = lanes[i, j]
        else:
            for j in range(d):
                lows[own, j] = min(lows[own, j], lanes[i, j])
                highs[own, j] = max(highs[own, j], lanes[i, j])
        histogram[own] += 1


@njit_no_nrt
def _rights(used: Int, columns: RecordColumns, room: Room) -> None:
    """Write the margin of all rows behind each bin."""
    margin, empty = 0.0, True
    for b in range(used - 1, -1, -1):
        room.margins[b] = margin
        if room.histogram[b] > 0:
            margin = _widened(room, b, 1, empty, columns)
            empty = False


@njit_no_nrt
def _widened(
    room: Room,
    b: Int,
    side: Int,
    empty: bool,  # noqa: FBT001
    columns: RecordColumns,
) -> float:
    """Widen a side's box by a bin's; return its margin. The sides' boxes lie behind the bins'."""
    margin, box = 0.0, BOX_BINS + side
    for j in range(columns.scale.shape[0]):
        low, high = room.lows[b, j], room.highs[b, j]
        if not empty:
            low, high = min(low, room.lows[box, j]), max(high, room.highs[box, j])
        room.lows[box, j], room.highs[box, j] = low, high
        margin += np.float64(np.int64(high) - np.int64(low)) * columns.scale[j]
    return margin
