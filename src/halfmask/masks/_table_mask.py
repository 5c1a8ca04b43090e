"""Masks of several columns, and masks that drop rows: as a policy names them, and fitted."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl


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
        Whether it makes cells missing. It may then follow another mask of the same column.
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
