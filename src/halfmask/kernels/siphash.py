"""SipHash-2-4 of many short messages under one key.

J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012, section 2:
two rounds for each word of eight bytes, four at the end. Words are little-endian on every machine.
:mod:`halfmask.kernels.siphash_numpy` has the same functions, with the same numbers, where there is
no compiler.

A *message* is a text's bytes, or one or more 64-bit words. Texts lie as in Arrow: one buffer of
bytes, and where each begins; the last offset is the end of the last one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numba import njit

from halfmask.kernels.lean import lean

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["bin_codes", "hash_bytes", "hash_texts", "hash_words", "place", "place_hashes"]

#: Where texts begin: Arrow has both widths.
Offsets: TypeAlias = "NDArray[np.int32] | NDArray[np.int64]"
Word: TypeAlias = np.uint64
State: TypeAlias = tuple[Word, Word, Word, Word]

# Typed once here: numba would make a float of an unsigned and a signed number.
C0 = np.uint64(0x736F6D6570736575)
C1 = np.uint64(0x646F72616E646F6D)
C2 = np.uint64(0x6C7967656E657261)
C3 = np.uint64(0x7465646279746573)
N8, N13, N16, N17, N21, N32 = (np.uint64(n) for n in (8, 13, 16, 17, 21, 32))
N43, N47, N48, N51, N56 = (np.uint64(n) for n in (43, 47, 48, 51, 56))
END = np.uint64(0xFF)
SEVEN, ONE, NONE = np.uint64(7), np.uint64(1), np.uint64(0)
N24, N40 = np.uint64(24), np.uint64(40)

#: Up to here it is faster to look at all edges than to search among them.
MOST_COUNTED = 128
BLOCK = 2048


@lean
def _round(v0: Word, v1: Word, v2: Word, v3: Word) -> State:
    v0 += v1
    v1 = (v1 << N13) | (v1 >> N51)
    v1 ^= v0
    v0 = (v0 << N32) | (v0 >> N32)
    v2 += v3
    v3 = (v3 << N16) | (v3 >> N48)
    v3 ^= v2
    v0 += v3
    v3 = (v3 << N21) | (v3 >> N43)
    v3 ^= v0
    v2 += v1
    v1 = (v1 << N17) | (v1 >> N47)
    v1 ^= v2
    v2 = (v2 << N32) | (v2 >> N32)
    return v0, v1, v2, v3


@lean
def _absorb(v0: Word, v1: Word, v2: Word, v3: Word, word: Word) -> State:
    v3 ^= word
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    return v0 ^ word, v1, v2, v3


@lean
def _finish(v0: Word, v1: Word, v2: Word, v3: Word) -> Word:
    v2 ^= END
    for _ in range(4):
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    return v0 ^ v1 ^ v2 ^ v3


@lean
def _word(data: NDArray[np.uint8], at: Word) -> Word:
    # The compiler makes one load of it. Unsigned places spare it the test for negative ones.
    return (
        np.uint64(data[at])
        | np.uint64(data[at + np.uint64(1)]) << N8
        | np.uint64(data[at + np.uint64(2)]) << N16
        | np.uint64(data[at + np.uint64(3)]) << N24
        | np.uint64(data[at + np.uint64(4)]) << N32
        | np.uint64(data[at + np.uint64(5)]) << N40
        | np.uint64(data[at + np.uint64(6)]) << N48
        | np.uint64(data[at + SEVEN]) << N56
    )


# A call for each text would cost as much as a round: the compiler is told to have none.
@njit(nogil=True, cache=True, inline="always", _nrt=False)  # type: ignore[call-overload, untyped-decorator] # as `lean`
def hash_bytes(data: NDArray[np.uint8], start: Word, end: Word, key0: Word, key1: Word) -> Word:
    """Return the hash of a piece of a buffer: for other kernels, inlined into them."""
    v0, v1, v2, v3 = key0 ^ C0, key1 ^ C1, key0 ^ C2, key1 ^ C3
    at = start
    while at + N8 <= end:
        v0, v1, v2, v3 = _absorb(v0, v1, v2, v3, _word(data, at))
        at += N8
    rest = end - at
    last = (end - start) << N56
    if rest > NONE:
        if at + N8 <= np.uint64(len(data)):
            # A whole word, of which what belongs to the next text is cut off.
            last |= _word(data, at) & ((ONE << (rest * N8)) - ONE)
        else:
            tail = NONE
            back = end
            while back > at:
                back -= ONE
                tail = (tail << N8) | np.uint64(data[back])
            last |= tail
    v0, v1, v2, v3 = _absorb(v0, v1, v2, v3, last)
    return _finish(v0, v1, v2, v3)


@lean
def hash_texts(
    offsets: Offsets,
    data: NDArray[np.uint8],
    key0: Word,
    key1: Word,
    hashes: NDArray[np.uint64],
) -> None:
    """Write the hash of each text.

    Parameters
    ----------
    offsets
        Where each text begins in ``data``, and the end of the last; ascending, within it.
    data
        The texts' bytes.
    key0, key1
        The key's first and last eight bytes, as little-endian numbers.
    hashes
        Written, one for each text.
    """
    for i in range(len(hashes)):
        hashes[i] = hash_bytes(data, np.uint64(offsets[i]), np.uint64(offsets[i + 1]), key0, key1)


@lean
def hash_words(
    words: NDArray[np.uint64], key0: Word, key1: Word, hashes: NDArray[np.uint64]
) -> None:
    """Write the hash of each row of words: of as many bytes as eight times its words.

    Parameters
    ----------
    words
        The messages, of shape (messages, words).
    key0, key1, hashes
        As of :func:`hash_texts`.
    """
    end = (np.uint64(words.shape[1]) * N8) << N56
    for i in range(words.shape[0]):
        v0, v1, v2, v3 = key0 ^ C0, key1 ^ C1, key0 ^ C2, key1 ^ C3
        for j in range(words.shape[1]):
            v0, v1, v2, v3 = _absorb(v0, v1, v2, v3, words[i, j])
        v0, v1, v2, v3 = _absorb(v0, v1, v2, v3, end)
        hashes[i] = _finish(v0, v1, v2, v3)


@njit(nogil=True, cache=True)
def bin_codes(
    numbers: NDArray[np.float64], edges: NDArray[np.float64], codes: NDArray[np.int32]
) -> None:
    """Write how many edges are at most each number; for NaN one more than there are edges.

    Parameters
    ----------
    numbers
        What is binned.
    edges
        Ascending, none NaN or infinite.
    codes
        Written, one for each number.
    """
    n_edges = len(edges)
    if n_edges > MOST_COUNTED:
        for i in range(len(numbers)):
            found = np.searchsorted(edges, numbers[i], side="right")
            codes[i] = n_edges + 1 if np.isnan(numbers[i]) else found
        return
    # Every edge is held against every number, many at once: no branch is there to be guessed wrong.
    for first in range(0, len(numbers), BLOCK):
        some = numbers[first : first + BLOCK]
        counted = codes[first : first + BLOCK]
        for i in range(len(some)):
            counted[i] = 0 if some[i] == some[i] else n_edges + 1  # NaN isn't
        for j in range(n_edges):
            edge = edges[j]
            for i in range(len(some)):
                counted[i] += 1 if edge <= some[i] else 0


@lean
def place(
    table: NDArray[np.uint32],
    codes: NDArray[np.int32],
    first: int,
    slot: int,
    indices: NDArray[np.uint32],
) -> None:
    """Write the index of each row's code into one slot of the rows.

    Parameters
    ----------
    table
        The index of each code.
    codes
        The rows' codes, below the table's length.
    first
        The first row that is written.
    slot
        Which of the row's indices is written.
    indices
        Of shape (rows, slots), written from ``first`` on for as many rows as there are codes.
    """
    for i in range(len(codes)):
        indices[first + i, slot] = table[codes[i]]


@lean
def place_hashes(
    hashes: NDArray[np.uint64],
    mask: Word,
    first: int,
    slot: int,
    indices: NDArray[np.uint32],
) -> None:
    """Write the lower bits of each row's hash into one slot of the rows.

    Parameters
    ----------
    hashes
        The rows' hashes.
    mask
        The bits that are an index.
    first, slot, indices
        As of :func:`place`.
    """
    for i in range(len(hashes)):
        indices[first + i, slot] = np.uint32(hashes[i] & mask)
