"""A column of times as whole numbers of equal steps since the first, and back."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._errors import ParameterError, SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Microseconds of a day.
DAY = 86_400_000_000
_UNITS = {"ms": 1_000, "s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000, "d": DAY, "w": 7 * DAY}
_MONTHS = {"mo": 1, "q": 3, "y": 12}


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesClock:
    """The steps of a series' time."""

    name: str
    dtype: pl.DataType
    step: int
    months: int
    wall: bool
    origin: int
    within: int

    @classmethod
    def of(cls, column: pl.Series, *, every: str | int | None) -> SeriesClock:
        """Make the clock of a column, its first time the origin."""
        _check(column)
        if column.dtype.is_integer():
            return cls._of_integers(column, every)
        first = column.min()
        step, months = _step(column, every)
        clock = cls(
            name=column.name, dtype=column.dtype, step=step, months=months,
            wall=bool(months) or step % DAY == 0, origin=0, within=0,
        )  # fmt: skip
        start = clock._ticks(pl.Series(column.name, [first], dtype=column.dtype))
        if not months:
            return replace(clock, origin=int(start[0]))
        month, inside = _months(start)
        return replace(clock, origin=int(month[0]), within=int(inside[0]))

    @classmethod
    def _of_integers(cls, column: pl.Series, every: str | int | None) -> SeriesClock:
        if isinstance(every, str):
            raise ParameterError(
                f"Time column {column.name!r} holds integers; 'every' must be one, too.",
                hint="Say every=1, or turn the column into dates.",
            )
        values = column.cast(pl.Int64).to_numpy()
        step = every if every is not None else _usual(values)
        return cls(
            name=column.name, dtype=column.dtype, step=step, months=0, wall=False,
            origin=int(values.min()), within=0,
        )  # fmt: skip

    @property
    def has_calendar(self) -> bool:
        """Whether times have a day, a week and a year."""
        return not self.dtype.is_integer()

    def positions(self, column: pl.Series) -> NDArray[np.int64]:
        """Return the number of steps from the origin to each time."""
        _check(column)
        if column.dtype != self.dtype:
            raise SchemaError(
                f"Time column {self.name!r} held {self.dtype} at the fit and holds "
                f"{column.dtype} now.",
                hint="Read it with the type that it had.",
            )
        ticks = self._ticks(column)
        if self.months:
            month, _ = _months(ticks)
            positions = (month - self.origin) // self.months
        else:
            positions = (ticks - self.origin) // self.step
        # A wall clock that is set forward has no time at some steps: a missing one is wrong, too.
        wrong = int(self.times(positions).ne_missing(column).sum())
        if wrong:
            raise SchemaError(
                f"Time column {self.name!r} has {wrong} times between the steps of the series.",
                hint="Bring the rows to equal steps, or fit the codec with a finer 'every'.",
            )
        return positions

    def times(self, positions: NDArray[np.int64]) -> pl.Series:
        """Return the time of each number of steps."""
        if not self.has_calendar:
            return pl.Series(self.name, positions * self.step + self.origin).cast(self.dtype)
        naive = self._naive(positions)
        zone = getattr(self.dtype, "time_zone", None)
        if zone is None:
            return naive.cast(self.dtype)
        if not self.wall:
            return naive.dt.replace_time_zone("UTC").dt.convert_time_zone(zone).cast(self.dtype)
        aware = naive.dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null")
        return aware.cast(self.dtype)

    def wall_clock(self, positions: NDArray[np.int64]) -> pl.Series:
        """Return what a clock on the wall shows at each step, as dates and times without a zone."""
        naive, zone = self._naive(positions), getattr(self.dtype, "time_zone", None)
        if zone is None or self.wall:
            return naive
        aware = naive.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
        return aware.dt.replace_time_zone(None)

    def _ticks(self, column: pl.Series) -> NDArray[np.int64]:
        if not self.has_calendar:
            return column.cast(pl.Int64).to_numpy()
        zone = getattr(column.dtype, "time_zone", None)
        if zone is not None and not self.wall:
            column = column.dt.convert_time_zone("UTC")
        naive = column.dt.replace_time_zone(None) if zone is not None else column
        return naive.cast(pl.Datetime("us")).cast(pl.Int64).to_numpy()

    def _naive(self, positions: NDArray[np.int64]) -> pl.Series:
        if not self.months:
            ticks = positions * self.step + self.origin
            return pl.Series(self.name, ticks).cast(pl.Datetime("us"))
        month = positions * self.months + self.origin
        starts = (month // 12 - 1970).astype("datetime64[Y]").astype("datetime64[M]")
        starts = starts + (month % 12).astype("timedelta64[M]")
        ticks = starts.astype("datetime64[us]").astype(np.int64) + self.within
        return pl.Series(self.name, ticks).cast(pl.Datetime("us"))


def _check(column: pl.Series) -> None:
    if not (column.dtype.is_integer() or column.dtype in (pl.Date, pl.Datetime)):
        raise SchemaError(
            f"Time column {column.name!r} holds {column.dtype}.",
            hint="Turn it into dates, dates and times, or integers.",
        )
    if column.null_count() or not len(column):
        raise SchemaError(
            f"Time column {column.name!r} has {column.null_count()} missing of {len(column)} cells."
        )
    if column.dtype.is_integer() and column.cast(pl.Int64, strict=False).null_count():
        raise SchemaError(
            f"Time column {column.name!r} has integers of more than 63 bits.",
            hint="Count the steps from a later one.",
        )


def _usual(ticks: NDArray[np.int64]) -> int:
    distances = np.diff(np.unique(ticks))
    if not len(distances):
        raise SchemaError("One time alone has no step.", hint="Say 'every', such as every=\"1h\".")
    sizes, counts = np.unique(distances, return_counts=True)
    return int(sizes[np.argmax(counts)])


def _step(column: pl.Series, every: str | int | None) -> tuple[int, int]:
    """Return a step's microseconds and months, one of them 0."""
    if every is None:
        zone = getattr(column.dtype, "time_zone", None)
        naive = column.dt.convert_time_zone("UTC") if zone is not None else column
        naive = naive.dt.replace_time_zone(None) if zone is not None else naive
        usual = _usual(naive.cast(pl.Datetime("us")).cast(pl.Int64).to_numpy())
        # Months have 28 to 31 days, and nothing else that is regular has.
        return (0, 1) if 28 * DAY <= usual <= 31 * DAY and usual != 28 * DAY else (usual, 0)
    match = re.fullmatch(r"([1-9]\d*)(ms|mo|[smhdwqy])", every) if isinstance(every, str) else None
    if match is None:
        raise ParameterError(
            "The 'every' parameter of SeriesCodec must be a number and one of ms, s, m, h, d, w, "
            "mo, q, y for a column of dates.",
            hint='Such as every="15m", every="1h" or every="1mo".',
        )
    number, unit = int(match[1]), match[2]
    return (0, number * _MONTHS[unit]) if unit in _MONTHS else (number * _UNITS[unit], 0)


def _months(ticks: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return months since the year 0, and the microseconds since the month's beginning."""
    months = ticks.astype("datetime64[us]").astype("datetime64[M]")
    inside = ticks - months.astype("datetime64[us]").astype(np.int64)
    return months.astype(np.int64) + 1970 * 12, inside
