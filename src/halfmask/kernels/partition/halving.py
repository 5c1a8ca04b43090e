"""Points halved again and again, so that runs of their order are neighbours in space.

The splits of a k-d tree: J. H. Friedman, J. L. Bentley, R. A. Finkel, "An algorithm for finding
best matches in logarithmic expected time", ACM TOMS 3 (1977), by the column that differs most.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit, njit_no_nrt

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.kernels.partition.criteria import Int

__all__ = ["halve"]

#: Halves of halves that can wait: more than 2**60 points would be needed for as many.
MOST_WAITING = 64


@njit()
def halve(
    points: NDArray[np.float64],
    order: NDArray[np.int64],
    most: Int,
    unit: Int,
    capped: bool,  # noqa: FBT001 # kernels take no keywords
) -> NDArray[np.int64]:
    """Order points so that they lie in runs of neighbours.

    Parameters
    ----------
    points
        All points, (points, columns).
    order
        The numbers of some of them; put in another order.
    most
        The points of a run at most, a multiple of `unit`.
    unit
        The points of each run but the last are a multiple of it.
    capped
        Whether a gap of more than 1 counts as 1 when columns are compared.

    Returns
    -------
    Where each run starts, and how many points there are, (runs + 1,).
    """
    starts = np.empty(order.shape[0] + 2, dtype=np.int64)
    waiting = np.empty((MOST_WAITING, 2), dtype=np.int64)
    waiting[0, 0], waiting[0, 1] = 0, order.shape[0]
    n_waiting, n_starts = 1, 0
    while n_waiting:
        n_waiting -= 1
        first, stop = waiting[n_waiting, 0], waiting[n_waiting, 1]
        if stop - first <= most:
            starts[n_starts] = first
            n_starts += 1
            continue
        half = (stop - first + 1) // 2
        middle = first + (half + unit - 1) // unit * unit
        column = _widest(points, order, first, stop, capped)
        _part(points, order, column, first, stop - 1, middle)
        # The lower half is taken first, so that runs are written from left to right.
        waiting[n_waiting, 0], waiting[n_waiting, 1] = middle, stop
        waiting[n_waiting + 1, 0], waiting[n_waiting + 1, 1] = first, middle
        n_waiting += 2
    starts[n_starts] = order.shape[0]
    return starts[: n_starts + 1].copy()


@njit_no_nrt
def _widest(
    points: NDArray[np.float64],
    order: NDArray[np.int64],
    first: Int,
    stop: Int,
    capped: bool,  # noqa: FBT001
) -> Int:
    """Return the column with the greatest mean distance from its middle."""
    widest, most = 0, -1.0
    for j in range(points.shape[1]):
        middle, spread = 0.0, 0.0
        for i in range(first, stop):
            middle += points[order[i], j]
        middle /= stop - first
        for i in range(first, stop):
            gap = abs(points[order[i], j] - middle)
            spread += min(gap, 1.0) if capped else gap * gap
        if spread > most:
            widest, most = j, spread
    return widest


@njit_no_nrt
def _part(
    points: NDArray[np.float64],
    order: NDArray[np.int64],
    column: Int,
    low: Int,
    high: Int,
    middle: Int,
) -> None:
    """Move points so that none before `middle` is greater than one from there on (Hoare)."""
    while low < high:
        pivot = points[order[(low + high) // 2], column]
        i, j = low, high
        while i <= j:
            while points[order[i], column] < pivot:
                i += 1
            while points[order[j], column] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return
