"""Declarations of a column's cells, and how cells are read by them: one by one, or not at all."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from halfmask.data._number_formats import read_numbers
from halfmask.data._text_types import FLOAT_WORD, LONG_INTEGER, typed, written_as
from halfmask.data.date_formats import ISO, dtype_of_format, read_dates

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
