"""Grow a partition of the quasi-identifiers' space: cuts that keep every guarantee on both sides.

The top-down greedy partition of LeFevre, DeWitt and Ramakrishnan, "Mondrian Multidimensional
K-Anonymity" (ICDE 2006), over packed records; with a guide, the cut that best separates the guide's
values is taken instead, as a regression tree would, and Mondrian's where no cut separates them.

A node's records lie in one run of one of two buffers; a cut moves them to the same run of the
other, so that each cut reads and writes each record once, without a branch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

from halfmask.kernels.criteria import Int, Rules, rules_hold
from halfmask.kernels.lanes import lane_extremes

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Buffers", "Columns", "Guide", "Tree", "grow"]

#: A count and a guide's sum share one 64-bit sum: the count in the bits from here on.
COUNT_SHIFT = 36
COUNT_ONE = 1 << COUNT_SHIFT
SUM_MASK = COUNT_ONE - 1


class Buffers(NamedTuple):
    """The records, and room for a copy; each seen as lanes and as 64-bit words."""

    lanes: tuple[NDArray[np.uint8], NDArray[np.uint8]]
    words: tuple[NDArray[np.uint64], NDArray[np.uint64]]


class Columns(NamedTuple):
    """The quasi-identifiers.

    Attributes
    ----------
    scale
        What one code's step is worth when widths are compared, (columns,).
    boundaries
        For each code but a column's last, the lowest hierarchy level at which it and the next have
        one label; 0 without a hierarchy. The columns one after the other.
    offsets
        Where each column starts in ``boundaries``, (columns + 1,).
    tiered
        Whether the column has a hierarchy, (columns,).
    n_sensitive
        How many lanes of sensitive codes follow the columns' own.
    """

    scale: NDArray[np.float64]
    boundaries: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    tiered: NDArray[np.bool_]
    n_sensitive: int


class Guide(NamedTuple):
    """What leads the cuts.

    Attributes
    ----------
    lanes
        How many lanes hold guides, behind the sensitive ones; 0 for Mondrian.
    gain
        The least share of the guide's spread in a node that a cut must take away to be preferred to
        Mondrian's.
    bins
        How many bins a column's codes are counted in; a power of two.
    """

    lanes: int
    gain: float
    bins: int


class Tree(NamedTuple):
    """Room for the result.

    Attributes
    ----------
    feature, cut, left, right
        For each node: the column cut (-1 in a cell), the last code that goes left, the children
        (in a cell: the cell's number, and -1), (nodes,).
    low, high
        The least and greatest code of each column in each cell, (cells, columns).
    sizes
        Rows of each cell, (cells,).
    cell_of_row
        The cell of each row, (rows,).
    """

    feature: NDArray[np.int32]
    cut: NDArray[np.int64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    sizes: NDArray[np.int64]
    cell_of_row: NDArray[np.int32]


#: For functions that make no array. Numba otherwise counts references to every array that a function
#: takes out of a named tuple, by locked instructions that cost more than the loops over short runs.
_lean = njit(nogil=True, cache=True, _nrt=False)


@njit(nogil=True, cache=True)
def grow(
    buffers: Buffers,
    columns: Columns,
    rules: Rules,
    guide: Guide,
    k: Int,
    strict: bool,  # noqa: FBT001 # kernels take positional arguments only
    run: tuple[Int, Int, Int],
    tree: Tree,
) -> tuple[Int, Int]:
    """Partition the records of a run until no cut keeps every guarantee on both sides.

    Parameters
    ----------
    buffers
        The records; permuted.
    columns, rules, guide
        What is cut, what must hold, what leads.
    k
        The least size of a side, at least 1.
    strict
        Whether rows of one code stay together; if not, those of the median are shared out.
    run
        First row, row behind the last, and which of the two buffers holds them.
    tree
        Written. Room for ``2 * rows // k + 1`` nodes.

    Returns
    -------
    nodes, cells
        How many were written.
    """
    n_columns = columns.scale.shape[0]
    width = buffers.lanes[0].shape[1]
    low = np.empty(width, dtype=buffers.lanes[0].dtype)
    high = np.empty(width, dtype=buffers.lanes[0].dtype)
    sums = np.zeros(max(1, guide.lanes) * n_columns * guide.bins, dtype=np.uint64)
    histogram = np.zeros(4 * max(guide.bins, 256), dtype=np.int64)
    counts = np.zeros((2, rules.offsets[-1]), dtype=np.int64)
    tried = np.zeros(n_columns, dtype=np.bool_)
    starts, stops = [run[0]], [run[1]]
    sides, nodes = [run[2]], [0]
    n_nodes, n_cells = 1, 0
    while len(starts) > 0:
        start, stop, side, node = starts.pop(), stops.pop(), sides.pop(), nodes.pop()
        lanes = buffers.lanes[side]
        lane_extremes(lanes, start, stop, low, high)
        feature: Int = -1
        cut: Int = 0
        shared: Int = -1
        if stop - start >= 2 * k and guide.lanes > 0:
            feature, cut = _guided_cut(
                lanes, start, stop, low, high, columns, rules, guide, k, sums, counts
            )
        if stop - start >= 2 * k and feature < 0:
            feature, cut, shared = _median_cut(
                lanes, start, stop, low, high, columns, rules, k, strict, histogram, counts, tried
            )
        tree.feature[node] = feature
        if feature < 0:
            tree.left[node], tree.right[node] = n_cells, -1
            tree.sizes[n_cells] = stop - start
            for j in range(n_columns):
                tree.low[n_cells, j], tree.high[n_cells, j] = low[j], high[j]
            words = buffers.words[side]
            for i in range(start, stop):
                tree.cell_of_row[words[i, -1] >> np.uint64(32)] = n_cells
            n_cells += 1
            continue
        middle = _move(buffers, side, start, stop, feature, cut, shared)
        tree.cut[node], tree.left[node], tree.right[node] = cut, n_nodes, n_nodes + 1
        starts.append(middle)
        stops.append(stop)
        nodes.append(n_nodes + 1)
        starts.append(start)
        stops.append(middle)
        nodes.append(n_nodes)
        sides.append(1 - side)
        sides.append(1 - side)
        n_nodes += 2
    return n_nodes, n_cells


@_lean
def _move(
    buffers: Buffers, side: Int, start: Int, stop: Int, feature: Int, cut: Int, shared: Int
) -> Int:
    """Copy a run to the other buffer, the left side from the front, the right from the back.

    Of the rows whose code is the cut itself, ``shared`` go left (-1: all).
    """
    lanes = buffers.lanes[side]
    source, target = buffers.words[side], buffers.words[1 - side]
    n_words = source.shape[1]
    front, back = start, stop - 1
    if shared < 0 and n_words == 2:
        # Unsigned places: a signed one is first asked whether it counts from the end.
        lane, zero, one = np.uint64(feature), np.uint64(0), np.uint64(1)
        ahead, behind = np.uint64(start), np.uint64(stop - 1)
        for i in range(np.uint64(start), np.uint64(stop)):
            left = np.uint64(lanes[i, lane] <= cut)
            first, second = source[i, zero], source[i, one]
            # Both places are written and one is kept: cheaper than a branch that nobody can guess.
            target[behind, zero], target[behind, one] = first, second
            target[ahead, zero], target[ahead, one] = first, second
            ahead += left
            behind -= one - left
        return np.int64(ahead)
    room = stop - start if shared < 0 else shared
    for i in range(start, stop):
        code = lanes[i, feature]
        left = np.int64(code < cut)
        if code == cut and room > 0:
            room -= 1
            left = np.int64(1)
        place = front if left == 1 else back
        for word in range(n_words):
            target[place, word] = source[i, word]
        front += left
        back -= 1 - left
    return front


@_lean
def _top_level(columns: Columns, feature: Int, low: Int, high: Int) -> Int:
    """Return the level at which the codes from low to high come together: where to cut."""
    if not columns.tiered[feature]:
        return 0
    base = columns.offsets[feature]
    level = 0
    for code in range(low, high):
        level = max(level, columns.boundaries[base + code])
    return level


@_lean
def _may_cut(columns: Columns, feature: Int, code: Int, level: Int) -> bool:
    return bool(
        not columns.tiered[feature] or columns.boundaries[columns.offsets[feature] + code] >= level
    )


@_lean
def _count_sides(
    lanes: NDArray[np.uint8],
    start: Int,
    stop: Int,
    feature: Int,
    cut: Int,
    columns: Columns,
    rules: Rules,
    counts: NDArray[np.int64],
) -> Int:
    """Count the sensitive values on both sides of a cut; return how many rows go left."""
    for side in range(2):
        for value in range(counts.shape[1]):
            counts[side, value] = 0
    n_columns, offsets = columns.scale.shape[0], rules.offsets
    left: Int = 0
    for i in range(start, stop):
        right = np.int64(lanes[i, feature] > cut)
        left += 1 - right
        for s in range(columns.n_sensitive):
            counts[right, offsets[s] + lanes[i, n_columns + s]] += 1
    return left


@njit(nogil=True, cache=True)
def _sides_hold(
    lanes: NDArray[np.uint8],
    start: Int,
    stop: Int,
    feature: Int,
    cut: Int,
    columns: Columns,
    rules: Rules,
    counts: NDArray[np.int64],
) -> bool:
    """Count the sensitive values on both sides of a cut and judge them by the rules."""
    if rules.kinds.shape[0] == 0:
        return True
    left = _count_sides(lanes, start, stop, feature, cut, columns, rules, counts)
    return rules_hold(counts[0], left, rules) and rules_hold(counts[1], stop - start - left, rules)


@_lean
def _median_cut(
    lanes: NDArray[np.uint8],
    start: Int,
    stop: Int,
    low: NDArray[np.uint8],
    high: NDArray[np.uint8],
    columns: Columns,
    rules: Rules,
    k: Int,
    strict: bool,  # noqa: FBT001
    histogram: NDArray[np.int64],
    counts: NDArray[np.int64],
    tried: NDArray[np.bool_],
) -> tuple[Int, Int, Int]:
    """Return the cut next to the median of the widest column that can be cut.

    Returns the column (-1: none), the last code of the left side, and how many rows of that code go
    left (-1: all).
    """
    n_columns = columns.scale.shape[0]
    for j in range(n_columns):
        tried[j] = False
    while True:
        feature, widest = -1, 0.0
        for j in range(n_columns):
            wide = (np.int64(high[j]) - np.int64(low[j])) * columns.scale[j]
            if not tried[j] and wide > widest:
                feature, widest = j, wide
        if feature < 0:
            return -1, 0, -1
        tried[feature] = True
        first, last = np.int64(low[feature]), np.int64(high[feature])
        median, below, at = _median(lanes, start, stop, feature, first, last, histogram)
        level = _top_level(columns, feature, first, last)
        for attempt in range(2):
            cut, left = _nearest(
                lanes, start, stop, feature, first, last, median, below, at, level, columns, attempt
            )
            if (
                cut >= 0
                and k <= left <= stop - start - k
                and _sides_hold(lanes, start, stop, feature, cut, columns, rules, counts)
            ):
                return feature, cut, -1
        if not strict and rules.kinds.shape[0] == 0 and not columns.tiered[feature]:
            return feature, median, (stop - start) // 2 - below


@_lean
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
    columns: Columns,
    attempt: Int,
) -> tuple[Int, Int]:
    """Return the permitted cut before or behind the median, the more even one first."""
    half = (stop - start) / 2
    before = (attempt == 0) == (abs(below - half) < abs(below + at - half))
    cut = median - 1 if before else median
    step = -1 if before else 1
    while first <= cut < last and not _may_cut(columns, feature, cut, level):
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


@_lean
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
            shift == 0 and span > last - first,
        )
        chosen = 0
        while below + histogram[chosen] <= half:
            below += histogram[chosen]
            chosen += 1
        if shift == 0:
            return base + chosen, below, histogram[chosen]
        base += chosen << shift
        span = min(1 << shift, last - base + 1)


@_lean
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


@njit(nogil=True, cache=True)
def _guided_cut(
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
        if gains[feature] <= guide.gain * spread:
            return -1, 0
        if _sides_hold(lanes, start, stop, feature, cuts[feature], columns, rules, counts):
            return feature, cuts[feature]
        gains[feature] = 0.0


@njit(nogil=True, cache=True)
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


@njit(nogil=True, cache=True)
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
    level = _top_level(columns, feature, first, last)
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
        if left < k or size - left < k or not _may_cut(columns, feature, cut, level):
            continue
        gain = -base
        for g in range(guide.lanes):
            rest = totals[g] - lefts[g]
            gain += lefts[g] * lefts[g] / left + rest * rest / (size - left)
        if gain > best:
            best, best_cut = gain, cut
    return best, best_cut
