"""What a protection must know of a batch: its coded rows, or a fair sample of them."""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from halfmask._random import keyed_integers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from halfmask.data import Schema

#: How many rows a summary keeps before it becomes a sample. About 60 bytes each.
MAX_ROWS = 12_000_000
PRIORITY = "\0priority"  # no column of a table may be called that: names with NUL are refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The rows that a partition needs, in a small form; summaries add up.

    Parameters
    ----------
    rows
        The quasi-identifiers, sensitive columns and guides of the rows that are kept, in order.
        Beyond `MAX_ROWS`, those of the lowest random priority: a fair sample whatever the order of
        merging.
    distinct
        One row: a list of the distinct values of each kept column, of all rows. A plan knows every
        value.
    missing
        The kept columns that have missing cells in any row.
    n_rows
        How many rows were summarized.
    n_read
        How many rows were read, those with a cell that must not be missing included.
    """

    rows: pl.DataFrame
    distinct: pl.DataFrame
    missing: frozenset[str]
    n_rows: int
    n_read: int

    @property
    def complete(self) -> bool:
        """Whether every summarized row is kept."""
        return self.rows.height == self.n_rows

    def values(self, name: str) -> pl.Series:
        """Return the distinct values of a kept column, in no order; none is missing.

        Parameters
        ----------
        name
            The column.
        """
        listed = self.distinct[name].explode(empty_as_null=False)
        return listed.drop_nulls()  # no value is read as a missing one

    def __repr__(self) -> str:
        return f"Summary({self.rows.height} of {self.n_rows} rows)"

    def __add__(self, other: Summary) -> Summary:
        """Return the summary of both; the order of adding doesn't change what it describes."""
        return Summary.sum([self, other])

    @classmethod
    def sum(cls, summaries: Iterable[Summary]) -> Summary:
        """Add many summaries at once, in their order.

        Parameters
        ----------
        summaries
            The summaries of batches.
        """
        parts = list(summaries)
        rows = _kept(pl.concat([part.rows for part in parts], rechunk=False))
        # One query for all columns: with small batches, queries cost more than values.
        distinct = _distinct(
            pl.concat([part.distinct for part in parts]), pl.all().explode(empty_as_null=False)
        )
        return cls(
            rows=rows,
            distinct=distinct,
            missing=frozenset().union(*(part.missing for part in parts)),
            n_rows=functools.reduce(operator.add, (part.n_rows for part in parts)),
            n_read=functools.reduce(operator.add, (part.n_read for part in parts)),
        )


def compact(
    batch: pl.DataFrame,
    schema: Schema,
    names: list[str],
    *,
    sample_key: bytes | None = None,
    number: int = 0,
) -> Summary:
    """Summarize one batch."""
    n_read = batch.height
    needed = schema.suppressing
    if needed:
        batch = batch.drop_nulls(needed)
    rows = batch.select(_numbered(name, batch.schema[name]) for name in names)
    distinct = _distinct(rows, pl.all())
    missing = frozenset(name for name in names if rows[name].null_count())
    n_rows = rows.height
    if sample_key is not None:
        priority = keyed_integers(n_rows, key=sample_key, stream=number)
        rows = _kept(rows.with_columns(pl.Series(PRIORITY, priority, dtype=pl.UInt64)))
    return Summary(rows=rows, distinct=distinct, missing=missing, n_rows=n_rows, n_read=n_read)


def _distinct(rows: pl.DataFrame, cells: pl.Expr) -> pl.DataFrame:
    return rows.select(cells.drop_nulls().unique().implode())


def _kept(rows: pl.DataFrame) -> pl.DataFrame:
    return rows if rows.height <= MAX_ROWS else rows.sort(PRIORITY).head(MAX_ROWS)


def _numbered(name: str, dtype: pl.DataType) -> pl.Expr:
    """Return a column whose texts are numbers of the one pool that all columns share."""
    if isinstance(dtype, pl.Categorical) and dtype != pl.Categorical():
        return pl.col(name).cast(pl.String).cast(pl.Categorical)  # a pool of its own
    return pl.col(name).cast(pl.Categorical) if dtype == pl.String else pl.col(name)
