"""Ranges that are released as two columns: whether the lower end lies below the upper one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halfmask.claims._table_manifest import ReleasedColumn, TableManifest
    from halfmask.verifier.tables._stored_rows import StoredRows


def misplaced_bounds(
    stored: StoredRows, dtypes: Mapping[str, pl.DataType], manifest: TableManifest
) -> list[str]:
    """Say which columns of bounds aren't the two ends of ranges in every row."""
    ends: dict[str, list[ReleasedColumn]] = {}
    for column in manifest.columns:
        if column.bound_of is not None:
            ends.setdefault(column.bound_of, []).append(column)
    names = {column.name for column in manifest.columns}
    problems, ranges = [], {}
    for name, columns in ends.items():
        if len(columns) != 2 or name in names or not {it.name for it in columns} <= dtypes.keys():
            problems.append(f"The bounds of column {name!r} aren't two released columns.")
        else:
            ranges[name] = tuple((it.name, _is_text(it, dtypes[it.name])) for it in columns)
    if ranges:
        wrong = stored.fold(partial(_misplaced, tuple(ranges.values())), _added)
        problems += [
            f"In {n:,} rows the bounds of column {name!r} are no range."
            for name, n in zip(ranges, wrong, strict=True)
            if n
        ]
    return problems


def _misplaced(ranges: Sequence[Sequence[tuple[str, bool]]], table: pl.LazyFrame) -> list[int]:
    """Return in how many rows the lower end of each range isn't below the upper one."""
    found = []
    for ends in ranges:
        # Numbers as text are compared as numbers.
        low, high = (pl.col(n).cast(pl.Float64) if text else pl.col(n) for n, text in ends)
        wrong = (low > high) | (low.is_null() != high.is_null())
        found.append(int(table.select(wrong.sum()).collect(engine="streaming").item()))
    return found


def _added(left: Sequence[int], right: Sequence[int]) -> list[int]:
    return [sum(pair) for pair in zip(left, right, strict=True)]


def _is_text(column: ReleasedColumn, dtype: pl.DataType) -> bool:
    """Return whether a column has numbers as text; dates as text are in their order already."""
    return dtype == pl.String and column.kind != "datetime"
