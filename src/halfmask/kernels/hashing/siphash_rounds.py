"""The rounds of SipHash-2-4, and the hash of one message that lies in a buffer.

J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012, section 2:
two rounds for each word of eight bytes, four at the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from halfmask.kernels.compiling import njit, njit_no_nrt

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "C0", "C1", "C2", "C3", "N8", "N32", "N56", "NONE", "ONE", "SEVEN", "State", "Word", "absorb",
    "finish", "hash_bytes",
]  # fmt: skip

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


@njit_no_nrt
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


@njit_no_nrt
def absorb(v0: Word, v1: Word, v2: Word, v3: Word, word: Word) -> State:
    """Take in one word of the message."""
    v3 ^= word
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    return v0 ^ word, v1, v2, v3


@njit_no_nrt
def finish(v0: Word, v1: Word, v2: Word, v3: Word) -> Word:
    """Return the hash of what was taken in."""
    v2 ^= END
    for _ in range(4):
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    return v0 ^ v1 ^ v2 ^ v3


@njit_no_nrt
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


# A call for each text would cost as much as a round: the compiler must inline it.
@njit(inline="always", _nrt=False)
def hash_bytes(data: NDArray[np.uint8], start: Word, end: Word, key0: Word, key1: Word) -> Word:
    """Return the hash of a piece of a buffer: for other kernels, inlined into them."""
    v0, v1, v2, v3 = key0 ^ C0, key1 ^ C1, key0 ^ C2, key1 ^ C3
    at = start
    while at + N8 <= end:
        v0, v1, v2, v3 = absorb(v0, v1, v2, v3, _word(data, at))
        at += N8
    rest = end - at
    last = (end - start) << N56
    if rest > NONE:
        if at + N8 <= np.uint64(len(data)):
            # A whole word; the bytes of the next text are cut off.
            last |= _word(data, at) & ((ONE << (rest * N8)) - ONE)
        else:
            tail = NONE
            back = end
            while back > at:
                back -= ONE
                tail = (tail << N8) | np.uint64(data[back])
            last |= tail
    v0, v1, v2, v3 = absorb(v0, v1, v2, v3, last)
    return finish(v0, v1, v2, v3)
