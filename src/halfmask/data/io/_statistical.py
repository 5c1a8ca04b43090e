"""Files of SPSS, Stata and SAS: read in chunks, with the labels of their values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import polars as pl

from halfmask._errors import DataError, SchemaError
from halfmask._foreign import need
from halfmask.data.frames import check_names
from halfmask.data.io.columnar import spilled_reader
from halfmask.data.io.places import reading, start_of

if TYPE_CHECKING:
    from halfmask.data.io._read_options import ReadOptions
    from halfmask.data.io.columnar import ColumnarReader
    from halfmask.data.io.places import Place


StatisticalFormat: TypeAlias = Literal["spss", "stata", "sas"]

_CHUNK_CELLS: Final = 1 << 21
#: Every whole number below it is a float64 of its own.
_EXACT: Final = 2.0**53
#: Of more different numbers in a batch, few have labels.
_MOST_CODES: Final = 1_000
_SAS_XPORT: Final = b"HEADER RECORD"


def statistical_reader(
    place: Place, form: StatisticalFormat, options: ReadOptions
) -> ColumnarReader:
    """Copy a file of SPSS, Stata or SAS, and return a reader of the copy.

    Notes
    -----
    **Guarantees.** Columns of whole numbers become integers: these files store floats. A column
    whose values all have labels becomes the label texts, ordered as their codes; a column with
    labels for some of its values, or with two equal labels, keeps its numbers.

    Days with a time on them become times, and times of day of 24 hours or more become spans.

    **Edge cases.** Values that the file declares missing are missing cells, and so are
    Stata's ``.a`` to ``.z`` and empty texts.
    """
    need("pyreadstat")
    stamp = place.stamp()
    with reading(place.what, form), place.local() as path:
        chunks = _Chunks(_function(place, form), str(path))
        found = _Values(chunks.labels, chunks.times(form))
        for frame in chunks:
            found.see(frame)
    check_names(chunks.names)
    dtypes = found.dtypes(chunks.names)

    def frames() -> Iterator[pl.DataFrame]:
        with reading(place.what, form), place.local() as path:
            for frame in _Chunks(_function(place, form), str(path)):
                yield found.labelled(frame)

    reader = spilled_reader(frames(), dtypes, options, place.what)
    if place.stamp() != stamp:
        raise DataError(f"{place.what} has changed while it was read.")
    reader.orders |= found.orders()
    reader.labelled = found.labelled_numbers()
    return reader


def _function(place: Place, form: StatisticalFormat) -> Callable[..., Any]:
    import pyreadstat  # noqa: PLC0415 - an extra

    is_export = start_of(place).startswith(_SAS_XPORT)
    name = {"spss": "sav", "stata": "dta", "sas": "xport" if is_export else "sas7bdat"}[form]
    found: Callable[..., Any] = getattr(pyreadstat, f"read_{name}")
    return found


class _Chunks:
    """The rows of a file, in frames."""

    def __init__(self, read: Callable[..., Any], path: str) -> None:
        self._read, self._path = read, path
        _, about = read(path, metadataonly=True, output_format="polars")
        self.names: list[str] = list(about.column_names)
        self.labels: dict[str, dict[Any, str]] = dict(about.variable_value_labels)
        self._formats: dict[str, str] = dict(about.original_variable_types)

    def times(self, form: StatisticalFormat) -> dict[str, TimeFormat]:
        """Return what the numbers of columns count whose display format is one of times."""
        found = {name: time_format(form, self._formats.get(name), name) for name in self.names}
        return {name: each for name, each in found.items() if each is not None}

    def __iter__(self) -> Iterator[pl.DataFrame]:
        rows, first = max(1, _CHUNK_CELLS // max(1, len(self.names))), 0
        while True:
            frame, _ = self._read(
                self._path,
                row_offset=first,
                row_limit=rows,
                output_format="polars",
                disable_datetime_conversion=True,
            )
            # These programs pad texts with blanks: an empty one is no value.
            yield frame.with_columns(pl.col(pl.String).replace("", None))
            if frame.height < rows:
                return
            first += rows


class _Values:
    """What all rows of a file say of its columns."""

    def __init__(
        self, labels: Mapping[str, Mapping[Any, str]], times: Mapping[str, TimeFormat]
    ) -> None:
        self._labels, self._times = labels, times
        self._dtypes: dict[str, pl.DataType] = {}
        self._fractions: set[str] = set()
        self._codes: dict[str, set[float]] = {}
        self._unlabelled: set[str] = {
            name for name, texts in labels.items() if len(set(texts.values())) < len(texts)
        }

    def see(self, frame: pl.DataFrame) -> None:
        """Look at some rows."""
        for column in frame.get_columns():
            name, dtype = column.name, column.dtype
            if column.null_count() == column.len():
                continue
            if dtype.is_numeric():
                numbers = column.cast(pl.Float64)
                whole = (numbers == numbers.round()) & (numbers.abs() < _EXACT)
                if not whole.drop_nulls().all():
                    self._fractions.add(name)
                dtype = pl.Float64()
                if name in self._times:
                    self._times[name].see(column)
            self._dtypes.setdefault(name, dtype)
            if name in self._labels:
                codes = pl.Series(list(self._labels[name]), dtype=dtype, strict=False)
                cells = column.cast(dtype).drop_nulls()
                if not cells.is_in(codes.implode()).all():
                    self._unlabelled.add(name)
                if dtype.is_numeric():
                    self._codes.setdefault(name, set()).update(cells.unique().head(_MOST_CODES))

    def _is_labelled(self, name: str) -> bool:
        return name in self._labels and name in self._dtypes and name not in self._unlabelled

    def dtypes(self, names: list[str]) -> dict[str, pl.DataType]:
        """Return the type of each column."""
        return {name: self._dtype(name) for name in names}

    def _dtype(self, name: str) -> pl.DataType:
        found = self._dtypes.get(name, pl.String())
        if self._is_labelled(name):
            return pl.String()
        if name in self._times and name in self._dtypes:
            return self._times[name].dtype
        return pl.Int64() if found == pl.Float64 and name not in self._fractions else found

    def labelled(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return rows with labels in the place of values that have them, and numbers as times."""
        plain = [name for name in frame.columns if not self._is_labelled(name)]
        timed = [name for name in plain if name in self._times and name in self._dtypes]
        frame = frame.with_columns(self._times[name].read(frame[name]) for name in timed)
        return frame.with_columns(
            pl.col(name)
            .cast(self._dtypes[name])
            .replace_strict(
                pl.Series(list(self._labels[name]), dtype=self._dtypes[name]),
                pl.Series(list(self._labels[name].values()), dtype=pl.String),
                return_dtype=pl.String,
            )
            for name in frame.columns
            if self._is_labelled(name)
        )

    def labelled_numbers(self) -> frozenset[str]:
        """Return the columns that stay whole numbers, most of which have labels."""
        return frozenset(
            name
            for name, codes in self._codes.items()
            if not self._is_labelled(name)
            and not {name} & self._fractions.union(self._times)
            and 2 * sum(code in self._labels[name] for code in codes) > len(codes)
        )

    def orders(self) -> dict[str, tuple[str, ...]]:
        """Return the labels of columns that become texts, in the order of their codes."""
        return {
            name: tuple(text for _, text in sorted(texts.items()))
            for name, texts in self._labels.items()
            if self._is_labelled(name) and self._dtypes[name].is_numeric()
        }


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
