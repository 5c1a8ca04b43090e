"""From a column as Arrow keeps it to one slot of hashed rows, with no hash in memory between.

A column's *valid* bits are Arrow's: the lowest bit of the first byte is the first cell's. There are
none where no cell is missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit, njit_unchecked
from halfmask.kernels.hashing.siphash import LOW, THREE, hash_pairs
from halfmask.kernels.hashing.siphash_lanes import LANES
from halfmask.kernels.hashing.siphash_rounds import N8, N32, N56, NONE, ONE, SEVEN

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["place_binned", "place_logged", "place_views"]


@njit()
def place_views(
    views: NDArray[np.uint64],
    valid: NDArray[np.uint8],
    offset: int,
    first: int,
    rows: int,
    key0: np.uint64,
    key1: np.uint64,
    missing: np.uint32,
    mask: np.uint64,
    slot: int,
    indices: NDArray[np.uint32],
) -> None:
    """Write the indices of texts of up to twelve bytes that lie in views.

    Parameters
    ----------
    views
        (cells, 2), as :func:`halfmask.kernels.hashing.siphash.hash_views` takes them.
    valid, offset
        Which cells aren't missing, and which bit is the first cell's.
    first, rows
        Which cells, and rows, are done: so many from the first.
    key0, key1
        The key.
    missing
        The index of a missing cell.
    mask
        The bits of a hash that are an index.
    slot, indices
        Which column of (all rows, slots) is written.
    """
    room = np.empty((4, LANES), np.uint64)
    heads, lasts, longs, found = room[0], room[1], room[2], room[3]
    for start in range(first, first + rows, LANES):
        n = min(LANES, first + rows - start)
        for i in range(n):
            head, rest = views[start + i, 0], views[start + i, 1]
            length = head & LOW
            text = (head >> N32) | (rest << N32)
            kept = (ONE << ((length & SEVEN) * N8)) - ONE
            is_long = NONE - ((length >> THREE) & ONE)
            heads[i], longs[i] = text, is_long
            lasts[i] = (((text & ~is_long) | ((rest >> N32) & is_long)) & kept) | (length << N56)
        hash_pairs(heads, lasts, longs, n, key0, key1, found)
        for i in range(n):
            index = np.uint32(found[i] & mask)
            if len(valid) > 0 and not _is_valid(valid, offset + start + i):
                index = missing
            indices[start + i, slot] = index


@njit_unchecked
def _is_valid(valid: NDArray[np.uint8], bit: int) -> bool:
    return bool((valid[bit >> 3] >> (bit & 7)) & 1)


@njit_unchecked
def place_logged(
    numbers: NDArray[np.float64] | NDArray[np.int64],
    valid: NDArray[np.uint8],
    offset: int,
    first: int,
    rows: int,
    log_bits: int,
    table: NDArray[np.uint32],
    slot: int,
    indices: NDArray[np.uint32],
    bits: NDArray[np.uint64],
) -> None:
    """Write the indices of numbers by their sign, power of two and first bits behind.

    Parameters
    ----------
    numbers
        Of floats or of whole numbers, (cells,).
    valid, offset, first, rows, slot, indices
        As of :func:`place_views`.
    log_bits
        How many bits of the fraction count.
    table
        The index of each bin, and behind them that of a missing cell.
    bits
        One element, overwritten.
    """
    number = bits.view(np.float64)
    last = len(table) - 1
    for i in range(first, first + rows):
        # Minus zero is zero.
        number[0] = np.float64(numbers[i]) + 0.0
        code = np.int64(bits[0] >> np.uint64(52 - log_bits))
        gone = np.isnan(number[0]) or (len(valid) > 0 and not _is_valid(valid, offset + i))
        indices[i, slot] = table[last if gone else code]


@njit_unchecked
def place_binned(
    numbers: NDArray[np.float64] | NDArray[np.int64],
    valid: NDArray[np.uint8],
    offset: int,
    first: int,
    rows: int,
    edges: NDArray[np.float64],
    table: NDArray[np.uint32],
    slot: int,
    indices: NDArray[np.uint32],
) -> None:
    """Write the indices of numbers by how many edges are at most each.

    Parameters
    ----------
    numbers, valid, offset, first, rows, table, slot, indices
        As of :func:`place_logged`.
    edges
        Ascending and finite; two less than the table has elements.
    """
    last = len(table) - 1
    for i in range(first, first + rows):
        number = np.float64(numbers[i])
        low, width = 0, len(edges)
        # As many steps for each number: no branch is there to be guessed wrong.
        while width > 0:
            half = (width + 1) >> 1
            low += half if edges[low + half - 1] <= number else 0
            width -= half
        gone = np.isnan(number) or (len(valid) > 0 and not _is_valid(valid, offset + i))
        indices[i, slot] = table[last if gone else low]
