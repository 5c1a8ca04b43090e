"""SipHash-2-4 of many short texts side by side, as vector code.

One hash is a chain of additions and rotations in which nothing can be done at once; eight hashes
can. Texts of up to seven bytes are one word and texts of up to fifteen are two, so they are sorted
into these two lengths and hashed together: several times as fast as one after another. The numbers
are those of :mod:`halfmask.kernels.hashing.siphash_rounds`, which longer texts are left to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit_no_nrt
from halfmask.kernels.hashing.siphash_rounds import (
    C0,
    C1,
    C2,
    C3,
    N8,
    N56,
    absorb,
    finish,
    hash_bytes,
)
from halfmask.kernels.text.wide_loads import word_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LANES", "READABLE", "ROOM", "hash_cells"]

#: How many texts are hashed together.
LANES = 256
#: How many words of room `hash_cells` needs.
ROOM = 6 * LANES
#: How many bytes must be readable from where a text of fewer than 16 bytes begins.
READABLE = 16
_ONE, _SIXTEEN = np.uint64(1), np.uint64(16)


@njit_no_nrt
def hash_cells(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    key0: np.uint64,
    key1: np.uint64,
    hashes: NDArray[np.uint64],
    room: NDArray[np.uint64],
) -> None:
    """Write the hash of each text.

    Parameters
    ----------
    data
        Bytes; `READABLE` of them from the start of each text on.
    starts, stops
        Where each text begins and ends; up to `LANES` of them.
    key0, key1
        The key's first and last eight bytes, as little-endian numbers.
    hashes
        Written, one for each text.
    room
        `ROOM` words, overwritten.
    """
    words, short = room[:LANES], room[LANES : 2 * LANES]
    firsts, seconds = room[2 * LANES : 3 * LANES], room[3 * LANES : 4 * LANES]
    places, others = room[4 * LANES : 5 * LANES], room[5 * LANES :]
    n_short, n_long = 0, 0
    for i in range(len(hashes)):
        length = np.uint64(stops[i] - starts[i])
        if length >= _SIXTEEN:
            start = np.uint64(starts[i])
            hashes[i] = hash_bytes(data, start, start + length, key0, key1)
            continue
        first, second = word_at(data, starts[i]), word_at(data, starts[i] + 8)
        # Both are written, and one of them is kept: no branch is there to be guessed wrong.
        end = length << N56
        kept = (_ONE << ((length & np.uint64(7)) * N8)) - _ONE
        short[n_short], places[n_short] = (first & kept) | end, np.uint64(i)
        firsts[n_long], seconds[n_long] = first, (second & kept) | end
        others[n_long] = np.uint64(i)
        is_short = int(length < N8)
        n_short += is_short
        n_long += 1 - is_short
    for i in range(n_short):
        v0, v1, v2, v3 = key0 ^ C0, key1 ^ C1, key0 ^ C2, key1 ^ C3
        v0, v1, v2, v3 = absorb(v0, v1, v2, v3, short[i])
        words[i] = finish(v0, v1, v2, v3)
    for i in range(n_short):
        hashes[np.int64(places[i])] = words[i]
    for i in range(n_long):
        v0, v1, v2, v3 = key0 ^ C0, key1 ^ C1, key0 ^ C2, key1 ^ C3
        v0, v1, v2, v3 = absorb(v0, v1, v2, v3, firsts[i])
        v0, v1, v2, v3 = absorb(v0, v1, v2, v3, seconds[i])
        words[i] = finish(v0, v1, v2, v3)
    for i in range(n_long):
        hashes[np.int64(others[i])] = words[i]
