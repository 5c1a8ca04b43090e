"""Parquet straight into hashed rows: each distinct value of a row group is hashed once.

Writers of Parquet keep a column with few values as a dictionary and codes. Other readers turn the
codes into values, which a hasher then codes again. Here the entries of the dictionary are
hashed, and a cell is a look into a table. Columns that are kept in any other way are read by
polars, and both kinds meet in the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from halfmask.data._reading import reading
from halfmask.engines import map_in_order
from halfmask.hashing._csv_rows import NotPlainError
from halfmask.hashing._parquet_chunks import CodedColumn, chunk_of, room_for
from halfmask.hashing._placing import placer
from halfmask.hashing._rows import HashedRows
from halfmask.hashing._tables import columns_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from halfmask.hashing._slots import PlainSlot

#: Rows that are hashed together: of 40 columns 2.6 MB, which stay near the processor.
PIECE = 1 << 14
#: How many row groups are unpacked at a time: while one is hashed, the next is got ready.
_AHEAD = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """The column to learn, how its cells become numbers, and of how many classes they are."""

    column: str
    of: Callable[[Any], NDArray[Any]]
    classes: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Coded:
    """The columns of a row group that are codes, as `place_coded` takes them."""

    data: NDArray[np.uint8]
    firsts: NDArray[np.int64]
    places: NDArray[np.int64]
    widths: NDArray[np.uint8]
    run_starts: NDArray[np.int64]
    there: NDArray[np.uint8]
    before: NDArray[np.int64]
    tables: NDArray[np.uint32]
    table_starts: NDArray[np.int64]
    slots: NDArray[np.int64]

    def place(self, first: int, indices: NDArray[np.uint32]) -> None:
        from halfmask.kernels.hashing.coded_rows import BLOCK, place_coded  # noqa: PLC0415 # numba

        cursors = np.empty((2, len(self.slots)), np.int64)
        if not place_coded(
            self.data, self.firsts, self.places, self.widths, self.run_starts, self.there,
            self.before[first // PIECE], self.tables, self.table_starts, self.slots, first,
            cursors, np.empty(BLOCK + 1, np.uint32), indices,
        ):  # fmt: skip
            raise NotPlainError


class _Piece(NamedTuple):
    """Some rows of a row group."""

    coded: _Coded | None
    left: Sequence[int]
    read: Mapping[str, Any]
    labels: NDArray[Any] | None
    first: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ParquetRows:
    """What is done with each column of a file."""

    slots: Sequence[PlainSlot]
    bits: int
    labels: Labels | None

    def of(self, path: Path, what: str) -> Iterator[HashedRows]:
        """Yield the rows of a file in order, hashed on all processors."""
        with reading(what, "parquet"):
            metadata = pq.ParquetFile(path)
            counts = [
                metadata.metadata.row_group(number).num_rows
                for number in range(metadata.metadata.num_row_groups)
            ]
            firsts = np.cumsum([0, *counts])

            def opened(number: int) -> list[_Piece]:
                return self._pieces(path, metadata, number, int(firsts[number]))

            groups = map_in_order(range(len(counts)), opened, workers=_AHEAD)
            yield from map_in_order((piece for group in groups for piece in group), self._placed)

    def _pieces(self, path: Path, file: Any, number: int, first: int) -> list[_Piece]:  # noqa: ANN401 # no types
        """Unpack a row group."""
        from halfmask.kernels.hashing.coded_rows import READABLE  # noqa: PLC0415 # numba takes a second

        group = file.metadata.row_group(number)
        rows = group.num_rows
        columns = [file.schema_arrow.names.index(slot.column) for slot in self.slots]
        sizes = [group.column(column).total_uncompressed_size for column in columns]
        ends = np.cumsum([0, *sizes])
        data = np.empty(ends[-1] + READABLE, np.uint8)
        with path.open("rb", buffering=0) as raw:
            chunks = [
                _chunk(raw, file, number, column, data, int(start))
                for column, start in zip(columns, ends[:-1], strict=True)
            ]
        left = [slot for slot, chunk in enumerate(chunks) if chunk is None]
        label = None if self.labels is None else self.labels.column
        read = _others(path, [self.slots[it].column for it in left], label, first, rows)
        labels = None if self.labels is None else self.labels.of(read[self.labels.column])
        coded = self._coded(data, chunks, rows) if len(left) < len(chunks) else None
        return [
            _Piece(coded, left, read, labels, start, min(PIECE, rows - start))
            for start in range(0, rows, PIECE)
        ]

    def _coded(
        self, data: NDArray[np.uint8], chunks: Sequence[CodedColumn | None], rows: int
    ) -> _Coded:
        """Put columns of codes one behind the other."""
        found = [(slot, it) for slot, it in enumerate(chunks) if it is not None]
        tables = [self._table(self.slots[slot], it.values) for slot, it in found]
        starts = np.arange(0, rows, PIECE)
        lacking = any(it.there is not None for _, it in found)
        there = np.empty((len(found), rows if lacking else 0), np.uint8)
        before = np.empty((len(starts), len(found)), np.int64)
        for column, (_, it) in enumerate(found):
            if it.there is None:
                before[:, column] = -1 - starts
            else:
                there[column] = it.there
                before[0, column] = 0
                counts = np.add.reduceat(it.there, starts, dtype=np.int64)
                np.cumsum(counts[:-1], out=before[1:, column])
        return _Coded(
            data=data,
            firsts=np.concatenate([it.firsts for _, it in found]),
            places=np.concatenate([it.places for _, it in found]),
            widths=np.concatenate([it.widths for _, it in found]),
            run_starts=np.cumsum([0, *(len(it.firsts) for _, it in found)]),
            there=there,
            before=before,
            tables=np.concatenate(tables),
            table_starts=np.cumsum([0, *(len(table) for table in tables)]),
            slots=np.array([slot for slot, _ in found], np.int64),
        )

    def _table(self, slot: PlainSlot, values: Any) -> NDArray[np.uint32]:  # noqa: ANN401 # no types
        """Return the index of each value, and behind them that of a missing cell."""
        values = pa.concat_arrays([values, pa.nulls(1, values.type)])
        hashes = slot.coded({slot.column: values}).each()
        return (hashes & np.uint64((1 << self.bits) - 1)).astype(np.uint32)

    def _placed(self, piece: _Piece) -> HashedRows:
        indices = np.empty((piece.rows, len(self.slots)), np.uint32)
        if piece.coded is not None:
            piece.coded.place(piece.first, indices)
        mask = np.uint64((1 << self.bits) - 1)
        read = {name: it.slice(piece.first, piece.rows) for name, it in piece.read.items()}
        for slot in piece.left:
            placer(self.slots[slot], read, mask)(0, piece.rows, slot, indices)
        if self.labels is None or piece.labels is None:
            return HashedRows(indices=indices, bits=self.bits)
        labels = piece.labels[piece.first : piece.first + piece.rows]
        return HashedRows(
            indices=indices, bits=self.bits, labels=labels, classes=self.labels.classes
        )


def _chunk(
    raw: Any,  # noqa: ANN401 # a file
    file: Any,  # noqa: ANN401 # pyarrow ships no types
    number: int,
    column: int,
    data: NDArray[np.uint8],
    start: int,
) -> CodedColumn | None:
    """Unpack a column of a row group, if it is codes of a dictionary."""
    group, schema = file.metadata.row_group(number), file.schema.column(column)
    about = group.column(column)
    place, size = about.dictionary_page_offset, about.total_compressed_size
    deep = schema.max_repetition_level or schema.max_definition_level > 1
    if deep or not place or size <= 0 or about.num_values != group.num_rows:
        return None
    packed = room_for(size)
    raw.seek(place)
    if raw.readinto(packed) != size:
        return None
    optional = schema.max_definition_level == 1
    return chunk_of(packed, about, file.schema_arrow.types[column], data, start, optional=optional)


def _others(
    path: Path, names: Sequence[str], label: str | None, first: int, rows: int
) -> dict[str, Any]:
    """Read other columns of a row group, and the label."""
    wanted = [*names, *([] if label is None else [label])]
    if not wanted:
        return {}
    frame = pl.scan_parquet(path, glob=False).select(wanted).slice(first, rows).collect()
    if len(frame) != rows:
        raise NotPlainError
    return columns_of(frame.rechunk().to_arrow(compat_level=pl.CompatLevel.newest()))
