"""MurmurHash3 of many messages, or of one under many seeds, at once: the attacker's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_C1, _C2 = np.uint32(0xCC9E2D51), np.uint32(0x1B873593)
_Word = TypeVar("_Word", np.uint32, np.uint64)


def murmur3(messages: Sequence[bytes], seed: int | NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return MurmurHash3 (x86, 32 bits), as Appleby's reference code does.

    Examples
    --------
    >>> murmur3([b"hello", b"", b"hell"], 0).tolist(), murmur3([b""], np.array([1, 2])).tolist()
    ([613153351, 0, 2707938291], [1364076727, 821347078])
    """
    blocks, lengths = blocks_of(messages, np.uint32)
    whole = lengths // 4
    seeds = np.asarray(seed, dtype=np.uint32)
    h = np.broadcast_to(seeds, np.broadcast_shapes(seeds.shape, (len(blocks),))).copy()
    for place in range(int(whole.max(initial=0))):
        mixed = h ^ _scrambled(blocks[:, place])
        mixed = _turned(mixed, 13) * np.uint32(5) + np.uint32(0xE6546B64)
        h = np.where(place < whole, mixed, h)
    # What is left over of a message is one block more; of nothing it is 0, which changes nothing.
    h ^= _scrambled(blocks[np.arange(len(blocks)), whole])
    h ^= lengths.astype(np.uint32)
    h = (h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    h = (h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return np.asarray(h ^ (h >> np.uint32(16)))


def blocks_of(
    messages: Sequence[bytes], word: type[_Word]
) -> tuple[NDArray[_Word], NDArray[np.int64]]:
    """Return messages as rows of little-endian words with zeros behind, and their lengths.

    There is always room for one block more than the longest message fills.
    """
    size = np.dtype(word).itemsize
    lengths = np.array([len(each) for each in messages], dtype=np.int64)
    wide = size * (int(lengths.max(initial=0)) // size + 1)
    joined = b"".join(each.ljust(wide, b"\0") for each in messages)
    little = np.frombuffer(joined, dtype=np.dtype(word).newbyteorder("<"))
    return little.reshape(len(messages), wide // size).astype(word), lengths


def _scrambled(k: NDArray[np.uint32]) -> NDArray[np.uint32]:
    return _turned(k * _C1, 15) * _C2


def _turned(x: NDArray[np.uint32], by: int) -> NDArray[np.uint32]:
    return (x << np.uint32(by)) | (x >> np.uint32(32 - by))
