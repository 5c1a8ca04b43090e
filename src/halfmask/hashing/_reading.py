"""Tables in files as batches of Arrow, in the layout that is hashed fastest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from halfmask._errors import ColumnNotFoundError, DataError
from halfmask.data import ReadOptions, Source, open_table
from halfmask.data.arrow_types import refuse_foreign_types
from halfmask.data.frames import check_names
from halfmask.data.io.database_url import is_database_url
from halfmask.data.io.formats import TEXT_FORMATS, Format
from halfmask.data.io.places import Place, places_of, reading, start_of
from halfmask.hashing._cells import kind_of, same_kind

#: Rows of a batch: so many hashed rows of 40 columns are 10 MB.
BATCH_ROWS = 1 << 16
#: Bytes a cell, dictionary included, up to which a text is hashed once for each distinct value.
CODED_BYTES = 4
#: The types of cells that are read as those of the fit were.
_TYPES: dict[str, pl.DataType] = {
    "text": pl.String(),
    "integer": pl.Int64(),
    "float": pl.Float64(),
    "boolean": pl.Boolean(),
    "date": pl.Date(),
    "datetime": pl.Datetime("us"),
    "datetime_utc": pl.Datetime("us", "UTC"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TableReading:
    """Options for reading a table that will be hashed.

    Parameters
    ----------
    format
        The file format, if the name and first bytes don't show it.
    options
        More options for reading, such as the delimiter, encoding and types.
    leave_out
        Columns that are not hashed.
    """

    format: Format | None = None
    options: ReadOptions | None = None
    leave_out: Sequence[str] = ()


def open_readable(
    table: object, reading: TableReading, *, kinds: Mapping[str, str] | None = None
) -> _Opened | _Parquet:
    """Open a table of any kind that `halfmask.data.open_table` opens, and Parquet with lists.

    Cells of text files, which have no types of their own, are read as ``kinds`` says where what
    the file itself suggests is something else.
    """
    file_format, options = reading.format, reading.options
    path = isinstance(table, str | Path) and str(table) != "-" and not is_database_url(table)
    if isinstance(table, str | Path) and path and options in (None, ReadOptions()):
        places = places_of(table)
        if all(is_parquet(place, file_format) for place in places):
            return _Parquet(places)
    source = open_table(table, format=file_format, options=options)
    if path and kinds and source.format in TEXT_FORMATS:
        other = _other_types(source, kinds, options)
        if other:
            options = replace(options or ReadOptions(), fitted=other)
            source = open_table(table, format=file_format, options=options)
    return _Opened(source)


def is_parquet(place: Place, declared: Format | None) -> bool:
    """Return whether a file is Parquet by its first bytes, and not declared another format."""
    return declared in {None, "parquet"} and start_of(place).startswith(b"PAR1")


def _other_types(
    source: Source, kinds: Mapping[str, str], options: ReadOptions | None
) -> dict[str, pl.DataType]:
    declared = {} if options is None else options.typed()
    found: dict[str, pl.DataType] = {}
    for name, dtype in source.dtypes.items():
        kind = kind_of(pl.Series(name, [], dtype=dtype).to_arrow().type, name)
        wanted = kinds.get(name, "empty")
        if name not in declared and wanted in _TYPES and not same_kind(kind, wanted):
            found[name] = _TYPES[wanted]
    return found


class _Opened:
    """What `halfmask.data` reads."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.columns = source.columns
        self.n_rows = source.n_rows

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the rows."""
        for batch in self._source.batches(columns=columns):
            for piece in batch.iter_slices(BATCH_ROWS):
                yield piece.to_arrow()


class _Parquet:
    """Files of Parquet, lists included."""

    def __init__(self, places: Sequence[Place]) -> None:
        self._places = places
        self._stamps = [place.stamp() for place in places]
        self.columns: tuple[str, ...] = ()
        self.n_rows = 0
        for number, place in enumerate(places):
            with reading(place.what, "parquet"), place.open() as raw:
                file = pq.ParquetFile(raw)
                names = tuple(file.schema_arrow.names)
                self.n_rows += file.metadata.num_rows
            check_names(names)
            if number and set(names) != set(self.columns):
                raise DataError(f"{place.what} has other columns than file 1.")
            self.columns = self.columns if number else names
        if not self.n_rows:
            raise DataError(
                "The table to read has no rows.", hint="Give a table of at least one row."
            )

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the rows, batches of a row group from the same dictionary."""
        absent = [name for name in columns if name not in self.columns]
        if absent:
            raise ColumnNotFoundError.of(absent, self.columns, where="the table")
        self._check_unchanged()
        for place in self._places:
            with reading(place.what, "parquet"), place.local() as local:
                yield from _batches_of(local, columns)
        self._check_unchanged()

    def _check_unchanged(self) -> None:
        if [place.stamp() for place in self._places] != self._stamps:
            raise DataError(
                "The file has changed since it was opened.", hint="Open the table again."
            )


def _batches_of(local: Any, columns: Sequence[str]) -> Iterator[Any]:  # noqa: ANN401 # a path or a file
    """Yield the rows of a file; texts that few bytes hold stay in their dictionary."""
    file = pq.ParquetFile(local)
    refuse_foreign_types(file.schema_arrow, columns)
    texts = [name for name in columns if _is_in_dictionaries(file, name)]
    file = pq.ParquetFile(local, metadata=file.metadata, read_dictionary=texts, pre_buffer=True)
    # Group by group: a file's packed bytes needn't all be in memory.
    for number in range(file.metadata.num_row_groups):
        for batch in file.iter_batches(BATCH_ROWS, [number], columns=list(columns)):
            batch.validate(full=True)  # bytes that are no characters, codes without a value
            yield batch.select(columns)


def _is_in_dictionaries(file: Any, name: str) -> bool:  # noqa: ANN401 # pyarrow ships no types
    """Return whether a column of text is in dictionaries that few bytes a row hold."""
    if not _is_text(file.schema_arrow.field(name).type):
        return False
    about = file.metadata
    paths = [about.schema.column(place).path for place in range(about.num_columns)]
    groups = map(about.row_group, range(about.num_row_groups))
    chunks = [group.column(paths.index(name)) for group in groups]
    return all(
        it.has_dictionary_page and it.total_uncompressed_size <= CODED_BYTES * it.num_values
        for it in chunks
    )


def _is_text(dtype: Any) -> bool:  # noqa: ANN401 # pyarrow ships no types
    types = pa.types
    return any(
        fits(dtype)
        for fits in (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    )
