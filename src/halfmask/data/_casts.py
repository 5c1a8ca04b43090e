"""Cells made what the caller says of them: missing where marked, and of the declared type."""

from __future__ import annotations

import datetime as dt
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl

from halfmask._errors import ColumnNotFoundError, ColumnWarning, SchemaError
from halfmask.data.value_patterns import PATTERNS

if TYPE_CHECKING:
    from halfmask.data._declarations import Declaration


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
