"""Times as ISO 8601 writes them, to microseconds and back.

A *time* is the number of microseconds since 1970-01-01T00:00 on the clock that the text is of: of
UTC where the text says how far it is from it, else of a clock that the caller knows. Dates are of
the proleptic Gregorian calendar, years 1 to 9999; days are counted as by H. Hinnant,
"chrono-compatible low-level date algorithms" (2013).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.kernels.compiling import njit_no_nrt

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "LONGEST",
    "NOT_A_TIME",
    "NO_ZONE",
    "ZONED",
    "parse_times",
    "put_time",
    "time_at",
    "write_times",
]

#: What a text is: no time, a time of an unknown clock, a time of UTC.
NOT_A_TIME, NO_ZONE, ZONED = 0, 1, 2
#: Bytes that a written time has at most: ``2014-09-04T22:57:55.123456+05:45:30``.
LONGEST = 35

_DAY = 86_400_000_000
_SECOND = 1_000_000
_ZERO, _COLON, _DASH, _PLUS, _POINT, _COMMA = 48, 58, 45, 43, 46, 44


@njit_no_nrt
def _digits(data: NDArray[np.uint8], at: int, n: int, stop: int) -> int:
    """Return a number of exactly n digits, or -1."""
    if at + n > stop:
        return -1
    value = 0
    for i in range(at, at + n):
        digit = int(data[i]) - _ZERO
        if not 0 <= digit <= 9:
            return -1
        value = value * 10 + digit
    return value


@njit_no_nrt
def _days(year: int, month: int, day: int) -> int:
    """Return the days from 1970-01-01."""
    year -= month <= 2
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


@njit_no_nrt
def _is_date(year: int, month: int, day: int) -> bool:
    if year < 1 or not 1 <= month <= 12 or day < 1:
        return False
    if month == 2:
        leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        return day <= (29 if leap else 28)
    return day <= (30 if month in (4, 6, 9, 11) else 31)


@njit_no_nrt
def _date(data: NDArray[np.uint8], at: int, stop: int) -> tuple[int, int]:
    """Return the days of a date and where it ends; an end of -1 where there is none."""
    year = _digits(data, at, 4, stop)
    dashed = at + 4 < stop and data[at + 4] == _DASH
    at += 5 if dashed else 4
    month = _digits(data, at, 2, stop)
    at += 2
    if dashed:
        if at >= stop or data[at] != _DASH:
            return 0, -1
        at += 1
    day = _digits(data, at, 2, stop)
    if not _is_date(year, month, day):
        return 0, -1
    return _days(year, month, day), at + 2


@njit_no_nrt
def _fraction(data: NDArray[np.uint8], at: int, stop: int) -> tuple[int, int]:
    """Return the microseconds of the digits behind a point, finer ones cut off, and their end."""
    first, value, scale = at, 0, 100_000
    while at < stop and 0 <= int(data[at]) - _ZERO <= 9:
        value += (int(data[at]) - _ZERO) * scale
        scale //= 10
        at += 1
    return value, at if at > first else -1


@njit_no_nrt
def _clock(data: NDArray[np.uint8], at: int, stop: int) -> tuple[int, int]:
    """Return the microseconds of a time of day and where it ends; an end of -1 if there's none."""
    hours = _digits(data, at, 2, stop)
    if not 0 <= hours <= 23:
        return 0, -1
    at += 2
    parted = at < stop and data[at] == _COLON
    at += parted
    minutes = _digits(data, at, 2, stop)
    if not 0 <= minutes <= 59:
        return 0, -1
    at += 2
    seconds = 0
    more = at < stop and (data[at] == _COLON if parted else 0 <= int(data[at]) - _ZERO <= 9)
    micros = 0
    if more:
        at += parted
        seconds = _digits(data, at, 2, stop)
        # A leap second is the first one of the next minute, as in POSIX.
        if not 0 <= seconds <= 60:
            return 0, -1
        at += 2
        if at < stop and (data[at] == _POINT or data[at] == _COMMA):
            micros, at = _fraction(data, at + 1, stop)
    return (hours * 3600 + minutes * 60 + seconds) * _SECOND + micros, at


@njit_no_nrt
def _offset(data: NDArray[np.uint8], at: int, stop: int) -> tuple[int, int]:
    """Return how far a clock is before UTC in microseconds, and where that ends, or -1."""
    if data[at] == 90 or data[at] == 122:
        return 0, at + 1
    if data[at] != _PLUS and data[at] != _DASH:
        return 0, -1
    sign = 1 if data[at] == _PLUS else -1
    hours = _digits(data, at + 1, 2, stop)
    at += 3
    minutes = 0
    if at < stop:
        at += data[at] == _COLON
        minutes = _digits(data, at, 2, stop)
        at += 2
    if not 0 <= hours <= 23 or not 0 <= minutes <= 59:
        return 0, -1
    return sign * (hours * 60 + minutes) * 60 * _SECOND, at


