"""The order of rows by a number: words of its leading digits and the row are sorted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FLOAT", "SIGNED", "UNSIGNED", "key_range", "order_of_packed", "pack_keys"]

#: What the 64 bits of a number mean.
UNSIGNED, SIGNED, FLOAT = 0, 1, 2
#: Longer runs of different numbers with the same leading digits are left to a library's sort.
_LONGEST_RUN = 64


@njit()
def _key(bits: np.int64, kind: int) -> np.uint64:
    """Return an unsigned integer that has the order of the numbers."""
    lowest = np.int64(-0x8000000000000000)
    if kind == FLOAT:
        if bits == lowest:  # -0.0 equals 0.0
            bits = np.int64(0)
        bits ^= (bits >> np.int64(63)) | lowest
    elif kind == SIGNED:
        bits ^= lowest
    return np.uint64(bits)


@njit()
def key_range(numbers: NDArray[np.int64], kind: int) -> tuple[np.uint64, np.uint64]:
    """Return the smallest and the largest key of numbers, given by their 64 bits."""
    low = high = _key(numbers[0], kind)
    for i in range(1, len(numbers)):
        key = _key(numbers[i], kind)
        low, high = min(low, key), max(high, key)
    return low, high


@njit()
def pack_keys(
    numbers: NDArray[np.int64], kind: int, low: np.uint64, cut: int, bits: int
) -> NDArray[np.uint64]:
    """Return a word for each number: the leading digits of its key, then its row.

    Parameters
    ----------
    numbers, kind
        Their 64 bits, and what these mean.
    low
        The smallest key.
    cut
        How many digits of a key are left out at its end.
    bits
        How many bits a row's number has.
    """
    packed = np.empty(len(numbers), np.uint64)
    for i in range(len(numbers)):
        top = (_key(numbers[i], kind) - low) >> np.uint64(cut)
        packed[i] = (top << np.uint64(bits)) | np.uint64(i)
    return packed


@njit()
def order_of_packed(
    packed: NDArray[np.uint64],
    bits: int,
    numbers: NDArray[np.int64],
    kind: int,
    cut: int,
    order: NDArray[np.uint32],
    is_first: NDArray[np.bool_],
) -> bool:
    """Write the row of each rank, and which ranks are the first of their value.

    Parameters
    ----------
    packed, bits, numbers, kind, cut
        Of `pack_keys`, sorted.
    order, is_first
        Written, of the length of ``packed``. The order may be in the memory of the words, from its
        start on: a word is read before its place is written.

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
        run = order[low:high]
        if cut and high - low > 1 and not _order_run(numbers, kind, run, is_first[low:high]):
            return False
        low = high
    return True


@njit()
def _order_run(
    numbers: NDArray[np.int64], kind: int, rows: NDArray[np.uint32], is_first: NDArray[np.bool_]
) -> bool:
    """Sort the rows of a run by their keys; return whether it was short or of one key."""
    same, first = True, _key(numbers[rows[0]], kind)
    for i in range(1, len(rows)):
        same &= _key(numbers[rows[i]], kind) == first
    if same:
        return True
    if len(rows) > _LONGEST_RUN:
        return False
    for i in range(1, len(rows)):
        row, j = rows[i], i
        key = _key(numbers[row], kind)
        while j > 0 and _key(numbers[rows[j - 1]], kind) > key:
            rows[j] = rows[j - 1]
            j -= 1
        rows[j] = row
    for i in range(1, len(rows)):
        is_first[i] = _key(numbers[rows[i]], kind) != _key(numbers[rows[i - 1]], kind)
    return True
