"""A column of one row group of Parquet as its dictionary and the codes of its cells.

Only what a writer makes of a column with few values is read here: pages of codes, and one
dictionary. Anything else, or anything odd, is left to another reader.
"""

from __future__ import annotations

import threading
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: How pages may be packed; under other names writers mean different things.
_PACKINGS = {"UNCOMPRESSED", "SNAPPY", "ZSTD", "GZIP"}
_PLAIN, _OLD_CODES, _RUNS, _CODES = 0, 2, 3, 8
_NUMBERS = {"INT32": np.int32, "INT64": np.int64, "FLOAT": np.float32, "DOUBLE": np.float64}
_MAX_PAGES = 1 << 16
_LENGTH = 4


class CodedColumn(NamedTuple):
    """A column: its distinct values, and what `place_coded` of `coded_rows` takes."""

    values: Any
    firsts: NDArray[np.int64]
    places: NDArray[np.int64]
    widths: NDArray[np.uint8]
    there: NDArray[np.uint8] | None


class _Page(NamedTuple):
    """Where the levels and the codes of a page lie in the unpacked bytes, and how many cells."""

    levels: tuple[int, int]
    codes: tuple[int, int]
    cells: int


def chunk_of(
    packed: NDArray[np.uint8],
    about: Any,  # noqa: ANN401 # pyarrow ships no types
    field: Any,  # noqa: ANN401 # the same
    data: NDArray[np.uint8],
    start: int,
    *,
    optional: bool,
) -> CodedColumn | None:
    """Return a column, or None if it isn't codes of a dictionary alone."""
    from halfmask.kernels.hashing.parquet_pages import DICTIONARY, KIND  # noqa: PLC0415 # numba: a second

    if about.compression not in _PACKINGS:
        return None
    pages = _pages(packed)
    if pages is None or len(pages) == 0 or pages[0, KIND] != DICTIONARY:
        return None
    try:
        values = _dictionary(packed, pages[0], about, field)
        found = None
        if values is not None:
            room = data[start : start + about.total_uncompressed_size]
            found = _unpacked(packed, pages[1:], about, room, start, optional=optional)
    except (pa.ArrowException, OSError, OverflowError, ValueError):
        return None
    if found is None:
        return None
    return _runs(values, data, found, rows=about.num_values, optional=optional)


def room_for(size: int) -> NDArray[np.uint8]:
    """Return room for the packed bytes of a column; this thread has it until it asks again."""
    return _room().packed(size)


