"""Units of the calendar: the hierarchy of them, and times counted, moved and cut off by them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final, Literal, TypeAlias
from zoneinfo import ZoneInfo

import polars as pl

from halfmask._errors import DataError, HierarchyError, ParameterError
from halfmask._validation import one_of
from halfmask.data.hierarchy.tree import Hierarchy, leaf_text

UNITS = ("day", "week", "month", "quarter", "year", "decade")


@dataclass(frozen=True, slots=True)
class Dates:
    """Generalize dates to calendar units, the finest first; the root is ``"*"``.

    Parameters
    ----------
    levels
        Some of ``"day"``, ``"week"``, ``"month"``, ``"quarter"``, ``"year"``, ``"decade"``, the
        finest first.
    format
        The date format of text columns, in ``strftime`` codes such as ``"%m/%d/%Y"``;
        ``None`` is ISO 8601, with or without a time of day. Columns of dates need none.

    Raises
    ------
    ParameterError
        If a level is unknown, or they don't grow coarser; if a unit stands above weeks, which
        lie in no one month, quarter, year or decade.

    Notes
    -----
    Weeks are those of ISO 8601. Times with a zone have the day that its clock shows, and texts the
    day that they state.

    Examples
    --------
    >>> tree = Dates(levels=("quarter", "year")).build(
    ...     pl.Series(["2021-05-01", "2020-02-29"]), column="visit"
    ... )
    >>> tree.labels(1), tree.labels(2)
    (('2020-Q1', '2021-Q2'), ('2020', '2021'))
    """

    levels: Sequence[str]
    format: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.levels, str) or not self.levels:
            raise ParameterError("The 'levels' parameter of Dates must be a list, not empty.")
        object.__setattr__(self, "levels", tuple(self.levels))
        for level in self.levels:
            one_of(UNITS, owner="Dates", levels=level)
        if any(UNITS.index(b) <= UNITS.index(a) for a, b in itertools.pairwise(self.levels)):
            raise ParameterError(
                f"The 'levels' of Dates must grow coarser, in this order: {', '.join(UNITS)}."
            )
        if "week" in self.levels[:-1]:
            raise ParameterError(
                "The 'levels' of Dates have a coarser unit above 'week': weeks don't nest in it.",
                hint="Leave out 'week', or the units above it.",
            )

    def build(self, values: pl.Series, *, column: str) -> Hierarchy:
        """Build the hierarchy of dates, the earliest first.

        Raises
        ------
        HierarchyError
            If a value is no date.
        """
        frame = pl.DataFrame({"0": leaf_text(values), "date": self._dates(values, column)})
        frame = frame.sort("date", "0")
        labels = [frame["0"]]
        for number, level in enumerate(self.levels, start=1):
            labels.append(_label(frame["date"], level).alias(str(number)))
        return Hierarchy.from_levels(pl.DataFrame(labels), column=column, root=True)

    def _dates(self, values: pl.Series, column: str) -> pl.Series:
        if isinstance(values.dtype, pl.Date | pl.Datetime):
            return day_of(values)
        text = leaf_text(values)
        if self.format is not None:
            try:
                dates = text.str.to_date(self.format, strict=False)
            except pl.exceptions.PolarsError:
                raise ParameterError(
                    "The 'format' parameter of Dates isn't a format of dates that is known.",
                    hint='Use the codes of strftime, such as "%m/%d/%Y".',
                ) from None
        else:
            iso = text.str.contains(r"^\d{4}-\d{2}-\d{2}([T ].*)?$").fill_null(value=False)
            day = text.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
            dates = day.set(~iso, None)
        if dates.null_count():
            raise HierarchyError(
                f"Column {column!r} has {dates.null_count()} values that are no dates "
                f"{'in ISO 8601' if self.format is None else 'in the format given'}.",
                hint='Say how they are spelt, such as format = "%m/%d/%Y".',
            )
        return dates


def _label(at: pl.Series, level: str) -> pl.Series:
    """Return the label of each date at a level; labels of one level sort as their dates do."""
    formats = {"day": "%Y-%m-%d", "week": "%G-W%V", "month": "%Y-%m", "year": "%Y"}
    if level in formats:
        return at.dt.strftime(formats[level])
    if level == "quarter":
        return at.dt.strftime("%Y-Q") + at.dt.quarter().cast(pl.String)
    return (at.dt.year() // 10 * 10).cast(pl.String).str.zfill(4) + "s"


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
    """Return the first moment after the unit that each start begins."""
    if unit in _WITHIN_DAYS or _zone(starts.dtype) is None:
        return starts.dt.offset_by(_UNITS[unit])
    clock = _clock(starts).dt.truncate(_UNITS[unit]).dt.offset_by(_UNITS[unit])
    return unit_start(_on_clock(clock, starts.dtype), unit)


def moved_by_days(values: pl.Series, days: pl.Series) -> pl.Series:
    """Return dates or times moved by whole days, with the same time of day.

    A time that the clock skips on that day is written later, by what the clock skips; one that it
    has twice is the first of them.
    """
    if values.dtype == pl.Date:
        return (values.cast(pl.Int64) + days).cast(pl.Int32).cast(pl.Date)
    unit = values.dtype.time_unit  # type: ignore[attr-defined] # of a time
    spans = (days * _DAY[unit]).cast(pl.Duration(unit))
    return _on_clock(_clock(values) + spans, values.dtype)


def local_times(naive: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return times without a zone as times on the clock of a type."""
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
