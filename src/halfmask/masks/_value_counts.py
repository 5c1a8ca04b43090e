"""How often each value of a column occurs, for masks that are fitted to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import polars as pl

from halfmask._errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class ValueCounts:
    """The different values of a column, in order, and how often each occurs.

    Parameters
    ----------
    values
        Different values in rising order, none of them missing.
    counts
        How often each occurs.

    Notes
    -----
    **Cost.** Memory is that of the different values: of a column of fractions, nearly the column.

    Examples
    --------
    >>> ValueCounts.of(pl.Series([3, 1, 3, None])) + ValueCounts.of(pl.Series([2, 3]))
    ValueCounts(3 values of 5 cells)
    """

    values: pl.Series
    counts: pl.Series

    def __repr__(self) -> str:
        return f"ValueCounts({self.values.len()} values of {self.cells} cells)"

    @classmethod
    def of(cls, column: pl.Series) -> Self:
        """Count the cells of a batch."""
        cells = pl.DataFrame({"value": column.drop_nulls()})
        return cls._summed(cells.with_columns(count=pl.lit(1, dtype=pl.Int64)))

    @classmethod
    def sum(cls, parts: Iterable[Self]) -> Self:
        """Add up the counts of batches."""
        frames = [pl.DataFrame({"value": it.values, "count": it.counts}) for it in parts]
        return cls._summed(pl.concat(frames))

    def __add__(self, other: Self) -> Self:
        return self.sum([self, other])

    @property
    def cells(self) -> int:
        """How many cells aren't missing."""
        return int(self.counts.sum())

    @classmethod
    def _summed(cls, cells: pl.DataFrame) -> Self:
        found = cells.group_by("value").agg(pl.col("count").sum()).sort("value")
        return cls(found["value"], found["count"])


def check_single(column: str, dtype: pl.DataType, *, mask: str) -> None:
    """Raise if a column holds lists, arrays or structs."""
    if dtype.is_nested():
        raise SchemaError(
            f"Column {column!r} has the mask {mask!r}, which is for single values. "
            f"Got the type {dtype.base_type().__name__}."
        )
