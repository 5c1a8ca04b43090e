"""Dates that are written as people write them, turned to ISO 8601, which every reader knows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

import polars as pl

from halfmask._errors import ParameterError, SchemaError

__all__ = ["check_date_format", "dtype_of_format", "in_iso"]

# A time in all its digits, so that what a format doesn't hold shows.
_KNOWN = dt.datetime(2001, 10, 23, 14, 35, 42)  # noqa: DTZ001 - tables hold local times
_TIMES = ("%H", "%I", "%k", "%l", "%T", "%R", "%X", "%r")


def dtype_of_format(format_: str) -> pl.DataType:
    """Return the type of what a format spells: a point in time if it has hours, else a date.

    Examples
    --------
    >>> dtype_of_format("%d.%m.%Y"), dtype_of_format("%d.%m.%Y %H:%M")
    (Date, Datetime(time_unit='us', time_zone=None))
    """
    return pl.Datetime("us") if any(part in format_ for part in _TIMES) else pl.Date()


def check_date_format(column: str, format_: object) -> None:
    """Raise unless the format spells whole dates: day, month and year.

    Raises
    ------
    ParameterError
        If a date that is written by the format isn't the same when it is read.
    """
    try:
        written = pl.Series([_KNOWN]).dt.strftime(str(format_))
        day = _read(written, str(format_)).dt.date()
        whole = day.to_list() == [_KNOWN.date()]
    except pl.exceptions.PolarsError:
        whole = False
    if not isinstance(format_, str) or not whole:
        raise ParameterError(
            f"The date format of column {column!r} must spell a day, a month and a year.",
            hint='Write %d for the day, %m for the month, %Y for the year, such as "%d.%m.%Y".',
        )


def in_iso(frame: pl.DataFrame, formats: Mapping[str, str]) -> pl.DataFrame:
    """Return the frame with texts of these columns rewritten by ISO 8601; others stay.

    Raises
    ------
    SchemaError
        If a text isn't written by its column's format, with the number of such cells.
    """
    texts = [name for name in formats if frame.schema.get(name) == pl.String]
    return frame.with_columns(_iso(frame.get_column(name), formats[name]) for name in texts)


def _iso(texts: pl.Series, format_: str) -> pl.Series:
    read = _read(texts, format_)
    lost = read.null_count() - texts.null_count()
    if lost:
        raise SchemaError(
            f"Column {texts.name!r} is said to hold dates of the form {format_}, and {lost} of "
            f"{len(texts)} cells looked at are not.",
            hint="Correct the form under date_formats, or name the texts that mean missing.",
        )
    is_date = dtype_of_format(format_) == pl.Date
    return read.dt.strftime("%Y-%m-%d" if is_date else "%Y-%m-%d %H:%M:%S%.6f")


def _read(texts: pl.Series, format_: str) -> pl.Series:
    if dtype_of_format(format_) == pl.Date:
        return texts.str.to_date(format_, strict=False)
    return texts.str.to_datetime(format_, time_unit="us", strict=False)
