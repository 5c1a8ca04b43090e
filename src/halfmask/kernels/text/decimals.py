"""Numbers as JSON and prices write them, exactly: whole units and how many digits lie behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.kernels.compiling import njit_no_nrt

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["LONG", "MOST_DIGITS", "NONE", "parse_decimals"]

MOST_DIGITS = 18
#: What stands in the places of a text that is no number, and of one with too many digits.
NONE, LONG = -1, -2


@njit_no_nrt
def _exponent(data: NDArray[np.uint8], at: int, stop: int) -> tuple[int, int]:
    """Return an exponent and its end; an end of -1 where there is none."""
    negative = at < stop and data[at] == 45
    if at < stop and (data[at] == 45 or data[at] == 43):
        at += 1
    power, first = 0, at
    while at < stop and 48 <= data[at] <= 57:
        power = min(power * 10 + data[at] - 48, 1_000_000)
        at += 1
    return -power if negative else power, at if at > first else -1


@njit_no_nrt
def _one(data: NDArray[np.uint8], at: int, stop: int) -> tuple[int, int, int]:
    """Return the units and the places of a number, and where it ends."""
    negative = at < stop and data[at] == 45
    at += negative
    units, digits, places, point, long = 0, 0, 0, False, False
    first = at
    while at < stop:
        digit = int(data[at]) - 48
        if 0 <= digit <= 9:
            if digits < MOST_DIGITS:
                units = units * 10 + digit
                digits += units > 0
                places += point
            else:
                long = True
        elif data[at] == 46 and not point and at > first:
            point = True
        else:
            break
        at += 1
    if at == first or data[at - 1] == 46:
        return 0, NONE, at
    if at < stop and (data[at] == 101 or data[at] == 69):
        power, end = _exponent(data, at + 1, stop)
        # Behind the number stands a unit that begins with an e.
        if end >= 0:
            places -= power
            at = end
    while places < 0 and digits < MOST_DIGITS and not long:
        units *= 10
        digits += units > 0
        places += 1
        if units == 0:
            places = 0
    while places > MOST_DIGITS and units % 10 == 0:
        units //= 10
        places = places - 1 if units else 0
    if long or not 0 <= places <= MOST_DIGITS:
        return 0, LONG, at
    return -units if negative else units, places, at


@njit_no_nrt
def parse_decimals(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    units: NDArray[np.int64],
    places: NDArray[np.int8],
    ends: NDArray[np.int64],
) -> None:
    """Read the number that each text begins with.

    Parameters
    ----------
    data, starts, stops
        Texts: where each begins and ends in the bytes.
    units
        Written: the number times ten to its places; 0 where there is none.
    places
        Written: digits behind the point, 0 to 18; `NONE` or `LONG`, which has more digits.
    ends
        Written: where the number ends.

    Notes
    -----
    ``7.99`` has 799 units and 2 places, ``1e3`` 1000 and 0, ``1.50`` 150 and 2.
    """
    for i in range(len(starts)):
        units[i], places[i], ends[i] = _one(data, starts[i], stops[i])
