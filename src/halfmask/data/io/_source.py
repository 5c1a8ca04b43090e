"""One table to read, wherever it lies: its columns, their types, its rows in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl

from halfmask._errors import ColumnNotFoundError, DataError, ParameterError, SchemaError
from halfmask._validation import integer_at_least, is_text, list_of
from halfmask.data._declarations import check_declared
from halfmask.data.io._reader import (
    Normalization,
    NormalizedReader,
    SelectedReader,
    check_steps,
    divisible,
)
from halfmask.data.io.formats import (
    TEXT_FORMATS,
)
from halfmask.data.io.places import Place

if TYPE_CHECKING:
    from halfmask.data.io._reader import Reader

# What one batch holds unless asked otherwise: about 130 MB of numbers.
_CELLS = 1 << 24
_MAX_ROWS = 1_000_000
# Text takes several times its size while it is read.
_MAX_TEXT_ROWS = 250_000


class Source:
    """A table that can be read as often as is wanted, whole or in batches.

    Made by `open_table`.

    Parameters
    ----------
    reader
        What the table is read through.
    format
        The format that it is read as, such as ``"csv"``.
    places
        Where the files are. A file that changes later is an error.

    Guarantees
    ----------
    Every batch has the same columns of the same types, in the same order. Reading twice gives the
    same rows in the same order; a file that changes in between is an error where it shows.
    """

    def __init__(
        self,
        reader: Reader,
        *,
        format: str,  # noqa: A002 - the word for it
        places: Sequence[Place] = (),
    ) -> None:
        self._reader = reader
        self.format = format
        self._places = places
        self._stamps = [place.stamp() for place in places]
        self._labelled: frozenset[str] = getattr(reader, "labelled", frozenset())

    def __repr__(self) -> str:
        return f"Source(format={self.format!r}, columns={len(self.columns)}, rows={self.n_rows})"

    @property
    def on_workers(self) -> str:
        """What to do where a worker of a cluster can't read the table."""
        return next((place.on_workers for place in self._places), Place.on_workers)

    @property
    def files(self) -> list[Place]:
        """The local files that it is read from."""
        return [place for place in self._places if type(place) is Place and place.is_file]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in the table's order."""
        return self._reader.columns

    @property
    def dtypes(self) -> dict[str, pl.DataType]:
        """The type of each column, in the table's order."""
        return dict(self._reader.dtypes)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self._reader.n_rows

    @property
    def orders(self) -> dict[str, tuple[str, ...]]:
        """The categories, in order, of each column whose type in the table has an order."""
        return dict(self._reader.orders)

    @property
    def labelled(self) -> frozenset[str]:
        """The columns of numbers whose values mostly have labels in the file."""
        return self._labelled

    @property
    def made(self) -> frozenset[str]:
        """The names of the columns that are made of others while the table is read."""
        return getattr(self._reader, "made", frozenset())

    def batches(
        self, n_rows: int | None = None, *, columns: Sequence[str] | None = None
    ) -> Iterator[pl.DataFrame]:
        """Yield the rows in batches, in order.

        Parameters
        ----------
        n_rows
            How many rows a batch has (at least 1); the last may have fewer. By default a million,
            of a text format a quarter of it, and fewer in a table of more than 16 columns.
        columns
            The columns to read, in the order wanted; all by default. Others are not looked at.

        Raises
        ------
        ColumnNotFoundError
            If a column isn't there.
        DataError
            If the file has changed since it was opened.

        Guarantees
        ----------
        No more than about two batches are in memory at once, whatever the size of the table,
        except that an Arrow file is read by the record batches it was written in.
        """
        wanted = self._check_columns(columns)
        if n_rows is None:
            n_rows = self._rows_of_batch()
        integer_at_least(1, owner="Source.batches", n_rows=n_rows)
        return self._yield_batches(wanted, n_rows)

    def parts(self, n_rows: int | None = None) -> list[range] | None:
        """Return the rows of each batch, where `part` can read them alone.

        Parameters
        ----------
        n_rows
            As of `batches`.

        Returns
        -------
        list of range, or None
            The numbers of the rows in the files, from 0; ``None`` unless the table is in files of
            Parquet.
        """
        reader = divisible(self._reader)
        if reader is None or reader.raw_rows is None:
            return None
        whole = range(reader.raw_rows)
        n_rows = self._rows_of_batch() if n_rows is None else n_rows
        return [whole[first : first + n_rows] for first in range(0, len(whole), n_rows)]

    def part(self, rows: range) -> Source:
        """Return some rows as a table of their own, for another process.

        Parameters
        ----------
        rows
            One of `parts`.

        Raises
        ------
        DataError
            If the table can only be read from its start.
        """
        reader = divisible(self._reader)
        if reader is None:
            raise DataError("The table to read can't be read in parts.", hint="Give Parquet files.")
        part = reader.part(rows)
        # What the files were when the whole table was opened.
        stamps = {id(place): stamp for place, stamp in zip(self._places, self._stamps, strict=True)}
        source = Source(part, format=self.format)
        source._places = part.places
        source._stamps = [stamps[id(place)] for place in part.places]
        return source

    def without(self, columns: Sequence[str]) -> Source:
        """Return the same table without some columns, which are then never looked at.

        Parameters
        ----------
        columns
            The names of the columns to drop.

        Raises
        ------
        ColumnNotFoundError
            If a column isn't there.
        SchemaError
            If no column would be left.
        """
        dropped = self._check_columns(columns)
        left = [name for name in self.columns if name not in dropped]
        if not left:
            raise SchemaError("No column of the table is left.")
        return self.through(lambda reader: SelectedReader(reader, left))

    def through(self, wrap: Callable[[Reader], Reader]) -> Source:
        """Return the same table as a reader around its reader gives it.

        Parameters
        ----------
        wrap
            From the reader of this table to one with as many rows, such as a
            `halfmask.masks.MaskedReader`.
        """
        source = Source(wrap(self._reader), format=self.format, places=self._places)
        source._stamps, source._labelled = self._stamps, self._labelled
        return source

    def normalized(
        self,
        steps: Mapping[str, Sequence[Normalization]],
        *,
        missing: tuple[str, ...] | None = None,
    ) -> Source:
        """Return the same table with one spelling for each value of some columns of text.

        Parameters
        ----------
        steps
            By column: a list of ``"trim"``, ``"nfc"`` and ``"casefold"``.
        missing
            The texts that mean a missing cell; ``None`` is the empty text in CSV, and none else.

        Raises
        ------
        ColumnNotFoundError
            If a column isn't there.
        ParameterError
            If a step is none of these.
        """
        if not steps:
            return self
        check_declared(steps, self.columns)
        checked = {name: check_steps(name, given) for name, given in steps.items()}
        marks = missing if missing is not None else ("",) if self.format in {"csv", "tsv"} else ()
        return self.through(lambda reader: NormalizedReader(reader, checked, marks))

    def read(self, *, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return the whole table, or some columns of it.

        Parameters
        ----------
        columns
            The columns to read; by default all.

        Raises
        ------
        ColumnNotFoundError
            If a column isn't there.
        DataError
            If the file has changed since it was opened.
        """
        wanted = self._check_columns(columns)
        batches = list(self._yield_batches(wanted, max(1, self._reader.n_rows)))
        if not batches:  # a part whose rows a mask drops
            return pl.DataFrame(schema={name: self._reader.dtypes[name] for name in wanted})
        return batches[0] if len(batches) == 1 else pl.concat(batches)

    def _rows_of_batch(self) -> int:
        most = _MAX_TEXT_ROWS if self.format in TEXT_FORMATS else _MAX_ROWS
        return max(1, min(most, _CELLS // len(self.columns)))

    def _check_columns(self, columns: Sequence[str] | None) -> list[str]:
        if columns is None:
            return list(self.columns)
        list_of("different names of columns", is_text, owner="Source", columns=columns)
        if not columns or len(set(columns)) < len(columns):
            raise ParameterError(
                "The 'columns' parameter of Source must be a list of different column names."
            )
        absent = [name for name in columns if name not in self._reader.dtypes]
        if absent:
            raise ColumnNotFoundError.of(absent, self.columns, where="the table")
        return list(columns)

    def _yield_batches(self, columns: list[str], n_rows: int) -> Iterator[pl.DataFrame]:
        expected = {name: self._reader.dtypes[name] for name in columns}
        seen = 0
        self._check_unchanged()
        for batch in rebatch(self._reader.frames(columns, n_rows), n_rows):
            seen += batch.height
            if dict(batch.schema) != expected or seen > self.n_rows:
                raise _report_change()
            yield batch
        self._check_unchanged()
        if seen != self.n_rows:
            raise _report_change()

    def _check_unchanged(self) -> None:
        """Raise if a file isn't the one that was opened: rows would get the cells of others."""
        if [place.stamp() for place in self._places] != self._stamps:
            raise _report_change()


def _report_change() -> DataError:
    return DataError("The table to read has changed while it was read.")


def rebatch(frames: Iterator[pl.DataFrame], n_rows: int) -> Iterator[pl.DataFrame]:
    """Yield the same rows in frames of exactly ``n_rows`` rows, except the last."""
    held: list[pl.DataFrame] = []
    rows = 0
    for frame in frames:
        if not held and frame.height == n_rows:
            yield frame
            continue
        held.append(frame)
        del frame
        rows += held[-1].height
        while rows >= n_rows:
            rows -= n_rows
            # No name may keep a frame alive while the caller works on the batch.
            yield _first_of(held, n_rows)
    if rows:
        yield _first_of(held, rows)


def _first_of(held: list[pl.DataFrame], n_rows: int) -> pl.DataFrame:
    """Return the first rows of the held frames, and leave the rest held."""
    whole = pl.concat(held)
    held[:] = [whole.slice(n_rows)] if whole.height > n_rows else []
    return whole.head(n_rows).rechunk()
