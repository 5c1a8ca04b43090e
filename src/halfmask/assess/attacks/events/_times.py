"""Times of any kind as seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["seconds"]

_MICROSECONDS = 1e6


def seconds(column: pl.Series) -> NDArray[np.float64]:
    """Return dates, times, ISO 8601 texts or numbers as seconds; NaN where one is missing.

    Raises
    ------
    DataError
        If a text is no time.

    Examples
    --------
    >>> seconds(pl.Series(["1970-01-01T00:01:00Z", None]))
    array([60., nan])
    """
    if column.dtype == pl.String:
        column = _read(column)
    if column.dtype == pl.Date:
        column = column.cast(pl.Datetime("us"))
    if isinstance(column.dtype, pl.Datetime):
        column = column.dt.epoch("us") / _MICROSECONDS
    return column.cast(pl.Float64).fill_null(np.nan).to_numpy()


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
