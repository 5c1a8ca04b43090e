"""Mondrian's cut: next to the median of the widest column that can be cut."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit_no_nrt
from halfmask.kernels.partition.sides import may_cut, sides_hold, top_level

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.kernels.partition.criteria import Int, Rules
    from halfmask.kernels.partition.records import RecordColumns, Room

__all__ = ["median_cut"]


@njit_no_nrt
def median_cut(
    lanes: NDArray[np.uint8],
    start: Int,
    stop: Int,
    low: NDArray[np.uint8],
    high: NDArray[np.uint8],
    columns: RecordColumns,
    rules: Rules,
    k: Int,
    strict: bool,  # noqa: FBT001
    room: Room,
) -> tuple[Int, Int, Int]:
    """Return the cut next to the median of the widest column that can be cut.

    Returns the column (-1: none), the last code of the left side, and how many rows of that code go
    left (-1: all).
    """
    n_columns = columns.scale.shape[0]
    for j in range(n_columns):
        room.tried[j] = False
    while True:
        feature, widest = -1, 0.0
        for j in range(n_columns):
            wide = (np.int64(high[j]) - np.int64(low[j])) * columns.scale[j]
            if not room.tried[j] and wide > widest:
                feature, widest = j, wide
        if feature < 0:
            return -1, 0, -1
        room.tried[feature] = True
        first, last = np.int64(low[feature]), np.int64(high[feature])
        median, below, at = _median(lanes, start, stop, feature, first, last, room.histogram)
        level = top_level(columns, feature, first, last)
        for attempt in range(2):
            cut, left = _nearest(
                lanes, start, stop, feature, first, last, median, below, at, level, columns, attempt
            )
            if (
                cut >= 0
                and k <= left <= stop - start - k
                and sides_hold(lanes, start, stop, feature, cut, columns, rules, room)
            ):
                return feature, cut, -1
        if not strict and rules.kinds.shape[0] == 0 and not columns.tiered[feature]:
            return feature, median, (stop - start) // 2 - below


@njit_no_nrt
def _nearest(
    lanes: NDArray[np.uint8],
    start: Int,
    stop: Int,
    feature: Int,
    first: Int,
    last: Int,
    median: Int,
    below: Int,
    at: Int,
    level: Int,
    columns: RecordColumns,
    attempt: Int,
) -> tuple[Int, Int]:
    """Return the permitted cut before or behind the median, the more even one first."""
    half = (stop - start) / 2
    before = (attempt == 0) == (abs(below - half) < abs(below + at - half))
    cut = median - 1 if before else median
    step = -1 if before else 1
    while first <= cut < last and not may_cut(columns, feature, cut, level):
        cut += step
    if not first <= cut < last:
        return -1, 0
    if cut == median - 1:
        return cut, below
    if cut == median:
        return cut, below + at
    left: Int = 0
    for i in range(start, stop):
        left += np.int64(lanes[i, feature] <= cut)
    return cut, left


@njit_no_nrt
def _median(
    lanes: NDArray[np.uint8],
    start: Int,
    stop: Int,
    feature: Int,
    first: Int,
    last: Int,
    histogram: NDArray[np.int64],
) -> tuple[Int, Int, Int]:
    """Return the median code, how many rows lie below it and how many have it.

    Counts codes in bins, then those of the median's bin in finer ones, until a bin is one code.
    """
    bins = histogram.shape[0] // 4
    base, span, below = first, last - first + 1, 0
    half = (stop - start) // 2
    while True:
        shift = 0
        while (span - 1) >> shift >= bins:
            shift += 1
        n_bins = ((span - 1) >> shift) + 1
        _count(
            lanes,
            start,
            stop,
            feature,
            base,
            span,
            shift,
            histogram,
            n_bins,
            bool(shift == 0 and span > last - first),
        )
        chosen = 0
        while below + histogram[chosen] <= half:
            below += histogram[chosen]
            chosen += 1
        if shift == 0:
            return base + chosen, below, histogram[chosen]
        base += chosen << shift
        span = min(1 << shift, last - base + 1)


@njit_no_nrt
def _count(
    lanes: NDArray[np.uint8],
    start: Int,
    stop: Int,
    feature: Int,
    base: Int,
    span: Int,
    shift: Int,
    histogram: NDArray[np.int64],
    n_bins: Int,
    whole: bool,  # noqa: FBT001
) -> None:
    """Count the codes from ``base`` on, ``span`` of them, in bins of ``2**shift``.

    Four histograms take turns: rows in a row often have one code, and one counter that is written
    again before the last write has landed would stall.
    """
    room = histogram.shape[0] // 4
    for part in range(4):
        for b in range(n_bins):
            histogram[part * room + b] = 0
    i, end, lane = np.uint64(start), np.uint64(stop), np.uint64(feature)
    if whole:
        one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
        first = np.uint64(base)
        again = np.uint64(room)
        while i + four <= end:
            histogram[lanes[i, lane] - first] += 1
            histogram[again + lanes[i + one, lane] - first] += 1
            histogram[two * again + lanes[i + two, lane] - first] += 1
            histogram[three * again + lanes[i + three, lane] - first] += 1
            i += four
    while i < end:
        code = np.int64(lanes[i, lane]) - base
        if 0 <= code < span:
            histogram[code >> shift] += 1
        i += np.uint64(1)
    for b in range(n_bins):
        histogram[b] += histogram[room + b] + histogram[2 * room + b] + histogram[3 * room + b]