def _pages(packed: NDArray[np.uint8]) -> NDArray[np.int64] | None:
    from halfmask.kernels.hashing.parquet_pages import FIELDS, SMALLEST, find_pages  # noqa: PLC0415 # numba

    most = min(len(packed) // SMALLEST + 1, _MAX_PAGES)
    pages = np.empty((most, FIELDS), np.int64)
    found = find_pages(packed, len(packed), np.empty(1, np.int64), pages)
    return None if found < 0 else pages[:found]


def _body(  # what is packed, where, and how large it becomes
    packed: NDArray[np.uint8],
    start: int,
    end: int,
    size: int,
    about: Any,  # noqa: ANN401 # no types
) -> NDArray[np.uint8]:
    """Unpack some bytes."""
    some = packed[start:end]
    if about.compression == "UNCOMPRESSED" or not size:
        return some[:size]
    if size > about.total_uncompressed_size:
        raise ValueError  # more than all of it
    return np.frombuffer(_room().codec(about.compression).decompress(some, size), np.uint8)


def _dictionary(
    packed: NDArray[np.uint8],
    page: NDArray[np.int64],
    about: Any,  # noqa: ANN401 # no types
    field: Any,  # noqa: ANN401 # the same
) -> Any:  # noqa: ANN401 # the same
    """Return the distinct values of a column, or None if they aren't plain."""
    from halfmask.kernels.hashing import parquet_pages as of  # noqa: PLC0415 # numba takes a second

    if page[of.ENCODING] not in {_PLAIN, _OLD_CODES}:
        return None
    start, count = int(page[of.BODY]), int(page[of.COUNT])
    data = _body(packed, start, start + int(page[of.PACKED]), int(page[of.RAW]), about)
    if about.physical_type in _NUMBERS:
        # A copy, which begins where numbers may.
        found = np.array(data.view(_NUMBERS[about.physical_type]))
        return pa.array(found).cast(field) if len(found) == count else None
    if about.physical_type != "BYTE_ARRAY" or count * _LENGTH > len(data):
        return None
    bounds, texts = np.empty(count + 1, np.int32), np.empty(len(data), np.uint8)
    if not of.text_bounds(data, len(data), count, bounds, texts):
        return None
    values = pa.StringArray.from_buffers(count, pa.py_buffer(bounds), pa.py_buffer(texts))
    # Bytes that are no characters are an error, which the reader of all files words.
    values.validate(full=True)
    return values


def _unpacked(
    packed: NDArray[np.uint8],
    pages: NDArray[np.int64],
    about: Any,  # noqa: ANN401 # pyarrow ships no types
    room: NDArray[np.uint8],
    base: int,
    *,
    optional: bool,
) -> list[_Page] | None:
    """Unpack pages of codes into room that begins at a place; return where those of each are."""
    from halfmask.kernels.hashing import parquet_pages as of  # noqa: PLC0415 # numba takes a second

    found, at = [], 0
    for page in pages.tolist():
        if page[of.ENCODING] not in {_OLD_CODES, _CODES}:
            return None
        start, end, stored = page[of.BODY], page[of.BODY] + page[of.PACKED], 0
        if page[of.KIND] == of.DATA_2:
            # Levels come first, and are never packed.
            stored = page[of.PACKED] if page[of.STORED] else page[of.LEVELS]
            if page[of.REPEATED] or max(stored, page[of.LEVELS]) > min(
                page[of.PACKED], page[of.RAW]
            ):
                return None
        elif page[of.KIND] != of.DATA or page[of.LEVELS] != _RUNS:
            return None
        rest = _body(packed, start + stored, end, page[of.RAW] - stored, about)
        size = stored + len(rest)
        if size > len(room) - at:
            return None
        room[at : at + stored] = packed[start : start + stored]
        room[at + stored : at + size] = rest
        head, levels = 0, page[of.LEVELS]
        if page[of.KIND] == of.DATA:
            head = _LENGTH if optional else 0
            levels = int.from_bytes(room[at : at + min(head, size)].tobytes(), "little")
        codes = at + head + levels
        if codes > at + size:
            return None
        found.append(
            _Page(
                (base + at + head, base + codes), (base + codes, base + at + size), page[of.COUNT]
            )
        )
        at += size
    return found


def _runs(
    values: Any,  # noqa: ANN401 # pyarrow ships no types
    data: NDArray[np.uint8],
    pages: list[_Page],
    *,
    rows: int,
    optional: bool,
) -> CodedColumn | None:
    """Find the runs of all pages."""
    from halfmask.kernels.hashing.coded_rows import find_runs, spread_levels  # noqa: PLC0415 # numba

    if sum(page.cells for page in pages) != rows:
        return None
    room = _room()
    firsts, places, widths = room.runs(sum(page.codes[1] - page.codes[0] for page in pages))
    there = np.empty(rows if optional else 0, np.uint8)
    row = before = done = 0
    for page in pages:
        present = page.cells
        if optional:
            present = spread_levels(data, *page.levels, row, page.cells, there, room.run)
        if optional and present == page.cells and before < row:
            there[row : row + page.cells] = 1
        elif present < page.cells and before == row:
            there[:row] = 1
        start, end = page.codes
        # A page of missing cells alone may have no width.
        if present < 0 or (present and start == end):
            return None
        if present:
            done = find_runs(
                data, start + 1, end, int(data[start]), present, before, done, firsts, places,
                widths, room.run,
            )  # fmt: skip
            if done < 0:
                return None
        row += page.cells
        before += present
    return CodedColumn(
        values=values,
        firsts=firsts[:done].copy(),
        places=places[:done].copy(),
        widths=widths[:done].copy(),
        there=None if before == rows else there,
    )


class _Room(threading.local):
    """What is used again and again, made once for each thread."""

    def __init__(self) -> None:
        self.run = np.empty(4, np.int64)
        self._runs = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.uint8))
        self._packed = np.empty(0, np.uint8)
        self._codecs: dict[str, Any] = {}

    def codec(self, name: str) -> Any:  # noqa: ANN401 # pyarrow ships no types
        """Return what unpacks; most of them keep a state, which threads must not share."""
        if name not in self._codecs:
            self._codecs[name] = pa.Codec(name.lower())
        return self._codecs[name]

    def packed(self, size: int) -> NDArray[np.uint8]:
        """Return room for so many bytes."""
        if len(self._packed) < size:
            self._packed = np.empty(size, np.uint8)
        return self._packed[:size]

    def runs(self, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]:
        """Return room for the runs of so many bytes."""
        if len(self._runs[0]) < size:
            self._runs = (
                np.empty(size, np.int64),
                np.empty(size, np.int64),
                np.empty(size, np.uint8),
            )
        return self._runs


@cache
def _room() -> _Room:
    return _Room()
