"""Frames of roles: turned into polars, and refused where cells have no text to be compared by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from halfmask._errors import SchemaError
from halfmask.assess.attacks._inputs import as_table

if TYPE_CHECKING:
    from collections.abc import Iterable


def as_frame(table: object, **_: str) -> pl.DataFrame:
    """Return a frame of polars as it is, and one of another library, or a lazy one, as polars.

    Bytes are turned into text: the digits that spell them.
    """
    frame = table if isinstance(table, pl.DataFrame) else as_table(table)
    spelt = [each.bin.encode("hex") for each in frame.iter_columns() if each.dtype == pl.Binary]
    return frame.with_columns(spelt) if spelt else frame


def plain_frame(table: object, *, parameter: str, **_: str) -> pl.DataFrame:
    """Return a table whose cells are all plain, as :func:`as_frame` does."""
    taken = as_frame(table)
    check_plain(taken, taken.columns, where=parameter)
    return taken


def check_plain(frame: pl.DataFrame, names: Iterable[str], *, where: str) -> None:
    """Raise unless each cell of these columns is one number, text, date, time or truth value."""
    for name in names:
        dtype = frame.schema[name]
        if dtype.is_nested() or dtype == pl.Object:
            raise SchemaError(
                f"Column {name!r} of {where} holds values of type {type(dtype).__name__}.",
                hint="Spread it over plain columns, or leave the column out.",
            )
