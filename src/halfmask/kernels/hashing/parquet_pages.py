"""The pages of a column of Parquet: where each begins, and what its bytes are.

Apache Parquet format, version 2.11, ``PageHeader`` in ``parquet.thrift``, as Thrift's compact
protocol writes it. Nothing here trusts a number of the file: each place is checked before it is
read, and what isn't known is a failure, after which another reader takes over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.kernels.compiling import njit_unchecked

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "BODY", "COUNT", "DATA", "DATA_2", "DICTIONARY", "ENCODING", "FIELDS", "KIND", "LEVELS",
    "PACKED", "RAW", "REPEATED", "SMALLEST", "STORED", "find_pages", "text_bounds",
]  # fmt: skip

#: What is known of a page: its kind, its size before and after compression, how many values it
#: has, how they and (data pages) their levels are encoded; of the second version how many bytes the
#: levels take, and whether the rest is stored raw; and where its bytes begin.
KIND, RAW, PACKED, COUNT, ENCODING, LEVELS, REPEATED, STORED, BODY, FIELDS = range(10)
DATA, DICTIONARY, DATA_2 = 0, 2, 3
#: No header has fewer bytes.
SMALLEST = 8
_FALSE, _BYTE, _WHOLE, _DOUBLE, _BINARY, _STRUCT = 2, 3, 5, 7, 8, 12
_MOST_BITS = 63


@njit_unchecked
def _varint(data: NDArray[np.uint8], size: int, cursor: NDArray[np.int64]) -> int:
    """Read a number of seven bits a byte; the cursor is -1 after a failure, and stays that."""
    at, value, shift = int(cursor[0]), 0, 0
    while True:
        if at < 0 or at >= size or shift > _MOST_BITS - 7:
            cursor[0] = -1
            return 0
        byte = int(data[at])
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:  # no byte follows
            cursor[0] = at
            return value


@njit_unchecked
def _signed(data: NDArray[np.uint8], size: int, cursor: NDArray[np.int64]) -> int:
    value = _varint(data, size, cursor)
    return (value >> 1) ^ -(value & 1)


@njit_unchecked
def _field(data: NDArray[np.uint8], size: int, cursor: NDArray[np.int64], before: int) -> int:
    """Read the start of a field: its number and, in the last four bits, its type; 0 at the end."""
    at = int(cursor[0])
    if at < 0 or at >= size:
        cursor[0] = -1
        return 0
    byte = int(data[at])
    cursor[0] = at + 1
    if byte == 0:
        return 0
    number = before + (byte >> 4) if byte >> 4 else _signed(data, size, cursor)
    return (number << 4) | (byte & 15)


@njit_unchecked
def _skip(data: NDArray[np.uint8], size: int, cursor: NDArray[np.int64], kind: int) -> None:
    """Go beyond a value, structures in structures included; lists aren't in a page's header."""
    depth = 0
    while cursor[0] >= 0:
        if kind == _STRUCT:
            depth += 1
        elif kind == _BYTE:
            cursor[0] += 1
        elif kind == _DOUBLE:
            cursor[0] += 8
        elif kind == _BINARY:
            length = _varint(data, size, cursor)
            cursor[0] = cursor[0] + length if 0 <= length <= size - cursor[0] else -1
        elif 4 <= kind <= 6:  # whole numbers
            _varint(data, size, cursor)
        elif kind > _FALSE:
            cursor[0] = -1
        kind = 0
        while depth > 0 and kind == 0 and cursor[0] >= 0:
            kind = _field(data, size, cursor, 0) & 15
            if kind == 0:
                depth -= 1
        if depth == 0:
            return


@njit_unchecked
def _part(
    data: NDArray[np.uint8],
    size: int,
    cursor: NDArray[np.int64],
    kind: int,
    page: NDArray[np.int64],
) -> None:
    """Read what a header says of one kind of page."""
    number = 0
    while True:
        field = _field(data, size, cursor, number)
        number = field >> 4
        form = field & 15
        if form == 0:
            return
        place = -1
        if number == 1:
            place = COUNT
        elif number == (4 if kind == DATA_2 else 2):
            place = ENCODING
        elif (kind == DATA and number == 3) or (kind == DATA_2 and number == 5):  # of the format
            place = LEVELS
        elif kind == DATA_2 and number == 6:  # of the format
            place = REPEATED
        if kind == DATA_2 and number == 7 and form <= _FALSE:  # of the format
            page[STORED] = int(form == _FALSE)
        elif place >= 0 and form == _WHOLE:
            page[place] = _signed(data, size, cursor)
        elif place >= 0 or (kind == DATA_2 and number == 7):
            cursor[0] = -1
            return
        else:
            _skip(data, size, cursor, form)


@njit_unchecked
def _header(
    data: NDArray[np.uint8], size: int, cursor: NDArray[np.int64], page: NDArray[np.int64]
) -> None:
    """Read one header."""
    for k in range(FIELDS):
        page[k] = 0
    number = 0
    while True:
        field = _field(data, size, cursor, number)
        number = field >> 4
        form = field & 15
        if form == 0:
            break
        if form != (_WHOLE if number <= 3 else _STRUCT) and number in (1, 2, 3, 5, 7, 8):
            cursor[0] = -1
            return
        if 1 <= number <= 3:  # of the format
            page[number - 1] = _signed(data, size, cursor)
        elif number == 5:  # of the format
            _part(data, size, cursor, DATA, page)
        elif number == 7:  # of the format
            _part(data, size, cursor, DICTIONARY, page)
        elif number == 8:  # of the format
            _part(data, size, cursor, DATA_2, page)
        else:
            _skip(data, size, cursor, form)
    page[BODY] = cursor[0]


@njit_unchecked
def find_pages(
    data: NDArray[np.uint8], size: int, cursor: NDArray[np.int64], pages: NDArray[np.int64]
) -> int:
    """Write what is known of each page of a column.

    Parameters
    ----------
    data
        The bytes of one column of one row group.
    size
        How many there are.
    cursor
        One element, overwritten.
    pages
        (pages at most, `FIELDS`), written.

    Returns
    -------
    int
        How many pages there are; -1 if the bytes are no whole pages, or too many.
    """
    found, cursor[0] = 0, 0
    while cursor[0] < size:
        if found == len(pages):
            return -1
        page = pages[found]
        _header(data, size, cursor, page)
        if cursor[0] < 0 or not 0 <= page[PACKED] <= size - cursor[0]:
            return -1
        if page[RAW] < 0 or page[COUNT] < 0 or page[LEVELS] < 0 or page[REPEATED] < 0:
            return -1
        cursor[0] += page[PACKED]
        found += 1
    return found


@njit_unchecked
def text_bounds(
    data: NDArray[np.uint8],
    size: int,
    count: int,
    bounds: NDArray[np.int32],
    texts: NDArray[np.uint8],
) -> bool:
    """Write texts that each have their length in four bytes before them, one behind the other.

    Parameters
    ----------
    data, size
        The bytes of a dictionary.
    count
        How many texts there should be.
    bounds
        (count + 1,), written: where each begins, and the last ends.
    texts
        As long as the data, written.

    Returns
    -------
    bool
        Whether there are so many, and nothing else.
    """
    at, done = 0, 0
    bounds[0] = 0
    for i in range(count):
        if size - at < 4:  # bytes of a length
            return False
        length = 0
        for k in range(4):
            length |= int(data[at + k]) << (8 * k)
        at += 4
        if length > size - at:
            return False
        for k in range(length):
            texts[done + k] = data[at + k]
        at += length
        done += length
        bounds[i + 1] = done
    return at == size
