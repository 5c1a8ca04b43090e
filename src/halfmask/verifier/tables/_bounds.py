"""Ranges that are released as two columns: whether the lower end lies below the upper one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halfmask.claims._table_manifest import ReleasedColumn, TableManifest

__all__ = ["misplaced_bounds"]


def misplaced_bounds(
    table: pl.LazyFrame, dtypes: Mapping[str, pl.DataType], manifest: TableManifest
) -> list[str]:
    """Say which columns of bounds aren't the two ends of ranges in every row.

    Parameters
    ----------
    table, dtypes
        The released rows, and the types of their columns.
    manifest
        What it says of columns.
    """
    ends: dict[str, list[ReleasedColumn]] = {}
    for column in manifest.columns:
        if column.bound_of is not None:
            ends.setdefault(column.bound_of, []).append(column)
    names = {column.name for column in manifest.columns}
    problems = []
    for name, columns in ends.items():
        if len(columns) != 2 or name in names or not {it.name for it in columns} <= dtypes.keys():
            problems.append(f"The bounds of column {name!r} aren't two released columns.")
            continue
        low, high = (_comparable(each, dtypes[each.name]) for each in columns)
        wrong = (low > high) | (low.is_null() != high.is_null())
        n_wrong = table.select(wrong.sum()).collect(engine="streaming").item()
        if n_wrong:
            problems.append(f"In {n_wrong:,} rows the bounds of column {name!r} are no range.")
    return problems


def _comparable(column: ReleasedColumn, dtype: pl.DataType) -> pl.Expr:
    """Return a column whose order is that of its values; dates as text have it already."""
    cells = pl.col(column.name)
    return cells.cast(pl.Float64) if dtype == pl.String and column.kind != "datetime" else cells
