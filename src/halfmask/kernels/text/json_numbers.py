"""Numbers as JSON writes them, whole columns at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit_unchecked
from halfmask.kernels.text.wide_loads import poke

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LONGEST", "put_decimal", "write_decimals"]

#: How many bytes a number of 64 bits has at most: a sign, a zero, a point and 19 digits.
LONGEST = 22
_NONE, _TEN, _HUNDRED, _THOUSAND = np.uint64(0), np.uint64(10), np.uint64(100), np.uint64(1000)
#: Of the largest number of 64 bits; no power of ten beyond it has as many bits.
_MOST_DIGITS = 19
_MINUS, _POINT, _ZERO = 45, 46, 48


@njit_unchecked
def put_decimal(data: NDArray[np.uint8], at: int, value: int, decimals: int) -> int:
    """Write a number; return the place behind it.

    Parameters
    ----------
    data, at
        Written; `LONGEST` bytes from the place on.
    value
        Units of ``10 ** -decimals``.
    decimals
        0 to 18; 0 writes no point.
    """
    if value < 0:
        poke(data, at, _MINUS)
        at += 1
    # The least number of 64 bits has no positive counterpart.
    rest = np.uint64(-(value + 1)) + np.uint64(1) if value < 0 else np.uint64(value)
    if decimals == 0 and rest < _HUNDRED:
        # Most whole numbers: without a loop whose end can't be foreseen.
        tens = rest // _TEN
        poke(data, at, np.uint8(tens) + _ZERO)
        at += 1 if tens > _NONE else 0
        poke(data, at, np.uint8(rest - tens * _TEN) + _ZERO)
        return at + 1
    if decimals == 1 and rest < _THOUSAND:
        tens, whole = rest // _HUNDRED, rest // _TEN
        poke(data, at, np.uint8(tens) + _ZERO)
        at += 1 if tens > _NONE else 0
        poke(data, at, np.uint8(whole - tens * _TEN) + _ZERO)
        poke(data, at + 1, _POINT)
        poke(data, at + 2, np.uint8(rest - whole * _TEN) + _ZERO)
        return at + 3
    digits = 1
    if rest >= _TEN:
        digits = 2
        power = _HUNDRED
        while rest >= power and digits < _MOST_DIGITS:
            power *= _TEN
            digits += 1
    if digits <= decimals:
        digits = decimals + 1
    end = at + digits + (1 if decimals > 0 else 0)
    place = end
    for k in range(digits):
        if k == decimals and k > 0:
            place -= 1
            poke(data, place, _POINT)
        place -= 1
        following = rest // _TEN
        poke(data, place, np.uint8(rest - following * _TEN) + _ZERO)
        rest = following
    return end


@njit_unchecked
def write_decimals(
    units: NDArray[np.int64],
    decimals: int,
    present: NDArray[np.bool_],
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
) -> int:
    """Write units of ``10 ** -decimals`` with as many digits behind the point.

    Parameters
    ----------
    units
        Whole numbers.
    decimals
        0 to 18; 0 writes no point.
    present
        Which of them are written.
    data
        Written; `LONGEST` bytes for each number.
    starts, stops
        Written: where each stands.

    Returns
    -------
    int
        How many bytes were written.
    """
    at = 0
    for i in range(len(units)):
        starts[i] = at
        if present[i]:
            at = put_decimal(data, at, units[i], decimals)
        stops[i] = at
    return at
