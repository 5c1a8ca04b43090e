"""Cells of another type than at the fit: the same values in the fitted type, or an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from halfmask._errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Mapping

_TEXT_FILES = {"csv", "tsv"}


def as_fitted(column: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return a column's values in the type that they had at the fit.

    Numbers become other numbers, times times of another unit or zone, and texts integers that are
    written as these texts.
    """
    if column.dtype == dtype:
        return column
    if column.null_count() == len(column):
        return pl.Series(column.name, [None] * len(column), dtype=dtype)
    cast = column.cast(dtype, strict=False) if _is_of_kind(column.dtype, dtype) else None
    if cast is None or not _is_same(column, cast):
        hint = "Read the column with the type that it had."
        if column.dtype == pl.String:
            hint = "Look for leading zeros, words and marks of missing cells among its numbers."
        raise SchemaError(
            f"Column {column.name!r} held {dtype} at the fit and holds {column.dtype} now.",
            hint=hint,
        )
    return cast


def types_to_declare(
    found: Mapping[str, pl.DataType],
    fitted: Mapping[str, pl.DataType],
    *,
    format: str | None,  # noqa: A002 # the word for it
) -> dict[str, pl.DataType]:
    """Return the types to read a text file's columns with, where its cells don't say them.

    A text of digits is the text that it was at the fit. Numbers keep the type that was read:
    `as_fitted` converts them, and refuses what lost a digit.
    """
    declared = {}
    for name, dtype in found.items():
        wanted = fitted.get(name, dtype)
        if wanted == dtype:
            continue
        text = wanted == pl.String and format in _TEXT_FILES
        special = dtype == pl.String and (wanted.is_temporal() or wanted.is_decimal())
        if text or special:
            declared[name] = wanted
    return declared


def _is_of_kind(now: pl.DataType, fitted: pl.DataType) -> bool:
    if now == pl.String:
        return fitted.is_integer()
    if isinstance(now, pl.Datetime) and isinstance(fitted, pl.Datetime):
        return (now.time_zone is None) == (fitted.time_zone is None)
    local = all(it == pl.Date or (isinstance(it, pl.Datetime) and it.time_zone is None)
                for it in (now, fitted))  # fmt: skip
    spans = now == pl.Duration and fitted == pl.Duration
    return local or spans or (now.is_numeric() and fitted.is_numeric())


def _is_same(before: pl.Series, after: pl.Series) -> bool:
    """Return whether each value is the one that it was."""
    back = after.cast(before.dtype, strict=False)
    if before.dtype.is_float() and after.dtype.is_integer():
        # Beyond 2**53 a float stands for more than one integer.
        return back.equals(before) and bool((before.abs() <= 2.0**53).all())
    return back.equals(before)
