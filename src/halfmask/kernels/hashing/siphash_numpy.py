"""SipHash-2-4 without a compiler: what :mod:`halfmask.kernels.hashing.siphash` does, by numpy.

The same functions with the same parameters and the same numbers, some ten times slower: for a
client on whose machine numba can't be had.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["bin_codes", "hash_texts", "hash_views", "hash_words", "place", "place_hashes"]

C0, C1 = np.uint64(0x736F6D6570736575), np.uint64(0x646F72616E646F6D)
C2, C3 = np.uint64(0x6C7967656E657261), np.uint64(0x7465646279746573)
#: Texts that are hashed at once: their states and words stay in the cache.
BLOCK = 1 << 14
_BEHIND = np.zeros(8, np.uint8)


class _States:
    """The four words of state of many messages."""

    def __init__(self, key0: np.uint64, key1: np.uint64, size: int) -> None:
        self.v = [np.full(size, key ^ c) for key, c in zip((key0, key1) * 2, (C0, C1, C2, C3))]  # noqa: B905 # four of each

    def absorb(self, words: NDArray[np.uint64], rows: slice) -> None:
        """Take in one word of each message of some rows."""
        v = [each[rows] for each in self.v]
        v[3] ^= words
        _rounds(v, 2)
        v[0] ^= words

    def finish(self) -> NDArray[np.uint64]:
        """Return the hashes."""
        self.v[2] ^= np.uint64(0xFF)
        _rounds(self.v, 4)
        v0, v1, v2, v3 = self.v
        return v0 ^ v1 ^ v2 ^ v3


def _rounds(v: list[NDArray[np.uint64]], rounds: int) -> None:
    """Turn the states, in place."""
    v0, v1, v2, v3 = v
    for _ in range(rounds):
        for one, other, bits in ((v0, v1, 13), (v2, v3, 16)):
            np.add(one, other, out=one)
            _rotate(other, bits)
            np.bitwise_xor(other, one, out=other)
        _rotate(v0, 32)
        for one, other, bits in ((v0, v3, 21), (v2, v1, 17)):
            np.add(one, other, out=one)
            _rotate(other, bits)
            np.bitwise_xor(other, one, out=other)
        _rotate(v2, 32)


def _rotate(words: NDArray[np.uint64], bits: int) -> None:
    right = words >> np.uint64(64 - bits)
    words <<= np.uint64(bits)
    words |= right


def hash_texts(
    offsets: NDArray[np.int32] | NDArray[np.int64],
    data: NDArray[np.uint8],
    key0: np.uint64,
    key1: np.uint64,
    hashes: NDArray[np.uint64],
) -> None:
    """Write the hash of each text; see `siphash.hash_texts`."""
    starts = offsets[:-1].astype(np.int64)
    lengths = offsets[1:].astype(np.int64) - starts
    # The last text's last word reaches over its end.
    padded = np.concatenate([data, _BEHIND])
    # Longest first, so that those which still have words come before the others.
    order = np.argsort(-lengths, kind="stable")
    for first in range(0, len(order), BLOCK):
        rows = order[first : first + BLOCK]
        hashes[rows] = _hashed(padded, starts[rows], lengths[rows], key0, key1)


def _hashed(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    key0: np.uint64,
    key1: np.uint64,
) -> NDArray[np.uint64]:
    """Return the hashes of texts that get shorter."""
    states = _States(key0, key1, len(starts))
    whole = lengths // 8
    for step in range(int(whole[0]) if len(whole) else 0):
        left = int(np.searchsorted(-whole, -step, side="left"))
        states.absorb(_words(data, starts[:left] + 8 * step), slice(left))
    rest = (lengths % 8).astype(np.uint64)
    kept = (np.uint64(1) << (rest * np.uint64(8))) - np.uint64(1)
    last = _words(data, starts + 8 * whole) & kept
    states.absorb(last | (lengths.astype(np.uint64) << np.uint64(56)), slice(None))
    return states.finish()


def _words(data: NDArray[np.uint8], starts: NDArray[np.int64]) -> NDArray[np.uint64]:
    pieces = data[starts[:, None] + np.arange(8)]
    return np.asarray(pieces.view("<u8").reshape(len(starts)), np.uint64)


def hash_views(
    views: NDArray[np.uint64], key0: np.uint64, key1: np.uint64, hashes: NDArray[np.uint64]
) -> None:
    """Write the hash of each short text; see `siphash.hash_views`."""
    lengths = (views[:, 0] & np.uint64(0xFFFFFFFF)).astype(np.int64)
    starts = 16 * np.arange(len(views), dtype=np.int64) + 4
    data = np.concatenate([np.ascontiguousarray(views, "<u8").reshape(-1).view(np.uint8), _BEHIND])
    # Longest first, so that those which still have words come before the others.
    order = np.argsort(-lengths, kind="stable")
    for first in range(0, len(order), BLOCK):
        rows = order[first : first + BLOCK]
        hashes[rows] = _hashed(data, starts[rows], lengths[rows], key0, key1)


def hash_words(
    words: NDArray[np.uint64], key0: np.uint64, key1: np.uint64, hashes: NDArray[np.uint64]
) -> None:
    """Write the hash of each row of words; see `siphash.hash_words`."""
    end = np.uint64((8 * words.shape[1] & 0xFF) << 56)
    for first in range(0, len(words), BLOCK):
        some = words[first : first + BLOCK]
        states = _States(key0, key1, len(some))
        for word in some.T:
            states.absorb(word, slice(None))
        states.absorb(np.full(len(some), end), slice(None))
        hashes[first : first + BLOCK] = states.finish()


def bin_codes(
    numbers: NDArray[np.float64], edges: NDArray[np.float64], codes: NDArray[np.int32]
) -> None:
    """Write how many edges are at most each number; see `siphash.bin_codes`."""
    codes[:] = np.searchsorted(edges, numbers, side="right")
    codes[np.isnan(numbers)] = len(edges) + 1


def place(
    table: NDArray[np.uint32],
    codes: NDArray[np.int32],
    first: int,
    slot: int,
    indices: NDArray[np.uint32],
) -> None:
    """Write the index of each row's code into a slot; see `siphash.place`."""
    indices[first : first + len(codes), slot] = table[codes]


def place_hashes(
    hashes: NDArray[np.uint64],
    mask: np.uint64,
    first: int,
    slot: int,
    indices: NDArray[np.uint32],
) -> None:
    """Write the lower bits of each hash; see `siphash.place_hashes`."""
    indices[first : first + len(hashes), slot] = hashes & mask
