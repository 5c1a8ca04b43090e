"""Dates and times of SPSS, Stata and SAS: numbers whose display format says what they count."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Final, Literal, TypeAlias

import polars as pl

from halfmask._errors import DataError, SchemaError

_Kind: TypeAlias = Literal["day", "moment", "clock", "span", "months", "weeks"]
_DAY: Final = 86_400 * 10**6
_EPOCHS: Final = {"spss": date(1582, 10, 14), "stata": date(1960, 1, 1), "sas": date(1960, 1, 1)}
#: What no day of ours has, beyond which numbers of microseconds would not fit.
_MOST: Final = 9.0e18
#: By form: the formats, without widths, the kind, and the microseconds or months of one.
_FORMATS: Final[dict[str, tuple[tuple[str, _Kind, int], ...]]] = {
    "spss": (
        ("[AEJS]?DATE|MOYR|QYR|WKYR", "day", 10**6),
        ("DATETIME|YMDHMS", "moment", 10**6),
        ("M?TIME", "clock", 10**6),
        ("DTIME", "span", 10**6),
    ),
    "stata": (
        ("%-?(TD|D).*", "day", _DAY),
        ("%-?TM.*", "months", 1),
        ("%-?TQ.*", "months", 3),
        ("%-?TH.*", "months", 6),
        ("%-?TW.*", "weeks", 1),
    ),
    "sas": (
        ("(DDMMYY|MMDDYY|YYMMDD)[BCDNPS]?|(MMYY|YYMM|YYQR?)[CDNPS]?|(E|B|IS)8601DA", "day", _DAY),
        ("DATE|MONYY|YYMON|WEEKDAT[EX]|WORDDAT[EX]|JULIAN|NLDATE\\w*", "day", _DAY),
        ("DATETIME|DATEAMPM|MDYAMPM|DT(DATE|MONYY|YEAR|WKDATX|YYQC)|NLDATM\\w*", "moment", 10**6),
        ("(E|B|IS)8601D[TN]", "moment", 10**6),
        ("TIME|HHMM|TOD|TIMEAMPM|MMSS|HOUR|(E|B|IS)8601TM", "clock", 10**6),
    ),
}
_STATA_MILLISECONDS: Final = re.compile("%-?tc")
#: Counts of leap seconds, and of days of calendars that are in files of their own.
_UNREADABLE: Final = re.compile("%-?(tC|tb)")


def time_format(form: str, written: str | None, column: str) -> TimeFormat | None:
    """Return what a display format says of a column's numbers; None if it is of no time."""
    if form == "stata" and _UNREADABLE.match(written or ""):
        raise SchemaError(
            f"Column {column!r} has a display format of leap seconds or of a business calendar, "
            "which can't be read.",
            hint="Turn it into %tc or %td in Stata, or give it a format of plain numbers.",
        )
    if form == "stata" and _STATA_MILLISECONDS.match(written or ""):
        return TimeFormat("moment", 10**3, _EPOCHS[form], column)
    name = (written or "").upper()
    name = name if form == "stata" else name.rstrip("0123456789.")
    for pattern, kind, unit in _FORMATS[form]:
        if re.fullmatch(pattern, name):
            return TimeFormat(kind, unit, _EPOCHS[form], column)
    return None


@dataclass
class TimeFormat:
    """What the numbers of a column count; its type is that which holds all of them.

    Notes
    -----
    A day with a time on it becomes a time, and a time of day of 24 hours or more a span.
    """

    kind: _Kind
    unit: int
    epoch: date
    column: str
    is_narrow: bool = True

    def see(self, numbers: pl.Series) -> None:
        """Look at some rows."""
        if self.kind in {"day", "clock"} and self.is_narrow:
            ticks = self._ticks(numbers)
            fits = ticks % _DAY == 0 if self.kind == "day" else ticks.is_between(0, _DAY - 1)
            self.is_narrow = bool(fits.all())

    @property
    def dtype(self) -> pl.DataType:
        """The type of the column."""
        if self.kind == "span" or (self.kind == "clock" and not self.is_narrow):
            return pl.Duration("us")
        if self.kind == "clock":
            return pl.Time()
        return pl.Date() if self.kind != "moment" and self.is_narrow else pl.Datetime("us")

    def read(self, numbers: pl.Series) -> pl.Series:
        """Return rows as values of the type."""
        if self.kind in {"months", "weeks"}:
            return self._starts(numbers)
        ticks = self._ticks(numbers)
        if self.kind in {"day", "moment"}:
            since = (self.epoch - date(1970, 1, 1)).days
            return (ticks + since * _DAY).cast(pl.Datetime("us")).cast(self.dtype)
        if self.dtype == pl.Time():
            return (ticks * 1000).cast(pl.Time)
        return ticks.cast(pl.Duration("us"))

    def _ticks(self, numbers: pl.Series) -> pl.Series:
        """Return microseconds, as whole numbers."""
        ticks = (numbers.cast(pl.Float64) * self.unit).round()
        self._check(ticks.abs() < _MOST)
        return ticks.cast(pl.Int64)

    def _starts(self, numbers: pl.Series) -> pl.Series:
        """Return the first days of months or weeks; Stata's weeks are 52 to a year."""
        counts = numbers.cast(pl.Float64)
        self._check((counts == counts.floor()) & (counts.abs() < 100_000))
        whole = pl.Series(self.column, counts.cast(pl.Int64))
        a_year = 52 if self.kind == "weeks" else 12 // self.unit
        frame = pl.DataFrame({"year": self.epoch.year + whole // a_year, "part": whole % a_year})
        if self.kind == "weeks":
            first = pl.date("year", 1, 1) + pl.duration(days=pl.col("part") * 7)
        else:
            first = pl.date("year", pl.col("part") * self.unit + 1, 1)
        return frame.select(first.alias(self.column)).to_series()

    def _check(self, fits: pl.Series) -> None:
        if not fits.all():
            raise DataError(
                f"Column {self.column!r} has {int((~fits).sum())} numbers that aren't dates or "
                "times, as its display format says.",
                hint="Correct them, or give it a format of plain numbers.",
            )
