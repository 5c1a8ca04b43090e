"""Swaps between near ranks: each rank gets a partner at most so many ranks away."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["place_partners", "shuffle_ties", "swap_near_ranks"]

#: Draws that may hit ranks with a partner before the free ranks are counted.
_MOST_MISSES = 64


@njit()
def shuffle_ties(
    is_first: NDArray[np.bool_], order: NDArray[np.uint32], draws: NDArray[np.uint32]
) -> None:
    """Put the rows of equal values into a random order, in place.

    Parameters
    ----------
    is_first
        Whether a rank is the first one of its value.
    order
        The row of each rank.
    draws
        A random 32-bit integer for each rank.
    """
    first = 0
    for i in range(len(order)):
        if is_first[i]:
            first = i
        else:
            # Fisher and Yates, from the inside out: the rank joins those of its value so far.
            room = np.uint64(i + 1 - first)
            j = first + int((np.uint64(draws[i]) * room) >> np.uint64(32))
            order[i], order[j] = order[j], order[i]


@njit()
def swap_near_ranks(
    partner: NDArray[np.uint32], start: int, distance: int, draws: NDArray[np.uint32]
) -> tuple[int, int]:
    """Give ranks their partners, in rising order, until the draws are used up.

    Parameters
    ----------
    partner
        For each rank its partner, itself where it has none yet. Changed in place.
    start
        The first rank that may still need a partner.
    distance
        The largest distance of a partner, at least 1.
    draws
        Random 32-bit integers, at least 66 so that one rank can be done.

    Returns
    -------
    tuple[int, int]
        The next rank to start with, and how many draws were used.

    Notes
    -----
    A rank picks among the free ranks of the next ``distance`` ones. The last of these is always
    free, because only later ranks than the first can reach it. So a rank has no partner only
    where the ranks end, and at most one rank has none.
    """
    n, used = len(partner), 0
    for i in range(start, n):
        if partner[i] != i:
            continue
        room = min(distance, n - 1 - i)
        if len(draws) - used <= _MOST_MISSES:
            return i, used
        found = -1
        for _ in range(_MOST_MISSES if room else 0):
            j = i + 1 + int((np.uint64(draws[used]) * np.uint64(room)) >> np.uint64(32))
            used += 1
            if partner[j] == j:
                found = j
                break
        if found < 0:
            found = _free_rank(partner, i + 1, i + 1 + room, draws[used])
            used += 1
        if found >= 0:
            partner[i], partner[found] = found, i
    return n, used


@njit()
def _free_rank(partner: NDArray[np.uint32], low: int, high: int, draw: np.uint32) -> int:
    """Return one of the ranks without a partner, each with the same probability; or -1."""
    free = 0
    for j in range(low, high):
        free += partner[j] == j
    left = int((np.uint64(draw) * np.uint64(free)) >> np.uint64(32))
    for j in range(low, high):
        if partner[j] == j:
            if left == 0:
                return j
            left -= 1
    return -1


@njit()
def place_partners(
    by_rank: NDArray[np.uint32],
    partner: NDArray[np.uint32],
    words: NDArray[np.int64],
    found: NDArray[np.int64],
) -> None:
    """Write for each row the word of its partner's row.

    Parameters
    ----------
    by_rank
        The row of each rank.
    partner
        The partner of each rank.
    words
        A word for each row: its value, or its number.
    found
        Written at the rows of ``by_rank``.
    """
    for rank in range(len(by_rank)):
        found[by_rank[rank]] = words[by_rank[partner[rank]]]
