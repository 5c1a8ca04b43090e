"""Numbers as JSON writes them, whole columns at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.lean import swift

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LONGEST", "write_decimals"]

#: How many bytes a number of 64 bits has at most: a sign, a zero, a point and 19 digits.
LONGEST = 22
_TEN = np.uint64(10)
_MINUS, _POINT, _ZERO = 45, 46, 48


@swift
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
            value = units[i]
            # The least number of 64 bits has no positive counterpart.
            rest = np.uint64(-(value + 1)) + np.uint64(1) if value < 0 else np.uint64(value)
            digits = 1
            left = rest // _TEN
            while left:
                left //= _TEN
                digits += 1
            if digits <= decimals:
                digits = decimals + 1
            if value < 0:
                data[at] = _MINUS
                at += 1
            end = at + digits + (1 if decimals > 0 else 0)
            place = end
            for k in range(digits):
                if k == decimals and k > 0:
                    place -= 1
                    data[place] = _POINT
                place -= 1
                following = rest // _TEN
                data[place] = np.uint8(rest - following * _TEN) + _ZERO
                rest = following
            at = end
        stops[i] = at
    return at
