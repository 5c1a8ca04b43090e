"""Times of any kind as seconds, and numbers of any kind as such."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._errors import DataError
from halfmask.assess.attacks._number_reader import NumberReader
from halfmask.assess.attacks._reading import is_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_MICROSECONDS = 1e6


def floats(columns: Sequence[pl.Series]) -> list[NDArray[np.float64]]:
    """Return numbers and what spells them; NaN where one is missing, infinite, or none.

    Numbers of more digits than a float has are measured from one origin, so that they differ.
    """
    plain = [each.cast(pl.String) if is_text(each.dtype) else each for each in columns]
    reader = NumberReader.of(pl.Float64(), plain)
    return [reader.numbers(each).fill_null(np.nan).to_numpy() for each in plain]


def seconds(column: pl.Series) -> NDArray[np.float64]:
    """Return dates, times, ISO 8601 texts or numbers as seconds; NaN where missing or infinite.

    Examples
    --------
    >>> seconds(pl.Series(["1970-01-01T00:01:00Z", None]))
    array([60., nan])
    """
    if is_text(column.dtype):
        column = _read(column.cast(pl.String))
    if not (column.dtype.is_numeric() or column.dtype.is_temporal() or column.dtype == pl.Null):
        raise DataError("A column of times holds neither times nor numbers.")
    if column.dtype == pl.Date:
        column = column.cast(pl.Datetime("us"))
    if isinstance(column.dtype, pl.Datetime):
        column = column.dt.epoch("us") / _MICROSECONDS
    found = column.cast(pl.Float64).fill_null(np.nan).to_numpy()
    return np.where(np.isfinite(found), found, np.nan)


def _read(column: pl.Series) -> pl.Series:
    """Read texts as times, by the first of the usual ways that reads them all."""
    text = column.str.replace("Z$", "+00:00").str.replace("T", " ", literal=True)
    for zoned, how in (
        (True, "%Y-%m-%d %H:%M:%S%.f%:z"),
        (False, "%Y-%m-%d %H:%M:%S%.f"),
        (False, "%Y-%m-%d %H:%M"),
        (False, "%Y-%m-%d"),
    ):
        if how == "%Y-%m-%d":
            read = text.str.to_date(how, strict=False).cast(pl.Datetime("us"))
        else:
            zone = "UTC" if zoned else None
            read = text.str.to_datetime(how, time_unit="us", time_zone=zone, strict=False)
        if read.null_count() == column.null_count():
            return read
    raise DataError("A column of times holds texts that are no ISO 8601 times.")
