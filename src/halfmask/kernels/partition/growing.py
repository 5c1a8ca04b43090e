"""Grow a partition of the quasi-identifiers' space: cuts that keep every guarantee on both sides.

The top-down greedy partition of LeFevre, DeWitt and Ramakrishnan, "Mondrian Multidimensional
K-Anonymity" (ICDE 2006), over packed records; with a guide, the cut that best separates the guide's
values is taken instead, as a regression tree would, and Mondrian's where no cut separates them.

A node's records lie in one run of one of two buffers; a cut moves them to the same run of the
other, so that each cut reads and writes each record once, without a branch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit_no_nrt
from halfmask.kernels.partition.criteria import Int, Rules
from halfmask.kernels.partition.guided import guided_cut
from halfmask.kernels.partition.lanes import lane_extremes
from halfmask.kernels.partition.median import median_cut
from halfmask.kernels.partition.records import Guide, RecordBuffers, RecordColumns, Room, TreeRoom

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Guide", "RecordBuffers", "RecordColumns", "Room", "Rules", "TreeRoom", "grow"]


@njit_no_nrt
def grow(
    buffers: RecordBuffers,
    columns: RecordColumns,
    rules: Rules,
    guide: Guide | None,
    k: Int,
    strict: bool,  # noqa: FBT001 # kernels take positional arguments only
    run: tuple[Int, Int, Int],
    whole: Int,
    room: Room,
    tree: TreeRoom,
) -> tuple[Int, Int]:
    """Partition the records of a run until no cut keeps every guarantee on both sides.

    Parameters
    ----------
    buffers
        The records; permuted.
    columns, rules, guide
        What is cut, what must hold, what leads; without a guide its cuts aren't compiled.
    k
        The least size of a side, at least 1.
    strict
        Whether rows of one code stay together; if not, those of the median are shared out.
    run
        First row, row behind the last, and which of the two buffers holds them.
    whole
        Runs of no more rows than this are left for others to partition; 0: none.
    room
        Written and forgotten.
    tree
        Written. Room for ``2 * rows // k + 1`` nodes.

    Returns
    -------
    nodes, cells
        How many were written.
    """
    n_columns = columns.scale.shape[0]
    low, high, waiting = tree.least, tree.greatest, tree.waiting
    waiting[0, 0], waiting[0, 1], waiting[0, 2], waiting[0, 3] = run[0], run[1], run[2], 0
    n_waiting, n_nodes, n_cells = 1, 1, 0
    while n_waiting > 0:
        n_waiting -= 1
        start, stop = waiting[n_waiting, 0], waiting[n_waiting, 1]
        side, node = waiting[n_waiting, 2], waiting[n_waiting, 3]
        lanes = buffers.lanes[side]
        lane_extremes(lanes, start, stop, low, high)
        feature: Int = -1
        cut: Int = 0
        shared: Int = -1
        grows = stop - start >= 2 * k and stop - start > whole
        if guide is not None and grows:
            feature, cut = guided_cut(lanes, start, stop, low, high, columns, rules, guide, k, room)
        if grows and feature < 0:
            feature, cut, shared = median_cut(
                lanes, start, stop, low, high, columns, rules, k, strict, room
            )
        tree.feature[node] = feature
        if feature < 0:
            tree.cut[node], tree.left[node], tree.right[node] = 0, n_cells, -1
            tree.sizes[n_cells] = stop - start
            tree.firsts[n_cells], tree.sides[n_cells] = start, side
            for j in range(n_columns):
                tree.low[n_cells, j], tree.high[n_cells, j] = low[j], high[j]
            words = buffers.words[side]
            for i in range(start, stop):
                tree.cell_of_row[words[i, -1] >> np.uint64(32)] = n_cells
            n_cells += 1
            continue
        middle = _move(buffers, side, start, stop, feature, cut, shared)
        tree.cut[node], tree.left[node], tree.right[node] = cut, n_nodes, n_nodes + 1
        for behind, first, last in ((1, middle, stop), (0, start, middle)):
            waiting[n_waiting, 0], waiting[n_waiting, 1] = first, last
            waiting[n_waiting, 2], waiting[n_waiting, 3] = 1 - side, n_nodes + behind
            n_waiting += 1
        n_nodes += 2
    return n_nodes, n_cells


@njit_no_nrt
def _move(
    buffers: RecordBuffers, side: Int, start: Int, stop: Int, feature: Int, cut: Int, shared: Int
) -> Int:
    """Copy a run to the other buffer, the left side from the front, the right from the back.

    Of the rows whose code is the cut itself, ``shared`` go left (-1: all). Returns where the right
    side starts.
    """
    source, target = buffers.words[side], buffers.words[1 - side]
    if shared < 0 and source.shape[1] == 2:
        return _move_short(buffers.lanes[side], source, target, start, stop, feature, cut)
    room = stop - start if shared < 0 else shared
    lanes = buffers.lanes[side]
    front, back = start, stop - 1
    for i in range(start, stop):
        code = lanes[i, feature]
        goes_left = code < cut
        if code == cut and room > 0:
            room -= 1
            goes_left = True
        place = front if goes_left else back
        for word in range(source.shape[1]):
            target[place, word] = source[i, word]
        front += np.int64(goes_left)
        back -= np.int64(not goes_left)
    return front


@njit_no_nrt
def _move_short(
    lanes: NDArray[np.uint8],
    source: NDArray[np.uint64],
    target: NDArray[np.uint64],
    start: Int,
    stop: Int,
    feature: Int,
    cut: Int,
) -> Int:
    """Move records of two words: both places are written and one is kept, without a branch."""
    # Unsigned places: a signed one is first asked whether it counts from the end.
    lane, zero, one = np.uint64(feature), np.uint64(0), np.uint64(1)
    front, back = np.uint64(start), np.uint64(stop - 1)
    for i in range(np.uint64(start), np.uint64(stop)):
        left = np.uint64(lanes[i, lane] <= cut)
        first, second = source[i, zero], source[i, one]
        target[back, zero], target[back, one] = first, second
        target[front, zero], target[front, one] = first, second
        front += left
        back -= one - left
    return np.int64(front)
