"""SipHash-2-4 of many short messages under one key.

J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012, section 2:
two rounds for each word of eight bytes, four at the end. Words are little-endian on every machine.

A *message* is a text's bytes, or one or more 64-bit words. Texts lie as in Arrow: one buffer of
bytes, and where each begins; the last offset is the end of the last one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from halfmask.kernels.compiling import njit, njit_no_nrt
from halfmask.kernels.hashing.siphash_lanes import LANES, READABLE, ROOM, hash_cells
from halfmask.kernels.hashing.siphash_rounds import (
    C0,
    C1,
    C2,
    C3,
    N8,
    N32,
    N56,
    NONE,
    ONE,
    SEVEN,
    Word,
    absorb,
    finish,
    hash_bytes,
)  # fmt: skip

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "bin_codes", "hash_bytes", "hash_pairs", "hash_texts", "hash_views", "hash_words", "place",
    "place_hashes",
]  # fmt: skip

#: Where texts begin: Arrow has both widths.
Offsets: TypeAlias = "NDArray[np.int32] | NDArray[np.int64]"
LOW, THREE = np.uint64(0xFFFFFFFF), np.uint64(3)
#: Up to here it is faster to look at all edges than to search among them.
MOST_COUNTED = 128
BLOCK = 2048


@njit()
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
    room = np.empty(ROOM, np.uint64)
    starts, stops = np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    for first in range(0, len(hashes), LANES):
        n = min(LANES, len(hashes) - first)
        for i in range(n):
            starts[i], stops[i] = offsets[first + i], offsets[first + i + 1]
        if stops[n - 1] + READABLE <= len(data):
            hash_cells(data, starts[:n], stops[:n], key0, key1, hashes[first : first + n], room)
            continue
        # The last texts of a buffer, behind which there may be nothing.
        for i in range(n):
            start, stop = np.uint64(starts[i]), np.uint64(stops[i])
            hashes[first + i] = hash_bytes(data, start, stop, key0, key1)


@njit()
def hash_views(
    views: NDArray[np.uint64], key0: Word, key1: Word, hashes: NDArray[np.uint64]
) -> None:
    """Write the hash of each text of up to twelve bytes that lies in a view.

    Parameters
    ----------
    views
        (texts, 2): as in Arrow, four bytes of length, then the text.
    key0, key1, hashes
        As of :func:`hash_texts`.
    """
    room = np.empty((4, LANES), np.uint64)
    firsts, lasts, longs, found = room[0], room[1], room[2], room[3]
    for start in range(0, len(hashes), LANES):
        n = min(LANES, len(hashes) - start)
        for i in range(n):
            head, rest = views[start + i, 0], views[start + i, 1]
            length = head & LOW
            first = (head >> N32) | (rest << N32)
            # What stands behind a text is of no meaning.
            kept = (ONE << ((length & SEVEN) * N8)) - ONE
            # All bits are set of a text of eight bytes or more: vector code has no branches.
            is_long = NONE - ((length >> THREE) & ONE)
            firsts[i], longs[i] = first, is_long
            lasts[i] = (((first & ~is_long) | ((rest >> N32) & is_long)) & kept) | (length << N56)
        hash_pairs(firsts, lasts, longs, n, key0, key1, found)
        for i in range(n):
            hashes[start + i] = found[i]


@njit_no_nrt
def hash_pairs(
    firsts: NDArray[np.uint64],
    lasts: NDArray[np.uint64],
    longs: NDArray[np.uint64],
    n: int,
    key0: Word,
    key1: Word,
    hashes: NDArray[np.uint64],
) -> None:
    """Write the hash of each text of one word, or of two where its mask is set."""
    for i in range(n):
        v0, v1, v2, v3 = key0 ^ C0, key1 ^ C1, key0 ^ C2, key1 ^ C3
        w0, w1, w2, w3 = absorb(v0, v1, v2, v3, firsts[i])
        v0 ^= (v0 ^ w0) & longs[i]
        v1 ^= (v1 ^ w1) & longs[i]
        v2 ^= (v2 ^ w2) & longs[i]
        v3 ^= (v3 ^ w3) & longs[i]
        v0, v1, v2, v3 = absorb(v0, v1, v2, v3, lasts[i])
        hashes[i] = finish(v0, v1, v2, v3)


@njit_no_nrt
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
            v0, v1, v2, v3 = absorb(v0, v1, v2, v3, words[i, j])
        v0, v1, v2, v3 = absorb(v0, v1, v2, v3, end)
        hashes[i] = finish(v0, v1, v2, v3)


@njit()
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


@njit_no_nrt
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


@njit_no_nrt
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
