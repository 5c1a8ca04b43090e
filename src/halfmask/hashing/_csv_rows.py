"""Plain CSV files straight into hashed rows: no cell becomes a value of a table on the way.

A plain file is one whose cells need no decision. Numbers are digits, quotes are around whole
cells, all rows have as many cells as the header. Where a file turns out to be anything else, the
reader of all files takes over, from the first row that wasn't given yet.
"""

from __future__ import annotations

import codecs
import threading
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from halfmask._errors import HalfmaskError
from halfmask.data.io.places import decompressed, reading
from halfmask.engines import map_in_order

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from halfmask.data.io.dialect import Dialect
    from halfmask.data.io.places import Place

#: How many bytes are hashed together, and how many must be readable behind them.
BLOCK, BEHIND = 8 << 20, 64
_ENDS, _NEWLINE = (13, 10), 10
#: How many bytes the names of the columns have at most.
_MAX_NAMES = 1 << 20


class NotPlainError(HalfmaskError):
    """A file isn't plain; never seen outside of hashing."""

    def __init__(self) -> None:
        super().__init__("The file isn't plain.")


class Hashed(NamedTuple):
    """The indices of some rows, and the cells of their label: as texts, or as numbers."""

    size: int
    indices: NDArray[np.uint32]
    texts: Any | None
    numbers: NDArray[np.float64] | None


class _Block(NamedTuple):
    """Bytes of which those from start to end are whole rows; some more can be read."""

    data: NDArray[np.uint8]
    start: int
    end: int
    header: NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CsvRows:
    """What is done with each column of a file, as arrays that a loop takes."""

    dialect: Dialect
    features: int
    bits: int
    whats: NDArray[np.int8]
    slots: NDArray[np.int64]
    keys: NDArray[np.uint64]
    missing: NDArray[np.uint32]
    tables: NDArray[np.uint32]
    table_starts: NDArray[np.int64]
    edges: NDArray[np.float64]
    edge_starts: NDArray[np.int64]
    log_bits: int

    def of(self, place: Place) -> Iterator[Hashed]:
        """Yield the rows of a file and their labels, in order, hashed on all processors."""
        return map_in_order(self._blocks(place), self._hashed)

    def _blocks(self, place: Place) -> Iterator[_Block]:
        """Yield whole rows, the first without the header."""
        from halfmask.kernels.text.separators import end_of_rows  # noqa: PLC0415 # numba: a second

        quote, held, first, last = _byte(self.dialect.quote), np.empty(0, np.uint8), True, False
        header = held
        with reading(place.what, "CSV"), decompressed(place) as file:
            while not last:
                # A fresh buffer, because the last one may still be hashed.
                data = np.empty(len(held) + BLOCK + BEHIND + 1, np.uint8)
                data[: len(held)] = held
                size = len(held) + _fill_buffer(file, data[len(held) : len(held) + BLOCK])
                last = size < len(held) + BLOCK
                if last:
                    size = _end_last_row(data, size)
                    if not size:
                        return
                data[size : size + BEHIND] = 0
                start = 0
                if first:
                    begin, start = _header(data, size, quote)
                    header = _row_bytes(data[begin:start])
                end = end_of_rows(data, size, quote)
                if end < start or (not end and size > 2 * BLOCK):
                    raise NotPlainError
                if end > start:
                    first = False
                    yield _Block(data, start, end, header)
                    held = data[end:size]
                else:
                    held = data[:size]
        if len(held):
            raise NotPlainError

    def _hashed(self, block: _Block) -> Hashed:
        from halfmask.kernels.hashing.csv_rows import CELLS, NUMBER, hash_rows  # noqa: PLC0415 # numba
        from halfmask.kernels.text.separators import find_separators, survey  # noqa: PLC0415 # the same

        quote, delimiter = _byte(self.dialect.quote), _byte(self.dialect.delimiter)
        data, size = block.data[block.start :], block.end - block.start
        quoted, lone_returns, beyond_ascii = survey(data, size, quote)
        if lone_returns or (beyond_ascii and not _is_utf8(data[:size])):
            raise NotPlainError
        room = _room()
        places = room.places(size)
        count = find_separators(data, size, delimiter, quote, quoted, places)
        rows, rest = divmod(count, len(self.whats))
        if count < 0 or rest or _repeats(block.header, data, places[:count], len(self.whats)):
            raise NotPlainError
        kinds = set(self.whats.tolist())
        indices = np.empty((rows, self.features), np.uint32)
        bounds = np.empty((2, rows if CELLS in kinds else 0), np.int64)
        numbers = np.empty(rows if NUMBER in kinds else 0)
        plain = hash_rows(
            data, places, quote, quoted, self.whats, self.slots, self.keys, self.missing,
            self.tables, self.table_starts, self.edges, self.edge_starts, self.log_bits,
            np.uint64((1 << self.bits) - 1), indices, bounds, numbers, *room.arrays,
        )  # fmt: skip
        if not plain:
            raise NotPlainError
        return Hashed(
            size=size,
            indices=indices,
            texts=_texts(data, bounds) if CELLS in kinds else None,
            numbers=numbers if NUMBER in kinds else None,
        )


