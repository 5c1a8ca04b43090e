"""Columns that are made of others while a table is read: a place of two coordinates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from halfmask._errors import ColumnNotFoundError, SchemaError
from halfmask.data.io._reader import ReaderAround

if TYPE_CHECKING:
    import polars as pl

    from halfmask.data.io._reader import Reader
    from halfmask.data.io._source import Source


@runtime_checkable
class DerivedColumn(Protocol):
    """A column that each batch of a table is given in the place of those that it is made of."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns that it is made of, one at least."""

    @property
    def replaces(self) -> tuple[str, ...]:
        """Those of them that the table then doesn't have."""

    @property
    def dtype(self) -> pl.DataType:
        """Its type."""

    def derive(self, frame: pl.DataFrame) -> pl.Series:
        """Return its cells of some rows; each depends on nothing but its own row."""


class DerivedReader(ReaderAround):
    """A table with columns made of others, which stand where the first of these stood.

    Of a frame in memory they are made once, else whenever a batch is read.
    """

    def __init__(
        self, reader: Reader, derived: Mapping[str, DerivedColumn], *, in_memory: bool
    ) -> None:
        self._reader, self._derived = reader, dict(derived)
        gone = {name for each in derived.values() for name in each.replaces}
        _check(reader.columns, derived, gone)
        self.columns = tuple(
            name
            for old in reader.columns
            for name in (
                *([] if old in gone else [old]),
                *(new for new, each in derived.items() if each.reads[0] == old),
            )
        )
        kept = {name: dtype for name, dtype in reader.dtypes.items() if name not in gone}
        made = {name: each.dtype for name, each in derived.items()}
        self.dtypes = {name: {**kept, **made}[name] for name in self.columns}
        self.n_rows = reader.n_rows
        self.orders = {name: order for name, order in reader.orders.items() if name not in gone}
        self._cells: pl.DataFrame | None = None
        if in_memory and reader.n_rows:
            self._cells = next(self.frames(list(derived), reader.n_rows))

    @property
    def made(self) -> frozenset[str]:
        """The names of all columns that are made of others."""
        return super().made | self._derived.keys()

    def frames(self, columns: Sequence[str], n_rows: int) -> Iterator[pl.DataFrame]:
        """Yield the rows in frames, as the table below does."""
        made = {name: each for name, each in self._derived.items() if name in columns}
        kept = [name for name in columns if name not in made]
        read = [name for each in made.values() for name in each.reads]
        done = 0
        for frame in self._reader.frames(list(dict.fromkeys((*kept, *read))), n_rows):
            cells = (
                [each.derive(frame).alias(name) for name, each in made.items()]
                if self._cells is None
                else self._cells.select(*made).slice(done, frame.height).get_columns()
            )
            done += frame.height
            yield frame.with_columns(cells).select(columns)


def _check(columns: Sequence[str], derived: Mapping[str, DerivedColumn], gone: set[str]) -> None:
    absent = [name for each in derived.values() for name in each.reads if name not in columns]
    if absent:
        raise ColumnNotFoundError.of(list(dict.fromkeys(absent)), columns, where="the table")
    twice = [name for name in derived if name in columns and name not in gone]
    if twice:
        raise SchemaError(
            f"Column {twice[0]!r} is made of others, and the table has a column of this name.",
            hint="Give the one that is made another name.",
        )


def with_derived(source: Source, derived: Mapping[str, DerivedColumn]) -> Source:
    """Return a table with columns made of others; one that has them already is given none again."""
    lacking = {name: each for name, each in derived.items() if name not in source.made}
    if not lacking:
        return source
    in_memory = source.format == "frame"
    return source.through(lambda reader: DerivedReader(reader, lacking, in_memory=in_memory))
