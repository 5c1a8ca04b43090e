"""One calendar for all rooms: a time with a zone has the day that its zone's clock shows."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Final, Literal, TypeAlias
from zoneinfo import ZoneInfo

import polars as pl

from halfmask._errors import DataError

#: Units of time, the finest first; weeks start on Monday.
Unit: TypeAlias = Literal["second", "minute", "hour", "day", "week", "month", "quarter", "year"]
_UNITS: Final[dict[str, str]] = {
    "second": "1s",
    "minute": "1m",
    "hour": "1h",
    "day": "1d",
    "week": "1w",
    "month": "1mo",
    "quarter": "1q",
    "year": "1y",
}
_EPOCH: Final = date(1970, 1, 1).toordinal()
#: The first and the last day that dates of Python and ISO 8601 have, in days since 1970.
_DAYS: Final = (date.min.toordinal() - _EPOCH, date.max.toordinal() - _EPOCH)
_DAY: Final = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_WITHIN_DAYS: Final = frozenset({"second", "minute", "hour"})
#: Longer than any gap of a clock: Samoa had no 30 December 2011.
_GAP: Final = timedelta(hours=25)
_SECOND: Final = timedelta(seconds=1)


def check_calendar(frame: pl.DataFrame) -> None:
    """Raise unless dates and times lie in the years 1 to 9999.

    Infinite dates of databases are stored as the first or the last ones of their type.

    Parameters
    ----------
    frame
        Any table.

    Raises
    ------
    DataError
        If others are there, with the column and their number.
    """
    for column in frame.get_columns():
        if column.dtype == pl.Date:
            days, first, last = column.to_physical().cast(pl.Int64), *_DAYS
        elif isinstance(column.dtype, pl.Datetime):
            # On the clock of a zone, a moment may lie on the day before or after.
            zoned = int(column.dtype.time_zone is not None)
            days = column.to_physical() // _DAY[column.dtype.time_unit]
            first, last = _DAYS[0] + zoned, _DAYS[1] - zoned
        else:
            continue
        outside = int((~days.is_between(first, last)).sum())
        if outside:
            raise DataError(
                f"Column {column.name!r} has {outside} dates that are infinite, before year 1 or "
                "after 9999.",
                hint="Make them missing, or turn the column into text first.",
            )


def day_of(values: pl.Series) -> pl.Series:
    """Return the day of each date or time, on its zone's clock.

    Parameters
    ----------
    values
        Dates or times.

    Examples
    --------
    >>> from datetime import datetime
    >>> utc = pl.Series([datetime(2020, 12, 31, 23, 30)]).dt.replace_time_zone("UTC")
    >>> day_of(utc.dt.convert_time_zone("Europe/Berlin"))[0]
    datetime.date(2021, 1, 1)
    """
    return values if values.dtype == pl.Date else values.dt.date()


def unit_start(values: pl.Series, unit: str) -> pl.Series:
    """Return the first moment of the unit that each date or time lies in.

    A unit whose start the clock skips begins with its first moment; one whose start the clock has
    twice begins with the first of them.

    Parameters
    ----------
    values
        Dates or times.
    unit
        One of `Unit`.
    """
    zone = _zone(values.dtype)
    if zone is None or unit in _WITHIN_DAYS:
        return values.dt.truncate(_UNITS[unit])
    clock = _clock(values).dt.truncate(_UNITS[unit])
    found = _shown(clock, zone)
    skipped = clock.filter(found.is_null() & clock.is_not_null()).unique()
    if not len(skipped):
        return found
    first = pl.Series([_first_after(it, zone) for it in skipped]).dt.convert_time_zone(zone)
    return found.fill_null(clock.replace_strict(skipped, first.cast(found.dtype), default=None))


def next_unit_start(starts: pl.Series, unit: str) -> pl.Series:
    """Return the first moment after the unit that each start begins.

    Parameters
    ----------
    starts
        What `unit_start` returned.
    unit
        The same unit.
    """
    if unit in _WITHIN_DAYS or _zone(starts.dtype) is None:
        return starts.dt.offset_by(_UNITS[unit])
    clock = _clock(starts).dt.truncate(_UNITS[unit]).dt.offset_by(_UNITS[unit])
    return unit_start(_on_clock(clock, starts.dtype), unit)


def moved_by_days(values: pl.Series, days: pl.Series) -> pl.Series:
    """Return dates or times moved by whole days, with the same time of day.

    A time that the clock skips on that day is written later, by what the clock skips; one that it
    has twice is the first of them.

    Parameters
    ----------
    values
        Dates or times.
    days
        By how many days each is moved.
    """
    if values.dtype == pl.Date:
        return (values.cast(pl.Int64) + days).cast(pl.Int32).cast(pl.Date)
    unit = values.dtype.time_unit  # type: ignore[attr-defined] # of a time
    spans = (days * _DAY[unit]).cast(pl.Duration(unit))
    return _on_clock(_clock(values) + spans, values.dtype)


def local_times(naive: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return times without a zone as times on the clock of a type.

    Parameters
    ----------
    naive
        Times without a zone.
    dtype
        A type of times, such as that of a column.
    """
    return _on_clock(naive, dtype).cast(dtype)


def _zone(dtype: pl.DataType) -> str | None:
    return dtype.time_zone if isinstance(dtype, pl.Datetime) else None


def _clock(times: pl.Series) -> pl.Series:
    """Return what the clock of their zone shows."""
    return times.dt.replace_time_zone(None)


def _on_clock(clock: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return the moments at which the clock of a type's zone shows something."""
    zone = _zone(dtype)
    if zone is None:
        return clock
    found = _shown(clock, zone)
    if found.null_count() == clock.null_count():
        return found
    return found.fill_null(_shown(clock - _GAP, zone) + _GAP)


def _shown(clock: pl.Series, zone: str) -> pl.Series:
    """Return the first moment at which a clock shows something; missing where it never does."""
    return clock.dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null")


def _first_after(clock: datetime, zone: str) -> datetime:
    """Return the first moment at which a clock shows more than a time that it skips."""
    info = ZoneInfo(zone)
    low = (clock - _GAP).replace(tzinfo=info).astimezone(UTC)
    high = low + _GAP
    while high - low > _SECOND:
        middle = low + (high - low) // 2 // _SECOND * _SECOND
        if middle.astimezone(info).replace(tzinfo=None) >= clock:
            high = middle
        else:
            low = middle
    return high
