"""Whether Parquet can go straight into hashed rows, and what its columns need for that."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from halfmask._errors import DataError, SchemaError
from halfmask.data import ReadOptions
from halfmask.data._arrow_types import has_extension
from halfmask.data._database_url import is_database_url
from halfmask.data._places import places_of
from halfmask.hashing._cells import kind_of
from halfmask.hashing._csv_plan import check_unchanged, plain_slots
from halfmask.hashing._csv_rows import NotPlainError
from halfmask.hashing._parquet_rows import Labels, ParquetRows
from halfmask.hashing._reading import is_parquet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halfmask.data._places import Place
    from halfmask.hashing._plan import HashPlan
    from halfmask.hashing._reading import TableReading
    from halfmask.hashing._rows import HashedRows

#: A row group that is larger isn't unpacked as a whole.
_MAX_BYTES = 1 << 27
#: Nor one of more rows: a few bytes can say that a value stands in billions of them.
_MAX_ROWS = 1 << 22
_DICTIONARIES = {"PLAIN_DICTIONARY", "RLE_DICTIONARY"}
_TYPES = {
    pa.string(), pa.large_string(), pa.float32(), pa.float64(), pa.int8(), pa.int16(), pa.int32(),
    pa.int64(), pa.uint8(), pa.uint16(),
}  # fmt: skip


def parquet_rows(
    table: object,
    plan: HashPlan,
    reading: TableReading,
    *,
    label: str | None,
    labels: Labels | None,
    sent: bool | None,
) -> Iterator[tuple[HashedRows, float]] | None:
    """Return the hashed rows of files of Parquet, and what share of the rows was read by then."""
    places = _places(table, reading)
    slots = plain_slots(plan)
    if not places or slots is None or sys.byteorder != "little":
        return None
    stamps, found = [place.stamp() for place in places], []
    kinds = {column.name: column.kind for column in plan.columns}
    for place in places:
        # The reader of all files reports what is wrong with a file.
        try:
            with place.open() as raw:
                file = pq.ParquetFile(raw)
                names = file.schema_arrow.names
                there = label is not None and label in names
                left_out = {*reading.leave_out, *([label] if there else [])}
                if (
                    len(set(names)) < len(names)
                    or set(names) - left_out != set(slots)
                    or not left_out <= set(names)
                    or (sent and not there)
                    or not _fits(file, kinds, raw.seek(0, os.SEEK_END))
                ):
                    return None
        except (DataError, SchemaError, OSError, pa.ArrowException):
            return None
        wanted = labels if there and sent is not False else None
        rows = ParquetRows(slots=list(slots.values()), bits=plan.settings.bits, labels=wanted)
        found.append((place, rows, file.metadata.num_rows))
    return _rows(found, stamps)


def _rows(
    found: list[tuple[Place, ParquetRows, int]], stamps: list[Any]
) -> Iterator[tuple[HashedRows, float]]:
    total, done = sum(rows for _, _, rows in found), 0
    places = [place for place, _, _ in found]
    try:
        for place, made, _ in found:
            with place.local() as local:
                for hashed in made.of(_path(local), place.what):
                    done += len(hashed)
                    yield hashed, done / total
    except NotPlainError:
        # The other way would give rows of another file.
        check_unchanged(places, stamps)
        raise
    check_unchanged(places, stamps)


def _path(local: object) -> Path:
    if not isinstance(local, Path):
        raise NotPlainError
    return local


def _places(table: object, reading: TableReading) -> list[Place]:
    """Return the files of a table that are Parquet, or none."""
    path = isinstance(table, str | Path) and str(table) != "-" and not is_database_url(table)
    if not (path and reading.options in (None, ReadOptions()) and find_spec("numba") is not None):
        return []
    places = places_of(table)  # type: ignore[arg-type] # it is a path
    return places if all(is_parquet(place, reading.format) for place in places) else []


def _fits(file: Any, kinds: dict[str, str], size: int) -> bool:  # noqa: ANN401 # pyarrow ships no types
    """Return whether columns are flat and what they were, and most have dictionaries."""
    about, schema = file.metadata, file.schema_arrow
    if about.num_columns != len(schema) or not about.num_rows or has_extension(schema):
        return False
    for field in schema:
        known = kinds.get(field.name)
        if known is not None and (field.type not in _TYPES or kind_of(field.type, "") != known):
            return False
    coded = 0
    for number in range(about.num_row_groups):
        group = about.row_group(number)
        columns = [group.column(position) for position in range(group.num_columns)]
        sizes = [column.total_uncompressed_size for column in columns]
        if min(sizes) < 0 or sum(sizes) > _MAX_BYTES or group.num_rows > _MAX_ROWS:
            return False
        if max(column.total_compressed_size for column in columns) > size:
            return False
        coded += sum(not _DICTIONARIES.isdisjoint(column.encodings) for column in columns)
    return bool(2 * coded >= about.num_columns * about.num_row_groups)
