"""SipHash-2-4 of many messages, or of one under many keys, at once: the attacker's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.assess.attacks._murmur3 import blocks_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_START = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
_MASK = (1 << 64) - 1


def siphash(messages: Sequence[bytes], key: int | NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return SipHash-2-4.

    Notes
    -----
    Aumasson and Bernstein, "SipHash: a fast short-input PRF" (INDOCRYPT 2012).

    Examples
    --------
    The paper's own vector:

    >>> key = int.from_bytes(bytes(range(16)), "little")
    >>> hex(siphash([bytes(range(15))], key)[0])
    '0xa129ca6149be45e5'
    """
    if isinstance(key, int):
        low, high = (
            np.full(1, key & _MASK, dtype=np.uint64),
            np.full(1, key >> 64 & _MASK, dtype=np.uint64),
        )
    else:
        low, high = key.astype(np.uint64), np.zeros(1, dtype=np.uint64)
    blocks, lengths = blocks_of(messages, np.uint64)
    last = lengths // 8
    blocks[np.arange(len(blocks)), last] |= (lengths & 0xFF).astype(np.uint64) << np.uint64(56)
    shape = np.broadcast_shapes(low.shape, last.shape)
    v = [
        np.broadcast_to(np.uint64(start) ^ half, shape).copy()
        for start, half in zip(_START, (low, high, low, high), strict=True)
    ]
    for place in range(int(last.max(initial=0)) + 1):
        before = [part.copy() for part in v]
        v[3] ^= blocks[:, place]
        _rounds(v, 2)
        v[0] ^= blocks[:, place]
        v = [np.where(place <= last, new, old) for new, old in zip(v, before, strict=True)]
    v[2] ^= np.uint64(0xFF)
    _rounds(v, 4)
    return np.asarray(v[0] ^ v[1] ^ v[2] ^ v[3])


def _rounds(v: list[NDArray[np.uint64]], n: int) -> None:
    for _ in range(n):
        _round(v)


def _round(v: list[NDArray[np.uint64]]) -> None:
    v[0] += v[1]
    v[1] = _turned(v[1], 13) ^ v[0]
    v[0] = _turned(v[0], 32)
    v[2] += v[3]
    v[3] = _turned(v[3], 16) ^ v[2]
    v[0] += v[3]
    v[3] = _turned(v[3], 21) ^ v[0]
    v[2] += v[1]
    v[1] = _turned(v[1], 17) ^ v[2]
    v[2] = _turned(v[2], 32)


def _turned(x: NDArray[np.uint64], by: int) -> NDArray[np.uint64]:
    return (x << np.uint64(by)) | (x >> np.uint64(64 - by))