def _fill_buffer(file: Any, into: NDArray[np.uint8]) -> int:  # noqa: ANN401 # a file of Python or pyarrow
    """Read until there is no room or nothing more; return how many bytes came."""
    done = 0
    while done < len(into):
        read = file.readinto(into.data[done:])
        if not read:
            break
        done += read
    return done


def _end_last_row(data: NDArray[np.uint8], size: int) -> int:
    """End the last row of a file by one line end, whatever it ended by; return the new size."""
    while size and data[size - 1] in _ENDS:
        size -= 1
    if size:
        data[size] = _NEWLINE
        size += 1
    return size


def _header(data: NDArray[np.uint8], size: int, quote: np.uint8) -> tuple[int, int]:
    """Return where the row of names is, which is shorter than what was sniffed at."""
    from halfmask.kernels.text.separators import find_separators  # noqa: PLC0415 # numba: a second

    start = 3 if data[:3].tobytes() == codecs.BOM_UTF8 else 0
    while start < size and data[start] in _ENDS:
        start += 1
    within = min(size - start, _MAX_NAMES)
    places = np.full(within + 1, -1, np.int32)
    # Only line ends are looked for, as if they were delimiters, too.
    find_separators(data[start:], within, np.uint8(_NEWLINE), quote, True, places)  # a kernel's
    if places[0] < 0:
        raise NotPlainError
    return start, start + int(places[0]) + 1


def _row_bytes(row: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.frombuffer(row.tobytes().rstrip(bytes(_ENDS)), np.uint8)


def _repeats(
    header: NDArray[np.uint8], data: NDArray[np.uint8], places: NDArray[np.int32], width: int
) -> bool:
    """Return whether a row has the bytes of the header: files were put together.

    The places are those of all delimiters and line ends.
    """
    ends = places[width - 1 :: width].astype(np.int64)
    starts = np.concatenate((np.zeros(min(1, len(ends)), np.int64), ends[:-1] + 1))
    starts = starts[starts + len(header) <= ends]
    for offset, byte in enumerate(header):
        starts = starts[data[starts + offset] == byte]
        if not len(starts):
            return False
    return bool(np.isin(data[starts + len(header)], _ENDS).any())


def _is_utf8(data: NDArray[np.uint8]) -> bool:
    # Rows are whole, and so are their characters.
    try:
        str(data.data, "utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _byte(character: str) -> np.uint8:
    return np.uint8(ord(character))


def _texts(data: NDArray[np.uint8], bounds: NDArray[np.int64]) -> Any:  # noqa: ANN401 # no types
    """Return cells as a column of Arrow."""
    lengths = bounds[1] - bounds[0]
    if not lengths.all():
        # A missing label is an error, which the reader of all files words.
        raise NotPlainError
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    places = np.arange(offsets[-1]) + np.repeat(bounds[0] - offsets[:-1], lengths)
    buffers = [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(data[places].tobytes())]
    return pa.Array.from_buffers(pa.string(), len(lengths), buffers)


class _Room(threading.local):
    """What the loops overwrite, made once for each thread."""

    def __init__(self) -> None:
        from halfmask.kernels.hashing.siphash_lanes import LANES, ROOM  # noqa: PLC0415 # numba: a second

        self.arrays = (
            np.empty(ROOM, np.uint64),
            np.empty(LANES),
            np.empty(LANES, np.int32),
            np.empty((3, LANES), np.int64),
            np.empty((LANES, 1), np.uint64),
        )
        self._places = np.empty(0, np.int32)

    def places(self, size: int) -> NDArray[np.int32]:
        """Return room for the places of a text's separators."""
        if len(self._places) < size:
            self._places = np.empty(size, np.int32)
        return self._places


@cache
def _room() -> _Room:
    return _Room()
