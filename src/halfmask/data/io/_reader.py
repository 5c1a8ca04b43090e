"""Reader: what a format, or a wrapper around one, has to know of a table."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Protocol, Self, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

    from halfmask.data.io.places import Place


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


@runtime_checkable
class DivisibleReader(Reader, Protocol):
    """A reader whose rows can be read in parts, by any process that sees the files."""

    @property
    def raw_rows(self) -> int | None:
        """The rows of the files; ``None`` if they can only be read from the start."""

    @property
    def places(self) -> Sequence[Place]:
        """The files that the rows are in."""

    @property
    def first_row(self) -> int:
        """The number that the first row has in the whole table, as this reader counts them."""

    def part(self, rows: range) -> DivisibleReader:
        """Return a reader of some rows."""


def divisible(reader: Reader) -> DivisibleReader | None:
    """Return a reader if its rows can be read in parts."""
    found = isinstance(reader, DivisibleReader) and reader.raw_rows is not None
    return reader if found and isinstance(reader, DivisibleReader) else None


class ReaderAround:
    """What readers around another one share: a part of them is around a part of it.

    A reader that drops rows extends `part`.
    """

    _reader: Reader
    n_rows: int
    first_row: int = 0

    @property
    def raw_rows(self) -> int | None:
        """The rows of the files; ``None`` if they can only be read from the start."""
        below = divisible(self._reader)
        return None if below is None else below.raw_rows

    @property
    def places(self) -> Sequence[Place]:
        """The files that the rows are in."""
        below = divisible(self._reader)
        return () if below is None else below.places

    def part(self, rows: range) -> Self:
        """Return a reader of some rows; see `DivisibleReader`.

        Parameters
        ----------
        rows
            The numbers of the rows.
        """
        below = divisible(self._reader)
        if below is None:
            raise TypeError("These rows can only be read from the start.")
        found = copy.copy(self)
        found._reader = inner = below.part(rows)  # noqa: SLF001 # of its own class
        found.n_rows, found.first_row = inner.n_rows, inner.first_row
        return found
