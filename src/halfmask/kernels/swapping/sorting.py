"""The order of rows by a number, after a sort of packed words: ties, and cut digits, set right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["order_of_packed"]

#: Longer runs of different numbers with the same leading digits are left to a library's sort.
_LONGEST_RUN = 64


@njit(nogil=True, cache=True)
def order_of_packed(
    packed: NDArray[np.uint64],
    bits: int,
    keys: NDArray[np.uint64],
    order: NDArray[np.uint32],
    is_first: NDArray[np.bool_],
) -> bool:
    """Write the row of each rank, and which ranks are the first of their value.

    Parameters
    ----------
    packed
        Sorted words: the leading digits of a row's key, then the row's number in the last bits.
    bits
        How many bits a row's number has.
    keys
        The key of each row; empty where the words hold all of its digits.
    order, is_first
        Written, of the length of ``packed``.

    Returns
    -------
    bool
        False if too many different keys have the same leading digits. The order is then not done.
    """
    n = len(packed)
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    low = 0
    while low < n:
        top = packed[low] >> np.uint64(bits)
        high = low
        while high < n and packed[high] >> np.uint64(bits) == top:
            order[high] = np.uint32(packed[high] & mask)
            is_first[high] = False
            high += 1
        is_first[low] = True
        if (
            len(keys)
            and high - low > 1
            and not _order_run(keys, order[low:high], is_first[low:high])
        ):
            return False
        low = high
    return True


@njit(nogil=True, cache=True)
def _order_run(
    keys: NDArray[np.uint64], rows: NDArray[np.uint32], is_first: NDArray[np.bool_]
) -> bool:
    """Sort the rows of a run by their keys; return whether it was short or of one key."""
    same = True
    for i in range(1, len(rows)):
        same &= keys[rows[i]] == keys[rows[0]]
    if same:
        return True
    if len(rows) > _LONGEST_RUN:
        return False
    for i in range(1, len(rows)):
        row, j = rows[i], i
        while j > 0 and keys[rows[j - 1]] > keys[row]:
            rows[j] = rows[j - 1]
            j -= 1
        rows[j] = row
    for i in range(1, len(rows)):
        is_first[i] = keys[rows[i]] != keys[rows[i - 1]]
    return True
