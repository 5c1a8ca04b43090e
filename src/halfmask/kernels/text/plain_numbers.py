"""Numbers as most files write them: a sign, digits, a point, digits, an exponent.

A number with a zero in front of other digits isn't plain: it may be a name, such as 007.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit_unchecked
from halfmask.kernels.text.wide_loads import word_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["POWERS", "number_at", "whole_at"]

#: Floats hold them exactly, up to here.
POWERS = np.array([10.0**n for n in range(23)])
_MOST = np.uint64(1) << np.uint64(53)
_ZEROS = np.uint64(0x3030303030303030)
_TEN, _EIGHT = np.uint64(10), np.uint64(8)


@njit_unchecked
def _up_to_eight_digits(data: NDArray[np.uint8], start: int, length: int) -> int:
    """Return a number of 1 to 8 digits, or -1 if one of them isn't one."""
    # What isn't there in front is read as zeros.
    shift = (_EIGHT - np.uint64(length)) * _EIGHT
    word = word_at(data, start) << shift
    if length < 8:
        word |= _ZEROS >> (np.uint64(64) - shift)
    digits = word ^ _ZEROS
    if ((digits + np.uint64(0x7676767676767676)) | digits) & np.uint64(0x8080808080808080):
        return -1
    pairs = (digits * _TEN + (digits >> _EIGHT)) & np.uint64(0x00FF00FF00FF00FF)
    fours = (pairs * np.uint64(100) + (pairs >> np.uint64(16))) & np.uint64(0x0000FFFF0000FFFF)
    return int((fours * np.uint64(10000) + (fours >> np.uint64(32))) & np.uint64(0xFFFFFFFF))


@njit_unchecked
def _zero_in_front(data: NDArray[np.uint8], at: int, stop: int) -> bool:
    """Return whether a zero stands there, and a digit behind it."""
    return bool(at + 1 < stop and data[at] == 48 and 48 <= data[at + 1] <= 57)


@njit_unchecked
def number_at(data: NDArray[np.uint8], start: int, stop: int) -> float:
    """Return the float nearest to a number, or infinity where it isn't plain.

    Parameters
    ----------
    data
        Text; eight bytes can be read from the start on.
    start, stop
        Where the number begins and ends; at least one byte.

    Notes
    -----
    Up to 53 bits of digits and 22 powers of ten, one rounding is all there is: Clinger, "How to
    read floating point numbers accurately" (PLDI 1990). Anything else isn't plain.
    """
    negative = data[start] == 45
    at = start + 1 if negative else start
    if _zero_in_front(data, at, stop):
        return np.inf
    if stop - start <= 8:
        found = _up_to_eight_digits(data, start, stop - start)
        if found >= 0:
            return float(found)
    digits, decimals, seen, point = np.uint64(0), 0, 0, False
    while at < stop and seen < 19:
        digit = data[at] - 48
        if 0 <= digit <= 9:
            digits = digits * _TEN + np.uint64(digit)
            seen += 1
            decimals += point
        elif data[at] == 46 and not point:
            point = True
        else:
            break
        at += 1
    if at < stop and (data[at] == 101 or data[at] == 69):
        power, at = _exponent(data, at + 1, stop)
        decimals -= power
    if at != stop or seen in (0, 19) or digits > _MOST or abs(decimals) > 22:
        return np.inf
    value = float(digits)
    value = value / POWERS[decimals] if decimals >= 0 else value * POWERS[-decimals]
    # Zero has no sign.
    return float(0.0 - value if negative else value)


@njit_unchecked
def _exponent(data: NDArray[np.uint8], at: int, stop: int) -> tuple[int, int]:
    """Return an exponent and its end; where there is none, an end that is none."""
    negative = at < stop and data[at] == 45
    if negative or (at < stop and data[at] == 43):
        at += 1
    power, first = 0, at
    while at < stop and 48 <= data[at] <= 57 and power < 1000:
        power = power * 10 + data[at] - 48
        at += 1
    return -power if negative else power, at if at > first else -1


@njit_unchecked
def whole_at(data: NDArray[np.uint8], start: int, stop: int, found: NDArray[np.int64]) -> bool:
    """Write a whole number of up to 18 digits; return whether it is one."""
    negative = data[start] == 45
    at = start + 1 if negative else start
    if at == stop or stop - at > 18 or _zero_in_front(data, at, stop):
        return False
    value = 0
    while at < stop:
        digit = int(data[at]) - 48
        if not 0 <= digit <= 9:
            return False
        value = value * 10 + digit
        at += 1
    found[0] = -value if negative else value
    return True
