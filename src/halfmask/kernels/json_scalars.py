"""Values of JSON that hold no others: numbers and words, and the white space around them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.lean import swift
from halfmask.kernels.wide_loads import word_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "FALSE",
    "INTEGER",
    "NULL",
    "NUMBER",
    "TRUE",
    "after_space",
    "number_end",
    "word_kind",
]

#: The kinds that `halfmask.events` has for them.
NULL, FALSE, TRUE, INTEGER, NUMBER = 1, 2, 3, 4, 5
_MINUS, _PLUS, _POINT = 45, 43, 46
_FOUR_BYTES, _FIVE_BYTES = np.uint64(0xFFFFFFFF), np.uint64(0xFFFFFFFFFF)
_NULL_WORD = np.uint64(int.from_bytes(b"null", "little"))
_TRUE_WORD = np.uint64(int.from_bytes(b"true", "little"))
_FALSE_WORD = np.uint64(int.from_bytes(b"false", "little"))


@swift
def after_space(data: NDArray[np.uint8], at: int) -> int:
    """Return the place of the next byte that isn't a space, tab or return; a line end isn't.

    Parameters
    ----------
    data, at
        JSON, and where to look; a line end follows the last byte, and eight bytes can be read
        behind it.
    """
    while data[at] == 32 or data[at] == 9 or data[at] == 13:
        at += 1
    return at


@swift
def _digits_end(data: NDArray[np.uint8], at: int) -> int:
    """Return where digits end, of which there must be one; else -1."""
    first = at
    while 48 <= data[at] <= 57:
        at += 1
    return at if at > first else -1


@swift
def number_end(data: NDArray[np.uint8], at: int) -> int:
    """Return twice the place behind a number, plus one if it has a point or exponent; else -1.

    Parameters
    ----------
    data, at
        JSON, and where to look; a line end follows the last byte, and eight bytes can be read
        behind it.
    """
    if data[at] == _MINUS:
        at += 1
    if data[at] == 48:
        at += 1
    else:
        at = _digits_end(data, at)
        if at < 0:
            return -1
    broken = 0
    if data[at] == _POINT:
        broken = 1
        at = _digits_end(data, at + 1)
        if at < 0:
            return -1
    if data[at] == 101 or data[at] == 69:
        broken = 1
        at += 1
        if data[at] == _PLUS or data[at] == _MINUS:
            at += 1
        at = _digits_end(data, at)
        if at < 0:
            return -1
    return 2 * at + broken


@swift
def word_kind(data: NDArray[np.uint8], at: int) -> int:
    """Return the kind of a value that is a word: null, false or true; 0 if it is none.

    Parameters
    ----------
    data, at
        JSON, and where to look; a line end follows the last byte, and eight bytes can be read
        behind it.
    """
    word = word_at(data, at)
    if word & _FOUR_BYTES == _TRUE_WORD:
        return TRUE
    if word & _FOUR_BYTES == _NULL_WORD:
        return NULL
    return FALSE if word & _FIVE_BYTES == _FALSE_WORD else 0
