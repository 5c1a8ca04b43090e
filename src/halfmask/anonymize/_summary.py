"""The rows that a protection is fitted to: a summary of batches, and their cells as integers.

Sensitive values, persons and what is written for a cell are coded.
"""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import polars as pl

from halfmask._random import keyed_integers
from halfmask.guarantees import value_codes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from halfmask.data import Schema


def _person_numbers(series: pl.Series, known: pl.DataFrame) -> NDArray[np.int64]:
    """Return the number of each person; texts are compared as texts."""
    dtype = known["value"].dtype
    if isinstance(dtype, pl.Categorical | pl.Enum) or isinstance(
        series.dtype, pl.Categorical | pl.Enum
    ):
        known = known.with_columns(pl.col("value").cast(pl.String))
        series = series.cast(pl.String)
    asked = pl.DataFrame({"value": series})
    found = asked.join(known, on="value", how="left", maintain_order="left", nulls_equal=True)
    return found["person"].to_numpy().astype(np.int64)


def _written_numbers(
    cells: NDArray[np.integer], codes: NDArray[np.integer], n_values: int, n_cells: int
) -> NDArray[np.int64]:
    low = np.full(n_cells, n_values, dtype=np.int64)
    high = np.full(n_cells, -1, dtype=np.int64)
    missing = np.zeros(n_cells, dtype=np.int64)
    held = codes < n_values
    np.minimum.at(low, cells[held], codes[held].astype(np.int64))
    np.maximum.at(high, cells[held], codes[held].astype(np.int64))
    missing[cells[~held]] = 1
    keys = (low * (n_values + 1) + high + 1) * 2 + missing
    numbers: NDArray[np.int64] = np.unique(keys, return_inverse=True)[1].astype(np.int64)
    return numbers


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


@dataclass(frozen=True, slots=True, kw_only=True)
class SensitiveCodes:
    """One sensitive column of the rows that were fitted, and the order of all its values."""

    name: str
    order: tuple[str, ...]
    n_values: int
    codes: NDArray[np.int64]

    def __repr__(self) -> str:
        return f"SensitiveCodes({self.name!r}, {self.n_values} values)"

    @classmethod
    def of(cls, series: pl.Series, *, order: tuple[str, ...], missing: bool) -> Self:
        """Code the rows of a fit."""
        codes, _ = value_codes(series, order=order)
        return cls(name=series.name, order=order, n_values=len(order) + missing, codes=codes)

    def of_batch(self, series: pl.Series) -> NDArray[np.int64]:
        """Code the rows of another batch in the same way."""
        return value_codes(series, order=self.order)[0]


def narrow(codes: NDArray[np.integer[Any]], n_codes: int) -> NDArray[np.unsignedinteger[Any]]:
    """Return codes from 0 in the narrowest type that holds them: a large table has many."""
    return codes.astype(np.min_scalar_type(max(0, n_codes - 1)))


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonCodes:
    """The person of each row that was fitted, and all persons of the table."""

    known: pl.DataFrame
    codes: NDArray[np.int64]

    def __repr__(self) -> str:
        return f"PersonCodes({self.n_persons} persons)"

    @classmethod
    def of(cls, series: pl.Series, values: pl.Series) -> Self:
        """Return the persons of a fit as numbers."""
        known = pl.DataFrame(
            {"value": values, "person": np.arange(len(values), dtype=np.int64)},
        )
        return cls(known=known, codes=_person_numbers(series, known))

    @property
    def n_persons(self) -> int:
        """How many persons the table has."""
        return self.known.height

    def of_batch(self, series: pl.Series) -> NDArray[np.int64]:
        """Return the persons of other rows by the same numbers."""
        return _person_numbers(series, self.known)

    def as_lane(self, name: str) -> SensitiveCodes:
        """Return the persons as a column whose different values the engine can count."""
        return SensitiveCodes(name=name, order=(), n_values=self.n_persons, codes=self.codes)


def written_codes(
    columns: Iterable[tuple[NDArray[np.integer], NDArray[np.integer], int]], n_cells: int
) -> NDArray[np.int64]:
    """Return the number of what is written for each cell in each column, (cells, columns).

    Notes
    -----
    **Guarantees.** Cells of one number have one text, by the recodings `Ranges` and `Level`: their
    texts depend on the least and the greatest value of a cell, and on whether cells are missing.
    """
    return np.column_stack([_written_numbers(*column, n_cells) for column in columns])
