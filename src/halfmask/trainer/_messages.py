"""Arrow streams of untrusted clients: read message by message, with a bound on memory.

Arrow's own reader checks the structure of each message before it is followed. What it doesn't
check is the declared size of a compressed buffer: that is read here, from the
message's flatbuffer (Arrow's format, Message.fbs: Message.header, RecordBatch.buffers and
RecordBatch.compression), before anything is unpacked.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from halfmask._errors import DataError, HalfmaskError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_HEADER, _BUFFERS, _COMPRESSION = 2, 2, 3
#: What a stream ends with; without it, one that was cut between two batches would look whole.
_END = b"\xff\xff\xff\xff\x00\x00\x00\x00"
_I32, _U16, _U32, _I64 = (struct.Struct(f"<{code}") for code in "iHIq")


def batches_of(
    body: bytes, *, most: int, too_long: Callable[[], HalfmaskError]
) -> Iterator[tuple[Any, int]]:
    """Yield the record batches of a stream, and how many bytes each takes beyond the body."""
    import pyarrow as pa  # noqa: PLC0415 # it takes 0.2 s, and --help needs none

    source = pa.BufferReader(pa.py_buffer(body))
    messages = pa.ipc.MessageReader.open_stream(source)
    try:
        first = messages.read_next_message()
        if first.type != "schema":
            raise DataError("The body doesn't start with a schema of Arrow.")
        schema = pa.ipc.read_schema(first)
        for field in schema:
            if pa.types.is_dictionary(field.type):
                raise DataError("Hashed rows have no dictionaries.")
        while True:
            message = messages.read_next_message()
            if message.type != "record batch":
                raise DataError("The body holds something else than record batches.")
            more = _inflated(message, most, too_long)
            yield pa.ipc.read_record_batch(message, schema), more
    except StopIteration:
        if source.tell() != len(body) or not body.endswith(_END):
            raise DataError("The body doesn't end where its stream does.") from None


def _inflated(
    message: Any,  # noqa: ANN401 # pyarrow ships no types
    most: int,
    too_long: Callable[[], HalfmaskError],
) -> int:
    """Return the declared bytes of a message's compressed buffers; 0 if not compressed."""
    data, body = memoryview(message.metadata), memoryview(message.body)
    batch = _follow(data, _field(data, _follow(data, 0), _HEADER))
    if not _place(data, batch, _COMPRESSION):
        return 0
    buffers = _follow(data, _field(data, batch, _BUFFERS))
    (count,), total = _U32.unpack_from(data, buffers), 0
    for number in range(count):
        (offset,) = _I64.unpack_from(data, buffers + 4 + 16 * number)
        (length,) = _I64.unpack_from(data, buffers + 12 + 16 * number)
        if length >= _I64.size:
            # A compressed buffer starts with its size; -1 means that it isn't compressed.
            (size,) = _I64.unpack_from(body, offset)
            total += max(size, 0)
        if total > most:
            raise too_long()
    return total


def _place(data: memoryview, table: int, number: int) -> int:
    """Return where a field of a flatbuffer's table lies in it; 0 where it isn't there."""
    vtable = table - _I32.unpack_from(data, table)[0]
    if vtable < 0 or 4 + 2 * number + 2 > _U16.unpack_from(data, vtable)[0]:
        return 0
    return int(_U16.unpack_from(data, vtable + 4 + 2 * number)[0])


def _field(data: memoryview, table: int, number: int) -> int:
    place = _place(data, table, number)
    if not place:
        raise IndexError(number)
    return table + place


def _follow(data: memoryview, place: int) -> int:
    """Return where an offset of a flatbuffer leads."""
    return place + int(_U32.unpack_from(data, place)[0])
