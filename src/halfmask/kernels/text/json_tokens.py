"""Tokens that stand anywhere in bytes: hash them, compare them, number the distinct ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit_unchecked
from halfmask.kernels.text.wide_loads import AHEAD, fetch, peek, word_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "SPREAD",
    "enter_again",
    "hash_of",
    "key_of",
    "meta_of",
    "number_distinct",
    "number_known",
    "same_bytes",
    "shift_for",
    "word_of",
]

_NONE, _ALL, _EIGHT = np.uint64(0), np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64(8)
#: Odd, half of its bits set: from W. Press et al., "Numerical Recipes" (2007), section 7.1.4.
SPREAD = np.uint64(0x9FB21C651E98DF25)
_FOLD = np.uint64(32)
#: Of the kinds of `halfmask.events`: the first scalar but null, and the first and last that have
#: bytes of their own.
_FALSE, _INTEGER, _STRING = 2, 4, 6


@njit_unchecked
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


@njit_unchecked
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
    value = (seed ^ np.uint64(length)) * SPREAD
    value ^= value >> _FOLD
    at = start
    while at + 8 < stop:
        value = (value ^ word_at(data, at)) * SPREAD
        value ^= value >> _FOLD
        at += 8
    value = (value ^ word_of(data, at, stop - at)) * SPREAD
    value ^= value >> _FOLD
    value *= SPREAD
    return value ^ (value >> _FOLD)


@njit_unchecked
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


@njit_unchecked
def shift_for(table: NDArray[np.int32]) -> np.uint64:
    """Return how far a product is shifted so that it is a place in a table.

    Parameters
    ----------
    table
        Its length is a power of two.
    """
    bits = np.uint64(64)
    size = len(table)
    while size > 1:
        size >>= 1
        bits -= np.uint64(1)
    return bits


@njit_unchecked
def meta_of(kind: int, length: int) -> int:
    """Return a token's kind and length as one number; what has no bytes of its own has none.

    Parameters
    ----------
    kind, length
        Of the token.
    """
    return length << 4 | kind if _INTEGER <= kind <= _STRING else kind


@njit_unchecked
def key_of(data: NDArray[np.uint8], start: int, meta: int, seed: np.uint64) -> np.uint64:
    """Return the bytes of a token of up to eight unchanged, else their hash.

    Parameters
    ----------
    data, start
        Where it stands.
    meta
        As `meta_of` gives it; what is neither number nor string has no bytes.
    seed
        As of `hash_of`.
    """
    length = meta >> 4
    if length <= 8:
        return word_of(data, start, length)
    return hash_of(data, start, start + length, seed)


@njit_unchecked
def enter_again(
    keys: NDArray[np.uint64], count: int, seed: np.uint64, table: NDArray[np.int32]
) -> None:
    """Enter codes into a larger table.

    Parameters
    ----------
    keys, count
        The key of each code there is.
    seed
        As of `number_distinct`.
    table
        Written; full of -1, its length a power of two above `count`.
    """
    mask, shift = len(table) - 1, shift_for(table)
    for code in range(count):
        place = np.int64((keys[code] * seed) >> shift)
        while table[place] >= 0:
            place = (place + 1) & mask
        table[place] = code


@njit_unchecked
def number_distinct(
    data: NDArray[np.uint8],
    kinds: NDArray[np.uint8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    first: int,
    count: int,
    seed: np.uint64,
    table: NDArray[np.int32],
    keys: NDArray[np.uint64],
    metas: NDArray[np.int64],
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
        What an author of tokens can't know, so that none can be made to collide; odd, since tokens
        of up to eight bytes are multiplied by it: M. Dietzfelbinger et al., "A reliable randomized
        algorithm for the closest-pair problem" (Journal of Algorithms, 1997).
    table
        Codes by key, -1 where there is none; its length is a power of two.
    keys, metas, slots
        Written: the key of each code, its kind and length, and the slot where it was first met;
        half as long as the table.
    codes
        Written: the code of each slot, -1 where there is no token.

    Returns
    -------
    tuple
        The slot where the table became too small (as many as there are: none), and how many
        distinct tokens there are by then.
    """
    mask, shift = len(table) - 1, shift_for(table)
    for i in range(first, len(kinds)):
        kind = int(kinds[i])
        if kind == 0:
            codes[i] = -1
            continue
        start = starts[i]
        meta = meta_of(kind, stops[i] - start)
        key = key_of(data, start, meta, seed)
        place = np.int64((key * seed) >> shift)
        code = int(peek(table, place))
        while code >= 0:
            if peek(keys, code) == key and peek(metas, code) == meta:
                length = meta >> 4
                if length <= 8 or same_bytes(data, starts[slots[code]], data, start, length):
                    break
            place = (place + 1) & mask
            code = int(peek(table, place))
        if code < 0:
            if count == len(keys):
                return i, count
            code = count
            keys[code], metas[code], slots[code] = key, meta, i
            table[place] = code
            count += 1
        codes[i] = code
    return len(kinds), count


@njit_unchecked
def number_known(
    data: NDArray[np.uint8],
    kinds: NDArray[np.uint8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    first: int,
    count: int,
    seed: np.uint64,
    table: NDArray[np.int32],
    keys: NDArray[np.uint64],
    metas: NDArray[np.int64],
    ends: NDArray[np.int64],
    store: NDArray[np.uint8],
    codes: NDArray[np.int32],
) -> tuple[int, int]:
    """Give scalars numbers by first appearance, over all columns that were numbered before.

    Parameters
    ----------
    data, kinds, starts, stops, first, count, seed, table, keys, metas
        As of `number_distinct`.
    ends
        Written: where each code's bytes end in `store`, one place on; it begins with a zero.
    store
        Written: the bytes of all codes, one behind the other.
    codes
        Written: the code of each slot, -1 where there is no scalar.

    Returns
    -------
    tuple
        The slot where there was no room (as many as there are: none), and how many tokens are
        known by then.
    """
    mask, shift = len(table) - 1, shift_for(table)
    for i in range(first, len(kinds)):
        kind = int(kinds[i])
        if i + AHEAD < len(starts):
            fetch(data, starts[i + AHEAD])
        if kind < _FALSE or kind > _STRING:
            codes[i] = -1
            continue
        start = starts[i]
        meta = meta_of(kind, stops[i] - start)
        length = meta >> 4
        key = key_of(data, start, meta, seed)
        place = np.int64((key * seed) >> shift)
        code = int(peek(table, place))
        while code >= 0:
            if (
                peek(keys, code) == key
                and peek(metas, code) == meta
                and (length <= 8 or same_bytes(store, ends[code], data, start, length))
            ):
                break
            place = (place + 1) & mask
            code = int(peek(table, place))
        if code < 0:
            end = ends[count]
            if count == len(keys) or end + length > len(store):
                return i, count
            code = count
            keys[code], metas[code], ends[code + 1] = key, meta, end + length
            for k in range(length):
                store[end + k] = data[start + k]
            table[place] = code
            count += 1
        codes[i] = code
    return len(kinds), count
