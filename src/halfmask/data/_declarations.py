"""Declared columns: markers of missing cells, and cells read as declared, or not at all."""

from __future__ import annotations

import datetime as dt
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from halfmask._errors import ColumnNotFoundError, ColumnWarning, SchemaError
from halfmask.data._column_types import FLOAT_WORD, LONG_INTEGER, typed, written_as
from halfmask.data.cell_formats import ISO, dtype_of_format, read_dates, read_numbers
from halfmask.data.value_patterns import PATTERNS


def mark_missing(frame: pl.DataFrame, markers: tuple[str, ...] | None) -> pl.DataFrame:
    """Return the frame with null for each cell that is one of the markers.

    A number, a date or a time is one if a marker spells it: ``-8`` marks -8.0, ``9999-12-31`` the
    midnight of that day, in the column's own zone.

    Examples
    --------
    >>> mark_missing(pl.DataFrame({"pay": [100.5, -8.0], "job": ["-8", "?"]}), ("-8", "?")).rows()
    [(100.5, None), (None, None)]
    """
    marked = {
        name: _is_spelled(name, dtype, sorted(set(markers or ())))
        for name, dtype in frame.schema.items()
    }
    found = {name: those for name, those in marked.items() if those is not None}
    if not found:
        return frame
    return frame.with_columns(
        pl.when(~those).then(pl.col(name)).alias(name) for name, those in found.items()
    )


def _is_spelled(name: str, dtype: pl.DataType, markers: Sequence[str]) -> pl.Expr | None:
    """Return which cells a marker spells; None if no marker spells one of the type."""
    cells, held = pl.col(name), dtype
    values = pl.Series(markers, dtype=pl.String)
    if dtype.is_numeric():
        values = values.cast(pl.Float64 if dtype.is_float() else pl.Decimal(38, 9), strict=False)
    elif dtype == pl.Boolean:
        values = values.replace_strict(
            {"true": True, "false": False}, default=None, return_dtype=pl.Boolean
        )
    elif isinstance(dtype, pl.Date | pl.Datetime):
        values = pl.Series([_moment(it) for it in markers], dtype=pl.Datetime("us"))
        if isinstance(dtype, pl.Datetime) and dtype.time_zone is not None:
            cells, held = cells.dt.replace_time_zone(None), pl.Datetime(dtype.time_unit)
    elif dtype == pl.Time:
        values = values.str.to_time("%H:%M:%S%.f", strict=False)
    elif dtype != pl.String:
        return None
    values = values.drop_nulls()
    fitting = values.cast(held, strict=False)
    if not dtype.is_float():
        same = fitting.cast(values.dtype, strict=False) == values
        fitting = fitting.filter(same.fill_null(value=False))
    return cells.is_in(fitting.implode()) if len(fitting) else None


def _moment(text: str) -> dt.datetime | None:
    """Return the date or time of a clock that a text spells, as ISO 8601 writes it."""
    try:
        found = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if "-" in text and found.tzinfo is None else None


def check_declared(declared: Iterable[str], columns: Iterable[str]) -> None:
    """Raise unless each column that something is declared for is in the table."""
    there = list(columns)
    absent = sorted(set(declared) - set(there))
    if absent:
        raise ColumnNotFoundError.of(absent, there, where="the table")


class Coerced:
    """How many cells of each column didn't fit its declaration, and became missing."""

    def __init__(self, columns: Iterable[str]) -> None:
        self._cells: dict[str, Counter[str]] = {name: Counter() for name in columns}

    def __contains__(self, name: object) -> bool:
        return name in self._cells

    def add(self, before: pl.Series, after: pl.Series) -> None:
        """Count the cells that held something, and those that are missing now."""
        lost = before.filter(before.is_not_null() & after.is_null())
        marks = 0
        if lost.dtype == pl.String:
            marks = int(lost.str.contains(PATTERNS["missing"].regex).sum())
        self._cells[before.name].update(
            of=len(before) - before.null_count(), lost=len(lost), marks=marks
        )

    def warn(self) -> None:
        """Say of each column how many cells are missing now."""
        for name, cells in self._cells.items():
            marks = f" ({cells['marks']:,} are markers such as NA)" if cells["marks"] else ""
            if cells["lost"]:
                warnings.warn(
                    f"Column {name!r}: {cells['lost']:,} of {cells['of']:,} cells don't fit its "
                    f"declaration{marks}. They are missing now, because coerce lists the column.",
                    ColumnWarning,
                    stacklevel=4,
                )


def warn_ambiguous(columns: Iterable[str]) -> None:
    """Say which columns of decimals could be whole numbers with points between thousands."""
    for name in columns:
        warnings.warn(
            f"Column {name!r} is read as decimals (1.234 is less than 2), but each of its numbers "
            'could have a point between thousands. Declare dtypes = "float", or number_formats = '
            '"1.234,5".',
            ColumnWarning,
            stacklevel=4,
        )


