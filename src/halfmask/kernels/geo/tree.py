"""A tree of points in space, for the people within distances of others.

Node 1 is the root, nodes 2i and 2i + 1 are the halves of node i. Leaf j has the points from
n j / leaves up to n (j + 1) / leaves, so nothing but boxes and sums is stored. Near points must
follow each other: then boxes are small. All distances are squared. The boxes' distances are rounded
as those of the points in them, so no point is missed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import inlined, njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["sums_between"]

#: A tree isn't deeper: 8 points a leaf.
_DEEPEST = 60


@inlined
def _apart(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    x, y, z = one[0] - other[0], one[1] - other[1], one[2] - other[2]
    return float(x * x + y * y + z * z)


@inlined
def _least(point: NDArray[np.float64], box: NDArray[np.float64]) -> float:
    x = max(box[0] - point[0], 0.0, point[0] - box[3])
    y = max(box[1] - point[1], 0.0, point[1] - box[4])
    z = max(box[2] - point[2], 0.0, point[2] - box[5])
    return float(x * x + y * y + z * z)


@inlined
def _most(point: NDArray[np.float64], box: NDArray[np.float64]) -> float:
    x = max(point[0] - box[0], box[3] - point[0])
    y = max(point[1] - box[1], box[4] - point[1])
    z = max(point[2] - box[2], box[5] - point[2])
    return float(x * x + y * y + z * z)


@njit()
def sums_between(
    asked: NDArray[np.float64],
    above: NDArray[np.float64],
    most: NDArray[np.float64],
    wanted: NDArray[np.float64],
    points: NDArray[np.float64],
    people: NDArray[np.float64],
    boxes: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the people between two squared distances, and the place of the one that is wanted.

    Parameters
    ----------
    asked
        Coordinates (n, 3).
    above, most
        The distances: more than the first, at most the second.
    wanted
        In a fixed order of the people, the one of whom is asked; infinity for none.
    points, people, boxes, sums
        Of the tree.
    """
    n, n_leaves = len(points), len(sums) // 2
    totals, places = np.zeros(len(asked)), np.full(len(asked), -1)
    stack = np.empty(_DEEPEST, np.int64)
    for number in range(len(asked)):
        here, total, place = asked[number], 0.0, -1
        low, high = above[number], most[number]
        top, stack[0] = 1, 1
        while top and place < 0:
            top -= 1
            node = stack[top]
            box = boxes[node]
            least, furthest = _least(here, box), _most(here, box)
            if least > high or furthest <= low or sums[node] <= 0:
                continue
            if least > low and furthest <= high and total + sums[node] <= wanted[number]:
                total += sums[node]
            elif node < n_leaves:
                stack[top], stack[top + 1] = 2 * node, 2 * node + 1
                top += 2
            else:
                leaf = node - n_leaves
                for i in range(n * leaf // n_leaves, n * (leaf + 1) // n_leaves):
                    apart = _apart(here, points[i])
                    if low < apart <= high:
                        total += people[i]
                        if total > wanted[number]:
                            place = i
                            break
        totals[number], places[number] = total, place
    return totals, places
