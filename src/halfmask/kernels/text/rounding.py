"""Numbers of JSON rounded to multiples of a step, from token to token.

Prices and quantities come again and again: what became of a short one is remembered, and written
again as it stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit_unchecked
from halfmask.kernels.text.json_numbers import put_decimal
from halfmask.kernels.text.json_tokens import SPREAD, word_of
from halfmask.kernels.text.wide_loads import lowest, peek, poke, put_word

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DOWN", "MEMORY", "NEAREST", "UP", "round_tokens"]

#: How many words are remembered tokens: of each its bytes, and those of what became of it with
#: their number; the rest of its four is empty.
MEMORY = 1 << 12

#: Where to; ties go to the even multiple.
NEAREST, DOWN, UP = 0, 1, 2
_NULL, _INTEGER, _NUMBER = 1, 4, 5
#: Bytes of a word.
_WORD = 8
_MINUS, _POINT, _MOST_DIGITS = 45, 46, 18
_EIGHT, _TEN = np.uint64(8), np.uint64(10)
_NONE, _ONE = np.uint64(0), np.uint64(1)
_POINTS, _ZEROS = np.uint64(0x2E2E2E2E2E2E2E2E), np.uint64(0x3030303030303030)
#: A number's place among those that are remembered: the upper bits of its product.
_UPPER = np.uint64(54)
_ONES, _HIGHS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)


@njit_unchecked
def _digits(word: np.uint64, count: int) -> int:
    """Return the number that 1 to 8 digits are, the first in the lowest byte; -1 if they aren't."""
    if count < 8:
        word = (word << (np.uint64(8 - count) * _EIGHT)) | (_ZEROS >> (np.uint64(count) * _EIGHT))
    found = word ^ _ZEROS
    if ((found + np.uint64(0x7676767676767676)) | found) & _HIGHS:
        return -1
    pairs = (found * _TEN + (found >> _EIGHT)) & np.uint64(0x00FF00FF00FF00FF)
    fours = (pairs * np.uint64(100) + (pairs >> np.uint64(16))) & np.uint64(0x0000FFFF0000FFFF)
    eight = (fours * np.uint64(10000) + (fours >> np.uint64(32))) & np.uint64(0xFFFFFFFF)
    return np.int64(eight)  # type: ignore[return-value] # an int to the compiler


@njit_unchecked
def _short(word: np.uint64, length: int) -> tuple[int, int]:
    """Return the units and places of a number of 1 to 8 bytes without sign; places of -1: none."""
    marks = word ^ _POINTS
    point = (marks - _ONES) & ~marks & _HIGHS
    places = 0
    if point != _NONE:
        at = lowest(point) >> 3
        before = (_ONE << (np.uint64(at) * _EIGHT)) - _ONE
        word = (word & before) | ((word >> _EIGHT) & ~before)
        places = length - 1 - at
        length -= 1
    if length == 0:
        return 0, -1
    units = _digits(word, length)
    return (units, places) if units >= 0 else (0, -1)


@njit_unchecked
def _long(data: NDArray[np.uint8], at: int, stop: int) -> tuple[int, int]:
    """Return the units and places of a number without sign and exponent; places of -1: none."""
    units, digits, places, point = 0, 0, 0, False
    for i in range(at, stop):
        byte = int(peek(data, i))
        if byte == _POINT and not point:
            point = True
        elif 48 <= byte <= 57 and digits < _MOST_DIGITS:
            units = units * 10 + byte - 48
            digits += 1
            places += point
        else:
            return 0, -1
    return (units, places) if digits else (0, -1)


@njit_unchecked
def _steps_in(units: int, step: int, to: int) -> int:
    """Return how many steps a number is: the nearest whole number, that below or above."""
    below = units // step
    rest = units - below * step
    if to == NEAREST:
        if rest > step - rest or (rest == step - rest and below & 1):
            below += 1
    elif to == UP and rest > 0:
        below += 1
    return below


@njit_unchecked
def _steps_of(
    data: NDArray[np.uint8],
    start: int,
    stop: int,
    steps: NDArray[np.int64],
    powers: NDArray[np.int64],
    decimals: int,
    to: int,
) -> tuple[int, bool]:
    """Return how many steps a token is, and whether it is a number that is rounded here."""
    negative = peek(data, start) == _MINUS
    if negative:
        start += 1
    length = stop - start
    if 0 < length <= _WORD:
        units, places = _short(word_of(data, start, length), length)
    else:
        units, places = _long(data, start, stop)
    if places < 0:
        return 0, False
    finer = places - decimals
    if finer < 0:
        if units >= powers[_MOST_DIGITS + finer]:
            return 0, False
        units *= powers[-finer]
        finer = 0
    if steps[finer] <= 0:
        return 0, False
    return _steps_in(-units if negative else units, steps[finer], to), True


@njit_unchecked
def round_tokens(
    data: NDArray[np.uint8],
    kinds: NDArray[np.uint8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    steps: NDArray[np.int64],
    powers: NDArray[np.int64],
    decimals: int,
    to: int,
    memory: NDArray[np.uint64],
    out: NDArray[np.uint8],
    became: NDArray[np.uint8],
    begins: NDArray[np.int64],
    ends: NDArray[np.int64],
    left: NDArray[np.bool_],
) -> int:
    """Round numbers of up to 18 digits without exponent, on their decimal digits.

    Parameters
    ----------
    data, kinds, starts, stops
        Tokens of JSON. NULL stays.
    steps
        The step's units times each power of ten from 0 on; 0 where that is too large.
    powers
        The powers of ten, 0 to 18.
    decimals
        The step's places, 0 to 18: so many digits are written behind the point.
    to
        `NEAREST`, `DOWN` or `UP`.
    memory
        Written: `MEMORY` words, zeros at first, for one step and direction.
    out
        Written; `json_numbers.LONGEST` bytes for each slot.
    became, begins, ends
        Written: the kind of what was made, and where it stands.
    left
        Written: which slots have something else, that isn't rounded here.

    Returns
    -------
    int
        How many are left.
    """
    at, others = 0, 0
    kind = _NUMBER if decimals > 0 else _INTEGER
    for i in range(len(kinds)):
        begins[i] = at
        became[i] = 0
        left[i] = False
        if kinds[i] == _INTEGER or kinds[i] == _NUMBER:
            start, stop = starts[i], stops[i]
            word = word_of(data, start, stop - start) if stop - start <= _WORD else _NONE
            place = np.int64((word * SPREAD) >> _UPPER) << 2
            if word != _NONE and peek(memory, place) == word:
                put_word(out, at, peek(memory, place + 1))
                at += np.int64(peek(memory, place + 2))  # type: ignore[assignment] # as above
                poke(became, i, kind)
                ends[i] = at
                continue
            count, fits = _steps_of(data, start, stop, steps, powers, decimals, to)
            if fits:
                begin = at
                at = put_decimal(out, at, count * steps[0], decimals)
                poke(became, i, kind)
                if word != _NONE and at - begin <= _WORD:
                    poke(memory, place, word)
                    poke(memory, place + 1, word_of(out, begin, at - begin))
                    poke(memory, place + 2, np.uint64(at - begin))
            else:
                left[i] = True
                others += 1
        elif kinds[i] == _NULL:
            became[i] = _NULL
        elif kinds[i] != 0:
            left[i] = True
            others += 1
        ends[i] = at
    return others
