"""Masks of several columns and of rows, and the readers that apply them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol, Self, runtime_checkable

import polars as pl

from halfmask._errors import DataError
from halfmask.data import ReaderAround

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from halfmask.data import Reader


class TableMaskPlan(Protocol):
    """A mask fitted to several columns. It may hold values or a key: keep it at home."""

    def apply(self, batch: pl.DataFrame, first_row: int) -> pl.DataFrame:
        """Return the released columns of a batch: the mask's `columns`, in any order.

        Parameters
        ----------
        batch
            The columns that the mask changes and those that it reads.
        first_row
            The number of the batch's first row in the table, from 0.
        """


@runtime_checkable
class TableMask(Protocol):
    """One technique for several columns, with its parameters: publishable.

    Attributes
    ----------
    name
        As policies and manifests write it.
    coarsens, is_matchable
        As of `Mask`.
    needs_rows
        Whether `fit` is given all rows, in memory. Otherwise it is given a frame without rows.
    suppresses
        Whether it makes cells missing. It may then follow another mask of the same column, unless
        its traits say that it rewrites others.
    columns
        The columns whose cells it changes.

    Notes
    -----
    A mask that differs from most has `MaskTraits` as ``traits``. One that moves the rows of a
    person together names the person's column there, in ``keyed_by``.
    """

    name: ClassVar[str]
    coarsens: ClassVar[bool]
    is_matchable: ClassVar[bool]
    needs_rows: ClassVar[bool]
    suppresses: ClassVar[bool]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns whose cells it changes."""

    @property
    def reads(self) -> tuple[str, ...]:
        """Further columns that it must see, such as strata."""

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """The names of the technique's weaknesses."""

    def written(self, dtypes: Mapping[str, pl.DataType]) -> dict[str, pl.DataType]:
        """Return the type of what is written for each of `columns`.

        Parameters
        ----------
        dtypes
            The types of the table's columns.

        Raises
        ------
        SchemaError
            If the technique isn't for columns of these types.
        """

    def fit(self, table: pl.DataFrame, key: bytes) -> TableMaskPlan:
        """Return the plan for a table.

        Parameters
        ----------
        table
            The columns that it changes and reads: all rows where `needs_rows`, else none.
        key
            32 secret bytes of this mask alone.
        """


class RowMaskPlan(Protocol):
    """A mask that drops rows, fitted to a table."""

    @property
    def n_rows(self) -> int:
        """How many rows are kept."""

    def kept(self, first_row: int, height: int) -> pl.Series:
        """Return for each row of a batch whether it is kept, as Boolean.

        Parameters
        ----------
        first_row
            The number of the batch's first row in the table, from 0.
        height
            How many rows the batch has.
        """


class RowMask(Protocol):
    """One way to choose the rows that are released: sampling.

    Attributes
    ----------
    name
        As of `TableMask`.
    """

    name: ClassVar[str]

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns that it must see, such as strata."""

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """The names of the technique's weaknesses."""

    def fit(self, table: pl.DataFrame | None, n_rows: int, key: bytes) -> RowMaskPlan:
        """Return the plan for a table.

        Parameters
        ----------
        table
            The columns that it reads, all rows; ``None`` where it reads none.
        n_rows
            How many rows the table has.
        key
            32 secret bytes of this mask alone.
        """


class HeldColumns:
    """A plan that holds the released columns of all rows.

    Parameters
    ----------
    columns
        The released columns, in the table's order of rows.

    Notes
    -----
    For techniques that look at all rows together, such as microaggregation: what is released for a
    row can't be found from the row alone. Memory is that of these columns.
    """

    def __init__(self, columns: pl.DataFrame) -> None:
        self._columns = columns

    def __repr__(self) -> str:
        return f"HeldColumns({self._columns.width} columns, {self._columns.height} rows)"

    def apply(self, batch: pl.DataFrame, first_row: int) -> pl.DataFrame:
        """Return the released columns of a batch; see `TableMaskPlan`."""
        return self._columns.slice(first_row, batch.height)


class ChangedReader(ReaderAround):
    """A reader that masks several columns together."""

    def __init__(self, reader: Reader, mask: TableMask, plan: TableMaskPlan) -> None:
        self._reader, self._mask, self._plan = reader, mask, plan
        self.columns = reader.columns
        self.dtypes = {**reader.dtypes, **mask.written(reader.dtypes)}
        self.n_rows = reader.n_rows
        others = () if mask.suppresses else mask.columns
        self.orders = {
            name: it
            for name, it in reader.orders.items()
            if name not in others or isinstance(self.dtypes[name], pl.Enum)
        }

    def frames(self, columns: Sequence[str], n_rows: int) -> Iterator[pl.DataFrame]:
        changed = [name for name in columns if name in self._mask.columns]
        if not changed:
            yield from self._reader.frames(columns, n_rows)
            return
        first_row = self.first_row
        needed = list(dict.fromkeys((*columns, *self._mask.columns, *self._mask.reads)))
        own = list(dict.fromkeys((*self._mask.columns, *self._mask.reads)))
        for frame in self._reader.frames(needed, n_rows):
            found = self._plan.apply(frame.select(own), first_row)
            self._check(frame, found)
            yield frame.with_columns(found.select(changed)).select(columns)
            first_row += frame.height

    def _check(self, before: pl.DataFrame, after: pl.DataFrame) -> None:
        for name in self._mask.columns:
            was, now = before[name], after[name]
            if (
                now.dtype != self.dtypes[name]
                or now.len() != was.len()
                or not self._nulls(was, now)
            ):
                raise DataError(
                    f"The mask {self._mask.name!r} wrote another type, another number of cells, "
                    f"or something where a cell of column {name!r} is missing.",
                    hint="This is a fault of the mask.",
                )

    def _nulls(self, was: pl.Series, now: pl.Series) -> bool:
        if not self._mask.suppresses:
            return now.is_null().equals(was.is_null())
        kept = now.is_not_null()
        return bool((was.is_not_null() | ~kept).all())


class KeptReader(ReaderAround):
    """A reader of the rows that a sample keeps."""

    def __init__(self, reader: Reader, plan: RowMaskPlan) -> None:
        self._reader, self._plan = reader, plan
        self.columns, self.dtypes = reader.columns, dict(reader.dtypes)
        self.orders, self.n_rows = dict(reader.orders), plan.n_rows
        self._first = 0

    def part(self, rows: range) -> Self:
        """Return a reader of the kept ones of some rows."""
        found = super().part(rows)
        first, read = found.first_row, found.n_rows
        found._first = first  # noqa: SLF001 # of its own class
        found.first_row = int(self._plan.kept(0, first).sum())
        found.n_rows = int(self._plan.kept(first, read).sum())
        return found

    def frames(self, columns: Sequence[str], n_rows: int) -> Iterator[pl.DataFrame]:
        first_row = self._first
        for frame in self._reader.frames(columns, n_rows):
            found = frame.filter(self._plan.kept(first_row, frame.height))
            if found.height:
                yield found
            first_row += frame.height
