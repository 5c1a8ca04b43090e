"""Tokens that stand anywhere in bytes: hash them, compare them, number the distinct ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.lean import swift
from halfmask.kernels.wide_loads import word_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["enter_again", "hash_of", "number_distinct", "same_bytes", "word_of"]

_NONE, _ALL, _EIGHT = np.uint64(0), np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64(8)
#: Odd, half of its bits set: from W. Press et al., "Numerical Recipes" (2007), section 7.1.4.
_SPREAD = np.uint64(0x9FB21C651E98DF25)
_FOLD = np.uint64(32)
#: The first and last of the kinds of `halfmask.events` that have bytes of their own.
_INTEGER, _STRING = 4, 6


@swift
def word_of(data: NDArray[np.uint8], start: int, length: int) -> np.uint64:
    """Return up to eight bytes as a little-endian word, zeros above; reads nothing beyond data.

    Parameters
    ----------
    data
        Bytes of any size.
    start, length
        Where they stand; at most eight.
    """
    size = len(data)
    if length == 0:
        return _NONE
    if start + 8 <= size:
        word = word_at(data, start)
    elif size >= 8:
        word = word_at(data, size - 8) >> (np.uint64(start + 8 - size) * _EIGHT)
    else:
        word = _NONE
        for i in range(length):
            word |= np.uint64(data[start + i]) << (np.uint64(i) * _EIGHT)
    if length < 8:
        word &= ~(_ALL << (np.uint64(length) * _EIGHT))
    return word


@swift
def hash_of(data: NDArray[np.uint8], start: int, stop: int, seed: np.uint64) -> np.uint64:
    """Return a hash of a token: for tables in memory, no secret and nothing to publish.

    Parameters
    ----------
    data, start, stop
        The token's bytes.
    seed
        What an author of tokens can't know, so that none can be made to collide.
    """
    length = stop - start
    value = (seed ^ np.uint64(length)) * _SPREAD
    value ^= value >> _FOLD
    at = start
    while at + 8 < stop:
        value = (value ^ word_at(data, at)) * _SPREAD
        value ^= value >> _FOLD
        at += 8
    value = (value ^ word_of(data, at, stop - at)) * _SPREAD
    value ^= value >> _FOLD
    value *= _SPREAD
    return value ^ (value >> _FOLD)


@swift
def same_bytes(
    left: NDArray[np.uint8], a: int, right: NDArray[np.uint8], b: int, length: int
) -> bool:
    """Return whether two runs of bytes are the same.

    Parameters
    ----------
    left, a
        Where the first begins.
    right, b
        Where the second begins.
    length
        How long both are.
    """
    i = 0
    while i + 8 < length:
        if word_at(left, a + i) != word_at(right, b + i):
            return False
        i += 8
    return bool(word_of(left, a + i, length - i) == word_of(right, b + i, length - i))


@swift
def enter_again(hashes: NDArray[np.uint64], count: int, table: NDArray[np.int32]) -> None:
    """Enter codes into a larger table.

    Parameters
    ----------
    hashes, count
        The hash of each code there is.
    table
        Written; full of -1, its length a power of two above `count`.
    """
    mask = np.uint64(len(table) - 1)
    for code in range(count):
        place = hashes[code] & mask
        while table[place] >= 0:
            place = (place + np.uint64(1)) & mask
        table[place] = code


@swift
def number_distinct(
    data: NDArray[np.uint8],
    kinds: NDArray[np.uint8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    first: int,
    count: int,
    seed: np.uint64,
    table: NDArray[np.int32],
    hashes: NDArray[np.uint64],
    slots: NDArray[np.int64],
    codes: NDArray[np.int32],
) -> tuple[int, int]:
    """Give tokens numbers by first appearance: the same kind and bytes, the same number.

    Parameters
    ----------
    data, kinds, starts, stops
        The tokens; a kind of 0 is no token, and only numbers and strings have bytes.
    first
        Where to go on.
    count
        How many distinct tokens there are before it.
    seed
        As of `hash_of`.
    table
        Codes by hash, -1 where there is none; its length is a power of two.
    hashes, slots
        Written: the hash of each code, and the slot where it was first met; half as long as the
        table.
    codes
        Written: the code of each slot, -1 where there is no token.

    Returns
    -------
    tuple
        The slot where the table became too small (as many as there are: none), and how many
        distinct tokens there are by then.
    """
    mask = np.uint64(len(table) - 1)
    for i in range(first, len(kinds)):
        kind = kinds[i]
        if kind == 0:
            codes[i] = -1
            continue
        # What is neither number nor string is told by its kind alone.
        bare = kind < _INTEGER or kind > _STRING
        start = stop = 0
        if not bare:
            start, stop = starts[i], stops[i]
        value = hash_of(data, start, stop, seed ^ np.uint64(kind))
        place = value & mask
        code = int(table[place])
        while code >= 0:
            other = slots[code]
            if (
                hashes[code] == value
                and kinds[other] == kind
                and (
                    bare
                    or (
                        stops[other] - starts[other] == stop - start
                        and same_bytes(data, starts[other], data, start, stop - start)
                    )
                )
            ):
                break
            place = (place + np.uint64(1)) & mask
            code = int(table[place])
        if code < 0:
            if count == len(hashes):
                return i, count
            code = count
            hashes[code], slots[code] = value, i
            table[place] = code
            count += 1
        codes[i] = code
    return len(kinds), count
