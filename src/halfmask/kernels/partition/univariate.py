"""Sorted numbers cut into groups of at least k, with the least squared error there is.

S. L. Hansen, S. Mukherjee, "A polynomial algorithm for optimal univariate microaggregation", IEEE
TKDE 15 (2003): a group of 2k and more could be two, so that the best groups are the shortest path
over the sorted numbers whose arcs are runs of k to 2k - 1. In O(n k).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.kernels.partition.criteria import Int

__all__ = ["sorted_groups"]


@njit()
def sorted_groups(values: NDArray[np.float64], k: Int) -> NDArray[np.int64]:
    """Return the group of each number, from 0, rising.

    Parameters
    ----------
    values
        Sorted numbers, at least k, all finite.
    k
        The least numbers of a group, at least 2.

    Notes
    -----
    The squared error of a run is built up from its last number backwards (Welford's steps), not
    from sums of squares, which would lose the digits of large numbers that differ by little. Of
    equally good ways the one with the shorter last group is taken.
    """
    n = values.shape[0]
    least, origin = np.full(n + 1, np.inf), np.zeros(n + 1, dtype=np.int64)
    least[0] = 0.0
    for stop in range(k, n + 1):
        mean, error = 0.0, 0.0
        for size in range(1, min(2 * k - 1, stop) + 1):
            start = stop - size
            gap = values[start] - mean
            mean += gap / size
            error += gap * (values[start] - mean)
            if size >= k and least[start] + error < least[stop]:
                least[stop], origin[stop] = least[start] + error, start
    opens = np.zeros(n, dtype=np.int64)
    place = origin[n]
    while place > 0:
        opens[place] = 1
        place = origin[place]
    return np.cumsum(opens)
