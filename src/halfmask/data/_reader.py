"""Reader: what a format, or a wrapper around one, has to know of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

__all__ = ["Reader"]


class Reader(Protocol):
    """What a format has to know of a table."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""

    @property
    def dtypes(self) -> dict[str, pl.DataType]:
        """The type of each column, the same in every frame."""

    @property
    def n_rows(self) -> int:
        """The number of rows."""

    @property
    def orders(self) -> dict[str, tuple[str, ...]]:
        """The categories, in order, of each column whose type has an order."""

    def frames(self, columns: Sequence[str], n_rows: int) -> Iterator[pl.DataFrame]:
        """Yield the rows in frames of any size, bounded by ``n_rows`` or by bytes.

        Parameters
        ----------
        columns
            The columns to read.
        n_rows
            The most rows of a frame.
        """
