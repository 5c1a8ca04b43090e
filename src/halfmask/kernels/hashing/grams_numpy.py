"""Words and runs of characters without a compiler: what `halfmask.kernels.hashing.grams` does."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.hashing.siphash_numpy import hash_texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["clean_texts", "count_grams", "hash_grams"]


def clean_texts(
    offsets: NDArray[np.int32] | NDArray[np.int64],
    data: NDArray[np.uint8],
    letters: NDArray[np.uint8],
    clean_offsets: NDArray[np.int64],
    clean: NDArray[np.uint8],
) -> None:
    """Write each text cleaned; see `halfmask.kernels.hashing.grams.clean_texts`."""
    table = bytes(letter or 0x20 for letter in letters.tolist())
    spaced = data.tobytes().translate(table)
    bounds = offsets.tolist()
    texts = []
    for start, end in pairwise(bounds):
        words = [word for word in spaced[start:end].split(b" ") if word]
        texts.append(b" ".join([b"", *words, b""]) if words else b"")
    clean_offsets[0] = 0
    np.cumsum([len(text) for text in texts], out=clean_offsets[1:])
    joined = np.frombuffer(b"".join(texts), np.uint8)
    clean[: len(joined)] = joined


def count_grams(
    offsets: NDArray[np.int64],
    clean: NDArray[np.uint8],
    by_word: bool,  # noqa: FBT001 # as of the kernel
    low: int,
    high: int,
    counts: NDArray[np.int64],
) -> None:
    """Write how many runs each text has; see `halfmask.kernels.hashing.grams.count_grams`."""
    for i, bounds in enumerate(_bounds(offsets, clean, by_word=by_word)):
        units = len(bounds) - 1
        counts[i] = sum(max(0, units - size + 1) for size in range(low, high + 1))


def hash_grams(
    offsets: NDArray[np.int64],
    clean: NDArray[np.uint8],
    by_word: bool,  # noqa: FBT001 # as of the kernel
    low: int,
    high: int,
    key0: np.uint64,
    key1: np.uint64,
    bounds: NDArray[np.int64],
    hashes: NDArray[np.uint64],
) -> None:
    """Write the hash of each run; see `halfmask.kernels.hashing.grams.hash_grams`."""
    del bounds  # the kernel's room
    data, cut = clean.tobytes(), 1 if by_word else 0
    found = [
        data[edges[first] : edges[first + size] - cut]
        for edges in _bounds(offsets, clean, by_word=by_word)
        for size in range(low, high + 1)
        for first in range(len(edges) - size)
    ]
    ends = np.cumsum([0, *(len(run) for run in found)])
    hash_texts(ends, np.frombuffer(b"".join(found), np.uint8), key0, key1, hashes)


def _bounds(
    offsets: NDArray[np.int64], clean: NDArray[np.uint8], *, by_word: bool
) -> list[list[int]]:
    """Return where each text's words or characters begin, and the end of the last."""
    begins = np.empty(len(clean), np.bool_)
    if by_word:
        begins[:1] = False
        begins[1:] = clean[:-1] == 0x20
    else:
        begins[:] = clean & 0xC0 != 0x80
    found = []
    for start, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        first = start + 1 if by_word else start
        within = np.flatnonzero(begins[first:end]) + first
        found.append([*within.tolist(), end])
    return found
