"""Cells made what the caller says of them: missing where marked, and of the declared type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl

from halfmask._errors import ColumnNotFoundError, SchemaError
from halfmask.data._text_types import typed

__all__ = ["cast_declared", "check_declared", "mark_missing"]


def mark_missing(frame: pl.DataFrame, markers: tuple[str, ...] | None) -> pl.DataFrame:
    """Return the frame with null for each text that is one of the markers."""
    texts = [name for name, dtype in frame.schema.items() if dtype == pl.String]
    if not markers or not texts:
        return frame
    marked = pl.col(texts).is_in(list(markers))
    return frame.with_columns(pl.when(~marked).then(pl.col(texts)).name.keep())


def check_declared(dtypes: Iterable[str], columns: Iterable[str]) -> None:
    """Raise unless each column that a type is declared for is in the table."""
    there = list(columns)
    absent = sorted(set(dtypes) - set(there))
    if absent:
        raise ColumnNotFoundError.of(absent, there, where="the table")


def cast_declared(frame: pl.DataFrame, dtypes: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Return the frame with the declared types; no cell is lost on the way.

    Raises
    ------
    SchemaError
        If a cell isn't of its column's declared type, with the number of such cells.
    """
    wanted = {n: t for n, t in dtypes.items() if n in frame.columns and frame.schema[n] != t}
    if not wanted:
        return frame
    texts = [name for name in wanted if frame.schema[name] == pl.String]
    others = [name for name in wanted if frame.schema[name] != pl.String]
    cast = frame.with_columns(typed(frame.select(texts), wanted)[0].get_columns())
    cast = cast.with_columns(pl.col(name).cast(wanted[name], strict=False) for name in others)
    for name in wanted:
        _check(frame.get_column(name), cast.get_column(name))
    return cast


def _check(before: pl.Series, after: pl.Series) -> None:
    lost = after.null_count() - before.null_count()
    if not lost and before.dtype.is_numeric() and after.dtype.is_integer():
        # A cast to integers cuts decimals off without a word.
        lost = int((after.cast(before.dtype) != before).sum() or 0)
    if lost:
        raise SchemaError(
            f"Column {before.name!r} is declared to be {after.dtype}, and {lost} of "
            f"{len(before)} cells looked at are not.",
            hint="Declare it as string, or name the texts that mean missing.",
        )
