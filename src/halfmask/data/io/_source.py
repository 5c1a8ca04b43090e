"""One table to read, wherever it lies: its columns, their types, its rows in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from halfmask._errors import ColumnNotFoundError, DataError, ParameterError, SchemaError
from halfmask._validation import integer_at_least, is_text, list_of, one_of
from halfmask.data._casts import Coerced, as_declared, check_declared, mark_missing
from halfmask.data.frames import settle, to_polars
from halfmask.data.hierarchy.orders import orders_of
from halfmask.data.io._foreign_files import FOREIGN_FORMATS, ForeignFormat, foreign_format
from halfmask.data.io._lists import SetReader
from halfmask.data.io._read_options import ReadOptions
from halfmask.data.io._reader import ReaderAround, divisible
from halfmask.data.io._rebatching import rebatched
from halfmask.data.io._spelling import Normalization, NormalizedReader, check_steps
from halfmask.data.io.database_url import DatabaseUrl, is_database_url
from halfmask.data.io.formats import (
    FORMATS,
    TEXT_FORMATS,
    Format,
    compression_of_bytes,
    form_of_name,
    format_of_bytes,
)
from halfmask.data.io.object_store import is_object_address
from halfmask.data.io.places import TABLE, Place, places_of
from halfmask.data.io.text import start_of

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

    def __repr__(self) -> str:
        return f"Source(format={self.format!r}, columns={len(self.columns)}, rows={self.n_rows})"

    @property
    def on_workers(self) -> str:
        """What to do where a worker of a cluster can't read the table."""
        return next((place.on_workers for place in self._places), Place.on_workers)

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
        wanted = self._checked(columns)
        if n_rows is None:
            n_rows = self._rows_of_batch()
        integer_at_least(1, owner="Source.batches", n_rows=n_rows)
        return self._batches(wanted, n_rows)

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
        dropped = self._checked(columns)
        left = [name for name in self.columns if name not in dropped]
        if not left:
            raise SchemaError("No column of the table is left.")
        return self.through(lambda reader: _Selected(reader, left))

    def through(self, wrap: Callable[[Reader], Reader]) -> Source:
        """Return the same table as a reader around its reader gives it.

        Parameters
        ----------
        wrap
            From the reader of this table to one with as many rows, such as a
            `halfmask.masks.MaskedReader`.
        """
        source = Source(wrap(self._reader), format=self.format, places=self._places)
        source._stamps = self._stamps
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
        wanted = self._checked(columns)
        batches = list(self._batches(wanted, max(1, self._reader.n_rows)))
        if not batches:  # a part whose rows a mask drops
            return pl.DataFrame(schema={name: self._reader.dtypes[name] for name in wanted})
        return batches[0] if len(batches) == 1 else pl.concat(batches)

    def _rows_of_batch(self) -> int:
        most = _MAX_TEXT_ROWS if self.format in TEXT_FORMATS else _MAX_ROWS
        return max(1, min(most, _CELLS // len(self.columns)))

    def _checked(self, columns: Sequence[str] | None) -> list[str]:
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

    def _batches(self, columns: list[str], n_rows: int) -> Iterator[pl.DataFrame]:
        expected = {name: self._reader.dtypes[name] for name in columns}
        seen = 0
        self._check_unchanged()
        for batch in rebatched(self._reader.frames(columns, n_rows), n_rows):
            seen += batch.height
            if dict(batch.schema) != expected or seen > self.n_rows:
                raise _changed()
            yield batch
        self._check_unchanged()
        if seen != self.n_rows:
            raise _changed()

    def _check_unchanged(self) -> None:
        """Raise if a file isn't the one that was opened: rows would get the cells of others."""
        if [place.stamp() for place in self._places] != self._stamps:
            raise _changed()


class _Selected(ReaderAround):
    """Some columns of a table, seen as a table to read."""

    def __init__(self, reader: Reader, columns: Sequence[str]) -> None:
        self._reader = reader
        self.columns = tuple(columns)
        self.dtypes = {name: reader.dtypes[name] for name in columns}
        self.n_rows = reader.n_rows
        self.orders = {name: order for name, order in reader.orders.items() if name in columns}

    def frames(self, columns: Sequence[str], n_rows: int) -> Iterator[pl.DataFrame]:
        yield from self._reader.frames(columns, n_rows)


class _FrameReader:
    """A frame in memory, seen as a table to read."""

    def __init__(self, frame: object, options: ReadOptions) -> None:
        table = mark_missing(to_polars(frame, lists=options.lists), options.missing)
        declared, coerced = options.declarations(), Coerced(options.coerce)
        check_declared((*declared, *options.lists), table.columns)
        table = as_declared(table, declared, coerced)
        self._frame = settle(mark_missing(table, options.missing))
        coerced.warn()
        self.columns = tuple(self._frame.columns)
        self.dtypes = dict(self._frame.schema)
        self.n_rows = self._frame.height
        self.orders = orders_of(frame)

    def frames(self, columns: Sequence[str], n_rows: int) -> Iterator[pl.DataFrame]:
        yield from self._frame.select(columns).iter_slices(n_rows)


def open_table(
    where: object,
    *,
    format: Format | None = None,  # noqa: A002 - the word for it
    options: ReadOptions | None = None,
    called: str = TABLE,
) -> Source:
    """Open a table of people: a file, folder, database, standard input or a frame.

    Parameters
    ----------
    where
        The path of a file, or of a folder of parts; ``"-"`` for standard input; the URL of a
        database, as in ``"postgresql://host/database?table=schema.table"``; a frame of polars,
        pandas or pyarrow; or an opened table, to which only ``normalize`` of options is applied.
    format
        ``"csv"``, ``"tsv"``, ``"parquet"``, ``"arrow"`` (IPC file), ``"arrows"`` (IPC stream) or
        ``"jsonl"``. By default, the first bytes and the file extension decide. Text files may be
        compressed by gzip or zstd.
    options
        Options for reading, such as the delimiter, encoding and types.
    called
        The table's name in errors, such as ``"The population"``.

    Returns
    -------
    The table, with the types of its columns decided by all of its rows.

    Raises
    ------
    MissingDependencyError
        If the extra for files of other programs, or for databases, isn't installed.
    DataError
        If the file is missing, is empty, has no rows, or can't be read; if a row has too many
        or too few cells, a quote is never closed, or bytes aren't valid in the encoding.
    SchemaError
        If a column name is empty or there twice, files of a folder have different columns or
        types, a column holds values of more than one type, or lists or structs.
    ColumnNotFoundError
        If a type is declared for a column that the table lacks.

    Guarantees
    ----------
    No error holds a cell's value or the path. A column of text becomes numbers only if all its
    values are numbers and none would lose a digit or a leading zero. NaN is a missing cell;
    infinities stay (see `count_infinite`). Standard input and tables of databases are kept in
    an unnamed temporary file, which is removed when the process ends.

    Edge cases
    ----------
    All files of a folder are parts of the table, in the order of their names, except those whose
    names start with a dot or an underscore. An address in an object store, such as
    ``"s3://bucket/people"``, is one object or a folder of objects. Files of Excel, SPSS, Stata,
    SAS, SQLite and DuckDB are known by their first bytes; ``options`` names the sheet or the table.
    An empty text in CSV is a missing cell. A column without any value has the type text. A key
    that a JSON object lacks is a missing cell. In a CSV file, ``NaN`` is a missing cell in a column
    of numbers, and text in a column of text.

    Examples
    --------
    >>> import polars as pl
    >>> source = open_table(pl.DataFrame({"age": [41, 17, 33], "sex": ["f", "m", "f"]}))
    >>> source
    Source(format='frame', columns=2, rows=3)
    >>> [batch.height for batch in source.batches(2, columns=["age"])]
    [2, 1]
    """
    options = ReadOptions() if options is None else options
    if not isinstance(options, ReadOptions):
        raise ParameterError(
            "The 'options' parameter of open_table must be a ReadOptions. "
            f"Got a value of type {type(options).__name__}.",
            hint='Write options=ReadOptions(missing=("?",)).',
        )
    if format is not None:
        one_of(FORMATS, owner="open_table", format=format)
    if isinstance(where, Source):
        return where.normalized(options.normalize, missing=options.missing)
    if isinstance(where, str) and is_database_url(where):
        source = _in_database(where, options, called)
    elif isinstance(where, str | Path):
        places = _places(where, called)
        reader, found = _file_reader(places, format, options)
        source = Source(reader, format=found, places=places)
    else:
        source = Source(_FrameReader(where, options), format="frame")
    source = source.normalized(options.normalize, missing=options.missing)
    if options.lists:
        check_declared(options.lists, source.columns)
        source = source.through(lambda reader: SetReader(reader, options.lists))
    if not source.n_rows:
        raise DataError(f"{called} has no rows.", hint="Give a table of at least one row.")
    return source


def _places(where: str | Path, called: str) -> list[Place]:
    if isinstance(where, str) and is_object_address(where):
        from halfmask.data.io._object_places import object_places  # noqa: PLC0415 - only when needed

        return object_places(where, called)
    return places_of(where, called=called)


def _in_database(url: str, options: ReadOptions, called: str) -> Source:
    """Open a table of a database by its URL."""
    where = DatabaseUrl.parse(url)
    if where.engine == "postgresql":
        from halfmask.data.io.postgres import postgres_reader  # noqa: PLC0415 - only when needed

        return Source(postgres_reader(where, options, called), format=where.engine)
    places = places_of(where.location, called=called)
    if {_format_of(place, None) for place in places} != {where.engine}:
        raise DataError(f"{called} isn't a database of {where.engine}.")
    given = replace(options, table=where.table or options.table)
    return Source(_foreign_reader(places, where.engine, given), format=where.engine, places=places)


def _file_reader(
    places: list[Place], declared: Format | None, options: ReadOptions
) -> tuple[Reader, Format | ForeignFormat]:
    formats = [_format_of(place, declared) for place in places]
    # A folder may mix the two kinds of Arrow files, and nothing else.
    for place, found in zip(places, formats, strict=True):
        if found != formats[0] and {found, formats[0]} != {"arrow", "arrows"}:
            raise SchemaError(
                f"{place.what} is of format {found}, file 1 of {formats[0]}.",
                hint="Give files of one format.",
            )
    first = formats[0]
    if first in FOREIGN_FORMATS:
        return _foreign_reader(places, first, options), first
    # Imported here: a table in Parquet need not pay for the readers of texts.
    if first in {"csv", "tsv"}:
        from halfmask.data.io._csv import CsvReader  # noqa: PLC0415 - only when needed

        return CsvReader(places, options, tabs=first == "tsv"), first
    if first == "jsonl":
        from halfmask.data.io._jsonl import JsonLinesReader  # noqa: PLC0415 - only when needed

        return JsonLinesReader(places, options), first
    from halfmask.data.io._columnar import ColumnarReader  # noqa: PLC0415 - only when needed

    return ColumnarReader(list(zip(places, formats, strict=True)), options), first  # type: ignore[arg-type] # text formats went above


def _foreign_reader(places: list[Place], form: str, options: ReadOptions) -> Reader:
    """Return the reader of a file of another program."""
    if len(places) > 1:
        raise DataError(
            f"The table to read is a folder of {len(places)} files of format {form}.",
            hint="Give one file; of several, write Parquet files first.",
        )
    if form == "excel":
        from halfmask.data.io._workbook import read_sheet  # noqa: PLC0415 - only when needed

        return _FrameReader(read_sheet(places[0], options.sheet, options.missing), options)
    if form in {"sqlite", "duckdb"}:
        from halfmask.data.io.database_file import FILE_READERS  # noqa: PLC0415 - only when needed

        return FILE_READERS[form](places[0], options.table, options)
    from halfmask.data.io._statistical import statistical_reader  # noqa: PLC0415 - only when needed

    return statistical_reader(places[0], form, options)  # type: ignore[arg-type] # others went above


def _format_of(place: Place, declared: Format | None) -> Format | ForeignFormat:
    start = start_of(place)
    if not start:
        raise DataError(f"{place.what} is empty.", hint="Give a table with a header and rows.")
    foreign = foreign_format(start, place.name, what=place.what)
    named = form_of_name(place.name)
    found: Format | ForeignFormat = foreign or format_of_bytes(
        start,
        declared=declared or (named.format if named else None),
        sure=declared is not None,
        what=place.what,
    )
    if found not in TEXT_FORMATS:
        with place.open() as file:
            if compression_of_bytes(file.read(8)):
                raise DataError(
                    f"{place.what} is {found} inside of a compressed file.",
                    hint=f"Decompress it: {found} is compressed inside.",
                )
    return found


def _changed() -> DataError:
    return DataError("The table to read has changed while it was read.")
