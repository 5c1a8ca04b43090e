"""Values of JSON that hold no others: numbers and words, and the white space around them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import inlined, njit_unchecked
from halfmask.kernels.text.wide_loads import WIDTH, digits_at, lowest, peek, word_at

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
_MINUS, _PLUS, _POINT, _E = 45, 43, 46, 101
_NONE = np.uint64(0)
_FOUR_BYTES, _FIVE_BYTES = np.uint64(0xFFFFFFFF), np.uint64(0xFFFFFFFFFF)
_NULL_WORD = np.uint64(int.from_bytes(b"null", "little"))
_TRUE_WORD = np.uint64(int.from_bytes(b"true", "little"))
_FALSE_WORD = np.uint64(int.from_bytes(b"false", "little"))


@inlined
def after_space(data: NDArray[np.uint8], at: int) -> int:
    """Return the place of the next byte that isn't a space, tab or return; a line end isn't.

    Parameters
    ----------
    data, at
        JSON, and where to look; a line end follows the last byte, and 64 bytes can be read behind
        it.
    """
    byte = peek(data, at)
    while byte == 32 or byte == 9 or byte == 13:  # noqa: PLR1714 # no set in a kernel
        at += 1
        byte = peek(data, at)
    return at


@njit_unchecked
def _digits_end(data: NDArray[np.uint8], at: int) -> int:
    """Return where digits end, one at least; -1 without any."""
    first = at
    while 48 <= peek(data, at) <= 57:
        at += 1
    return at if at > first else -1


@njit_unchecked
def _long_number_end(data: NDArray[np.uint8], at: int) -> int:
    """Return what `number_end` does, of a number of any length and form."""
    if peek(data, at) == _MINUS:
        at += 1
    if peek(data, at) == 48:
        at += 1
    else:
        at = _digits_end(data, at)
        if at < 0:
            return -1
    broken = 0
    if peek(data, at) == _POINT:
        broken = 1
        at = _digits_end(data, at + 1)
        if at < 0:
            return -1
    if peek(data, at) | 32 == _E:
        broken = 1
        at += 1
        if peek(data, at) == _PLUS or peek(data, at) == _MINUS:
            at += 1
        at = _digits_end(data, at)
        if at < 0:
            return -1
    return 2 * at + broken


@inlined
def number_end(data: NDArray[np.uint8], at: int) -> int:
    """Return twice the place behind a number, plus one if it has a point or exponent; else -1.

    Parameters
    ----------
    data, at
        JSON, and where to look; a line end follows the last byte, and 64 bytes can be read behind
        it.
    """
    first = at
    if peek(data, at) == _MINUS:
        at += 1
    others = ~digits_at(data, at)
    whole = lowest(others)
    if whole == 0 or (whole > 1 and peek(data, at) == 48):
        return -1
    at += whole
    broken = 0
    if peek(data, at) == _POINT:
        others = others >> np.uint64(whole + 1) if whole < WIDTH - 1 else _NONE
        places = lowest(others)
        if places == 0:
            return -1
        if others == _NONE:
            return _long_number_end(data, first)
        at += places + 1
        broken = 1
    if whole == WIDTH or peek(data, at) | 32 == _E:
        return _long_number_end(data, first)
    return 2 * at + broken


@njit_unchecked
def word_kind(data: NDArray[np.uint8], at: int) -> int:
    """Return the kind of a value that is a word: null, false or true; 0 if it is none.

    Parameters
    ----------
    data, at
        JSON, and where to look; a line end follows the last byte, and 64 bytes can be read behind
        it.
    """
    word = word_at(data, at)
    if word & _FOUR_BYTES == _TRUE_WORD:
        return TRUE
    if word & _FOUR_BYTES == _NULL_WORD:
        return NULL
    return FALSE if word & _FIVE_BYTES == _FALSE_WORD else 0
