"""A table opened for reading: what it is in is found out by where it is and by its first bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from halfmask._errors import DataError, ParameterError, SchemaError
from halfmask._foreign import need
from halfmask._validation import one_of
from halfmask.data._declarations import Coerced, as_declared, check_declared, mark_missing
from halfmask.data.frames import settle, to_polars
from halfmask.data.hierarchy.orders import orders_of
from halfmask.data.io._derived import with_derived
from halfmask.data.io._read_options import ReadOptions
from halfmask.data.io._reader import (
    SetReader,
)
from halfmask.data.io._source import Source
from halfmask.data.io.database_url import DatabaseUrl, is_database_url
from halfmask.data.io.formats import (
    FOREIGN_FORMATS,
    FORMATS,
    TEXT_FORMATS,
    ForeignFormat,
    Format,
    compression_of_bytes,
    foreign_format,
    form_of_name,
    format_of_bytes,
    is_object_address,
)
from halfmask.data.io.places import TABLE, Place, places_of, start_of

if TYPE_CHECKING:
    import polars as pl

    from halfmask.data.io._reader import Reader


class _FrameReader:
    """A frame in memory, seen as a table to read."""

    def __init__(self, frame: object, options: ReadOptions) -> None:
        table, declared = to_polars(frame, lists=options.lists), options.declarations()
        if declared or options.lists or options.missing:
            table, coerced = mark_missing(table, options.missing), Coerced(options.coerce)
            check_declared((*declared, *options.lists), table.columns)
            table = mark_missing(as_declared(table, declared, coerced), options.missing)
            coerced.warn()
        self._frame = settle(table)
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
        pandas or pyarrow; or an opened table, to which only ``normalize`` and ``derived`` apply.
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
        source = where.normalized(options.normalize, missing=options.missing)
        return with_derived(source, options.derived)
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
    source = with_derived(source, options.derived)
    if not source.n_rows:
        raise DataError(f"{called} has no rows.", hint="Give a table of at least one row.")
    return source


def frame_given(table: object) -> object:
    """Return the frame that the caller gave; ``None`` for a path, an opened or several tables."""
    is_read = isinstance(table, str | Source | dict | list | tuple) or hasattr(table, "__fspath__")
    return None if is_read else table


def _places(where: str | Path, called: str) -> list[Place]:
    if isinstance(where, str) and is_object_address(where):
        from halfmask.data.io.object_store import object_places  # noqa: PLC0415 - only when needed

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
    need("pyarrow")
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
    from halfmask.data.io.columnar import ColumnarReader  # noqa: PLC0415 - only when needed

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

        rows = read_sheet(places[0], options.sheet, options.missing, skip=options.skip_rows)
        return _FrameReader(rows, options)
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
