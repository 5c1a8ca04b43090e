"""Columns of single values: masks of any type take them, and no lists or structs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask._errors import SchemaError

if TYPE_CHECKING:
    import polars as pl


def check_single(column: str, dtype: pl.DataType, *, mask: str) -> None:
    """Raise if a column holds lists, arrays or structs."""
    if dtype.is_nested():
        raise SchemaError(
            f"Column {column!r} has the mask {mask!r}, which is for single values. "
            f"Got the type {dtype.base_type().__name__}."
        )
