"""How many weighted points lie in boxes that may overlap: a tree of bounds over the points."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["bound_points", "count_in_boxes"]

#: Points below a leaf of the tree.
LEAF_POINTS = 16


@njit()
def bound_points(
    points: NDArray[np.int32], n_nodes: int, order: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Sort points into a balanced tree, and return its nodes.

    The children of node ``i`` are ``2 i + 1`` and ``2 i + 2``. A node is cut at the middle of its
    widest column.

    Parameters
    ----------
    points
        (points, columns).
    n_nodes
        The nodes of a full tree: a power of two, less one.
    order
        Written: the point at each place of the tree, (points,).

    Returns
    -------
    starts, low, high
        Where the points of each node begin, and the end of the last, (nodes + 1,) by twos, as
        ``starts[2 i]`` and ``starts[2 i + 1]``; the bounds of each node, (nodes, columns).
    """
    n, width = points.shape
    starts = np.zeros(2 * n_nodes, dtype=np.int64)
    low = np.zeros((n_nodes, width), dtype=np.int32)
    high = np.full((n_nodes, width), -1, dtype=np.int32)
    for i in range(n):
        order[i] = i
    starts[1] = n
    for node in range(n_nodes):
        begin, end = starts[2 * node], starts[2 * node + 1]
        if begin == end:
            continue
        widest, span = 0, -1
        for j in range(width):
            least = most = points[order[begin], j]
            for i in range(begin + 1, end):
                value = points[order[i], j]
                least, most = min(least, value), max(most, value)
            low[node, j], high[node, j] = least, most
            if most - least > span:
                widest, span = j, most - least
        left = 2 * node + 1
        if left >= n_nodes:
            continue
        run = order[begin:end]
        values = np.empty(end - begin, dtype=np.int32)
        for i in range(end - begin):
            values[i] = points[run[i], widest]
        run = run[np.argsort(values)]
        for i in range(end - begin):
            order[begin + i] = run[i]
        middle = (begin + end) // 2
        starts[2 * left], starts[2 * left + 1] = begin, middle
        starts[2 * left + 2], starts[2 * left + 3] = middle, end
    return starts, low, high


@njit()
def count_in_boxes(
    points: NDArray[np.int32],
    before: NDArray[np.int64],
    starts: NDArray[np.int64],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    tops: NDArray[np.int32],
    first: NDArray[np.int32],
    last: NDArray[np.int32],
    with_top: NDArray[np.bool_],
    counts: NDArray[np.int64],
    steps: NDArray[np.int64],
) -> None:
    """Add up the weights of the points in each box, and count the boxes over each point.

    A point is in a box if in each column its value lies from `first` to `last`, or is the column's
    top value where `with_top` says so.

    Parameters
    ----------
    points
        (points, columns), in the order of the tree.
    before
        The weights of all points before each place, (points + 1,).
    starts, low, high
        As of `bound_points`.
    tops
        The value of each column that stands apart, above all others, (columns,).
    first, last, with_top
        (boxes, columns).
    counts
        Written: the weight in each box, (boxes,).
    steps
        Added to: 1 where a run of points in a box begins, -1 behind its end, (points + 1,).
    """
    width = points.shape[1]
    n_nodes = len(low)
    stack = np.empty(128, dtype=np.int64)
    for box in range(len(first)):
        total = 0
        stack[0], held = 0, 1
        while held:
            held -= 1
            node = stack[held]
            begin, end = starts[2 * node], starts[2 * node + 1]
            if begin == end:
                continue
            inside = True
            apart = False
            for j in range(width):
                a, b, top = first[box, j], last[box, j], tops[j]
                if with_top[box, j]:
                    if low[node, j] == top:
                        continue
                    if high[node, j] < a or (low[node, j] > b and high[node, j] < top):
                        apart = True
                        break
                    # Of a node with the top value the greatest of the others isn't known.
                    if low[node, j] < a or (high[node, j] > b and b < top - 1):
                        inside = False
                else:
                    if high[node, j] < a or low[node, j] > b:
                        apart = True
                        break
                    if low[node, j] < a or high[node, j] > b:
                        inside = False
            if apart:
                continue
            if inside:
                total += before[end] - before[begin]
                steps[begin] += 1
                steps[end] -= 1
            elif 2 * node + 1 < n_nodes:
                stack[held], stack[held + 1] = 2 * node + 1, 2 * node + 2
                held += 2
            else:
                for i in range(begin, end):
                    fits = True
                    for j in range(width):
                        value = points[i, j]
                        if with_top[box, j] and value == tops[j]:
                            continue
                        if value < first[box, j] or value > last[box, j]:
                            fits = False
                            break
                    if fits:
                        total += before[i + 1] - before[i]
                        steps[i] += 1
                        steps[i + 1] -= 1
        counts[box] = total