def as_declared(
    frame: pl.DataFrame, declared: Mapping[str, Declaration], coerced: Coerced
) -> pl.DataFrame:
    """Return the frame with the declared columns read by their declarations."""
    read = []
    for name in frame.columns:
        if name in declared:
            before = frame.get_column(name)
            after = declared[name].read(before)
            if name in coerced and after.dtype.is_float():
                after = after.set(after.is_infinite().fill_null(value=False), None)
            lost = after.null_count() - before.null_count()
            if name in coerced:
                coerced.add(before, after)
            elif lost:
                raise _misfit(name, declared[name], lost, len(before))
            read.append(after)
    return frame.with_columns(read) if read else frame


def _misfit(name: str, declared: Declaration, lost: int, of: int) -> SchemaError:
    hint = (
        "Correct these cells, name the texts that mean missing, or list the column under coerce "
        "to make them missing."
    )
    if declared.fitted:
        hint = (
            "Declare how the cells are written if the fit had that (date_formats, "
            "number_formats), name the texts that mean missing, correct them, or fit again."
        )
    return SchemaError(
        f"Column {name!r} {declared.says()}, and {lost} of {of} cells looked at don't fit.",
        hint=hint,
    )


# How many digits they have; a library that takes them for numbers loses a zero in front.
_DIGIT_DATES = {"%d%m%Y": 8, "%m%d%Y": 8, "%d%m%y": 6, "%m%d%y": 6, "%y%m%d": 6}


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """The type of a column, and how its cells are written."""

    dtype: pl.DataType
    date_format: str | None = None
    first_year: int | None = None
    number_format: str | None = None
    fitted: bool = False

    def read(self, cells: pl.Series) -> pl.Series:
        """Return the cells as values of the type; null where one isn't, or would change."""
        if self.date_format is not None:
            cells = _with_zeros(cells, self.date_format)
        if cells.dtype != pl.String:
            return _cast(cells, self.dtype)
        if self.fitted:
            cells = cells.set(~written_as(cells, self.dtype), None)
        return _cast(self._read_texts(cells), self.dtype)

    def _read_texts(self, texts: pl.Series) -> pl.Series:
        dtype = self.dtype
        if self.date_format is not None:
            form = self.date_format
            of_form = dtype if form == ISO else dtype_of_format(form)
            return read_dates(texts, form, of_form, first_year=self.first_year)
        if self.number_format is not None:
            numeric = dtype if dtype.is_numeric() else pl.Float64()
            return read_numbers(texts, self.number_format, numeric)
        if isinstance(dtype, pl.Date | pl.Datetime):
            return read_dates(texts, ISO, dtype)
        if not dtype.is_numeric():
            return typed(texts.to_frame(), {texts.name: dtype})[0].to_series()
        texts = texts.str.strip_chars()
        numbers = texts.cast(dtype, strict=False)
        if not dtype.is_float():
            return numbers
        # A float has room for 15 digits of any number, and none for 1e400.
        other = texts.str.contains(LONG_INTEGER)
        other |= numbers.is_infinite().fill_null(value=False) & ~texts.str.contains(FLOAT_WORD)
        return numbers.set(other, None)

    def says(self) -> str:
        """Return a column's declaration in words, as it reads after its name."""
        if self.fitted:
            return f"held {self.dtype} at the fit"
        if self.date_format is not None:
            return f"is declared to hold dates of the form {self.date_format}"
        if self.number_format is not None:
            return f"is declared to hold numbers of the form {self.number_format}"
        return f"is declared to be {self.dtype}"


def _with_zeros(cells: pl.Series, format_: str) -> pl.Series:
    """Return dates that are written in digits alone as texts, with the zero that numbers lose."""
    if cells.dtype.is_numeric():
        whole = cells.cast(pl.Int64, strict=False)
        cells = whole.set(whole != cells, None).cast(pl.String)
    length = _DIGIT_DATES.get(format_, 0)
    if not length or cells.dtype != pl.String:
        return cells
    texts = cells.str.strip_chars()
    return texts.str.zfill(length).zip_with(texts.str.contains(rf"^\d{{{length - 1}}}$"), texts)


def _cast(cells: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return cells of one type as another; null where a cell would become another one."""
    if cells.dtype == dtype:
        return cells
    if not _comparable(cells.dtype, dtype):
        return pl.Series(cells.name, [None], dtype=dtype).new_from_index(0, len(cells))
    cast = cells.cast(dtype, strict=False)
    if dtype == pl.String and cells.dtype.is_float():
        # One fraction makes floats of all numbers of a file, and must not change their texts.
        whole = cells.cast(pl.Int64, strict=False)
        is_whole = (whole.cast(cells.dtype) == cells).fill_null(value=False)
        return whole.cast(dtype).zip_with(is_whole, cast)
    if dtype == pl.String or (cells.dtype.is_float() and dtype.is_float()):
        return cast
    return cast.set(cast.cast(cells.dtype, strict=False) != cells, None)


def _comparable(one: pl.DataType, other: pl.DataType) -> bool:
    """Return whether a cell of one type can be the same as one of the other.

    A number is no date: it counts days, seconds or microseconds, and which is not known. A time
    without a zone isn't one in UTC.
    """
    if other == pl.String or one == pl.Null:
        return True
    if one.is_temporal() != other.is_temporal():
        return False
    return _zoned(one) == _zoned(other)


def _zoned(dtype: pl.DataType) -> bool:
    return isinstance(dtype, pl.Datetime) and dtype.time_zone is not None
