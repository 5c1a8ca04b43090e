"""Words and runs of characters of texts, hashed.

A *word* is a longest run of ASCII letters, digits, underscores and bytes beyond ASCII. A text is
cleaned first: its words in order, ASCII letters lowered, with one space before each and one behind
the last; a text without words is empty. No table of Unicode is asked, so that another language, or
another version, finds the same words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit_no_nrt
from halfmask.kernels.hashing.siphash_rounds import Word, hash_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.kernels.hashing.siphash import Offsets

__all__ = ["clean_texts", "count_grams", "hash_grams"]

SPACE = np.uint8(0x20)
#: In UTF-8, a byte that begins no character has 10 as its upper bits.
UPPER, WITHIN = np.uint8(0xC0), np.uint8(0x80)


@njit_no_nrt
def clean_texts(
    offsets: Offsets,
    data: NDArray[np.uint8],
    letters: NDArray[np.uint8],
    clean_offsets: NDArray[np.int64],
    clean: NDArray[np.uint8],
) -> None:
    """Write each text cleaned.

    Parameters
    ----------
    offsets, data
        The texts, as of :func:`halfmask.kernels.hashing.siphash.hash_texts`.
    letters
        For each of the 256 bytes what it becomes in a word; 0 where it is between words.
    clean_offsets
        Written: where each cleaned text begins, and the end of the last.
    clean
        Written; two bytes longer for each text than all texts are.
    """
    at = 0
    for i in range(len(offsets) - 1):
        clean_offsets[i] = at
        start = at
        within = False
        for j in range(offsets[i], offsets[i + 1]):
            letter = letters[data[j]]
            if letter:
                if not within:
                    clean[at] = SPACE
                    at += 1
                clean[at] = letter
                at += 1
            within = letter != 0
        if at > start:
            clean[at] = SPACE
            at += 1
    clean_offsets[len(offsets) - 1] = at


@njit_no_nrt
def _begins(clean: NDArray[np.uint8], at: int, by_word: bool) -> bool:  # noqa: FBT001 # a kernel
    if by_word:
        return bool(clean[at - 1] == SPACE)
    return bool(clean[at] & UPPER != WITHIN)


@njit_no_nrt
def count_grams(
    offsets: NDArray[np.int64],
    clean: NDArray[np.uint8],
    by_word: bool,  # noqa: FBT001 # a kernel
    low: int,
    high: int,
    counts: NDArray[np.int64],
) -> None:
    """Write how many runs of ``low`` to ``high`` words, or characters, each text has.

    Parameters
    ----------
    offsets, clean
        The cleaned texts.
    by_word
        Whether runs are of words.
    low, high
        The shortest and the longest run, at least 1.
    counts
        Written, one for each text.
    """
    for i in range(len(counts)):
        units = 0
        for at in range(offsets[i] + (1 if by_word else 0), offsets[i + 1]):
            units += 1 if _begins(clean, at, by_word) else 0
        total = 0
        for size in range(low, high + 1):
            total += units - size + 1 if units >= size else 0
        counts[i] = total


@njit_no_nrt
def hash_grams(
    offsets: NDArray[np.int64],
    clean: NDArray[np.uint8],
    by_word: bool,  # noqa: FBT001 # a kernel
    low: int,
    high: int,
    key0: Word,
    key1: Word,
    bounds: NDArray[np.int64],
    hashes: NDArray[np.uint64],
) -> None:
    """Write the hash of each run of words or characters, text by text, short runs first.

    Parameters
    ----------
    offsets, clean, by_word, low, high
        As of :func:`count_grams`.
    key0, key1
        The key.
    bounds
        Room to work in: one more than the longest cleaned text has bytes.
    hashes
        Written; as many as :func:`count_grams` counted.
    """
    # A run of words ends before the space behind it, and words begin behind the first space.
    cut = 1 if by_word else 0
    written = 0
    for i in range(len(offsets) - 1):
        units = 0
        for at in range(offsets[i] + cut, offsets[i + 1]):
            if _begins(clean, at, by_word):
                bounds[units] = at
                units += 1
        bounds[units] = offsets[i + 1]
        for size in range(low, high + 1):
            for first in range(units - size + 1):
                start, end = bounds[first], bounds[first + size] - cut
                hashes[written] = hash_bytes(clean, Word(start), Word(end), key0, key1)
                written += 1