@njit_no_nrt
def time_at(data: NDArray[np.uint8], at: int, stop: int) -> tuple[int, int]:
    """Return a text's time and what it is, as `parse_times` has them.

    Parameters
    ----------
    data, at, stop
        The text.
    """
    days, at = _date(data, at, stop)
    if at == stop:
        return days * _DAY, NO_ZONE
    # Between date and time stands a T, or the space of RFC 3339.
    parted = at > 0 and (data[at] == 84 or data[at] == 116 or data[at] == 32)
    clock, at = _clock(data, at + 1, stop) if parted else (0, -1)
    if at < 0:
        return 0, NOT_A_TIME
    time = days * _DAY + clock
    if at == stop:
        return time, NO_ZONE
    ahead, at = _offset(data, at, stop)
    if at != stop:
        return 0, NOT_A_TIME
    return time - ahead, ZONED


@njit_no_nrt
def parse_times(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    micros: NDArray[np.int64],
    found: NDArray[np.uint8],
) -> None:
    """Read times.

    Parameters
    ----------
    data, starts, stops
        Texts: where each begins and ends in the bytes; an end at or before the start is no text.
    micros
        Written: the microseconds of each; 0 where it is no time.
    found
        Written: `NOT_A_TIME`, `NO_ZONE` or `ZONED`.

    Notes
    -----
    ``2014-09-04``, ``2014-09-04T22:57``, ``2014-09-04 22:57:55,5``, ``20140904T225755Z``,
    ``2014-09-04T22:57:55.123456789+02:00``, ``...+0200``, ``...+02``. What is finer than a
    microsecond is cut off; second 60 is the first second of the next minute. Week dates, days of
    the year, and 24:00 aren't read.
    """
    for i in range(len(starts)):
        micros[i], found[i] = time_at(data, starts[i], stops[i])


@njit_no_nrt
def _put(out: NDArray[np.uint8], at: int, value: int, n: int) -> int:
    """Write a number of n digits; return its end."""
    for i in range(n - 1, -1, -1):
        out[at + i] = _ZERO + value % 10
        value //= 10
    return at + n


@njit_no_nrt
def _put_date(out: NDArray[np.uint8], at: int, days: int) -> int:
    shifted = days + 719_468
    era = shifted // 146_097
    of_era = shifted - era * 146_097
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    day = of_year - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    at = _put(out, at, year + era * 400 + (month <= 2), 4)
    out[at] = _DASH
    at = _put(out, at + 1, month, 2)
    out[at] = _DASH
    return _put(out, at + 1, day, 2)


@njit_no_nrt
def _put_clock(out: NDArray[np.uint8], at: int, of_day: int) -> int:
    seconds, micros = of_day // _SECOND, of_day % _SECOND
    at = _put(out, at, seconds // 3600, 2)
    out[at] = _COLON
    at = _put(out, at + 1, seconds // 60 % 60, 2)
    out[at] = _COLON
    at = _put(out, at + 1, seconds % 60, 2)
    if micros:
        out[at] = _POINT
        if micros % 1000:
            return _put(out, at + 1, micros, 6)
        return _put(out, at + 1, micros // 1000, 3)
    return at


@njit_no_nrt
def _put_offset(out: NDArray[np.uint8], at: int, ahead: int) -> int:
    if ahead == 0:
        out[at] = 90
        return at + 1
    out[at] = _PLUS if ahead > 0 else _DASH
    seconds = abs(ahead) // _SECOND
    at = _put(out, at + 1, seconds // 3600, 2)
    out[at] = _COLON
    at = _put(out, at + 1, seconds // 60 % 60, 2)
    if seconds % 60:
        out[at] = _COLON
        at = _put(out, at + 1, seconds % 60, 2)
    return at


@njit_no_nrt
def put_time(out: NDArray[np.uint8], at: int, micros: int, ahead: int, form: int) -> int:
    """Write a time; return its end.

    Parameters
    ----------
    out, at
        Written; `LONGEST` bytes from the place on.
    micros, ahead, form
        As of `write_times`.
    """
    at = _put_date(out, at, micros // _DAY)
    if form > 0:
        out[at] = 84
        at = _put_clock(out, at + 1, micros % _DAY)
    if form > 1:
        at = _put_offset(out, at, ahead)
    return at


@njit_no_nrt
def write_times(
    micros: NDArray[np.int64],
    ahead: NDArray[np.int64],
    present: NDArray[np.bool_],
    form: int,
    out: NDArray[np.uint8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
) -> None:
    """Write times.

    Parameters
    ----------
    micros
        Of the clock that is written; years 1 to 9999.
    ahead
        How far that clock is before UTC, in microseconds; read where the form has an offset.
    present
        Which to write; others get no bytes.
    form
        0: the date; 1: date and time; 2: with the offset behind, ``Z`` for none.
    out
        Written; `LONGEST` bytes for each time.
    starts, stops
        Written: where each begins and ends.

    Notes
    -----
    ``2014-09-04T22:57:55``; three digits of a second where they suffice, else six, none if it is
    whole.
    """
    at = 0
    for i in range(len(micros)):
        starts[i] = at
        if present[i]:
            at = put_time(out, at, micros[i], ahead[i], form)
        stops[i] = at
