"""Streams of Arrow to hashed rows, where nothing of the bytes is believed.

Arrow's own reader checks the structure of each message before it is followed. What it doesn't
check is how much memory a compressed buffer says that it needs: that is read here, from the
message's flatbuffer (Arrow's format, Message.fbs: Message.header, RecordBatch.buffers and
RecordBatch.compression), before anything is unpacked.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from halfmask._errors import DataError, HalfmaskError
from halfmask.trainer.store._refusal import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halfmask.hashing import HashedRows

__all__ = ["Unpacked", "bytes_of", "unpack"]

#: How many record batches a body may have: each costs time, however small.
MOST_BATCHES = 256
#: How many times longer a body may be when it is unpacked.
MOST_RATIO = 32
_HEADER, _BUFFERS, _COMPRESSION = 2, 2, 3
#: What a stream ends with; without it, one that was cut between two batches would look whole.
_END = b"\xff\xff\xff\xff\x00\x00\x00\x00"
_I32, _U16, _U32, _I64 = (struct.Struct(f"<{code}") for code in "iHIq")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpacked:
    """The rows of a body.

    Parameters
    ----------
    parts
        One for each record batch that has rows; at least one.
    rows
        How many rows they have.
    inflated
        How many bytes they take beside the body; 0 where it isn't compressed.
    """

    parts: tuple[HashedRows, ...]
    rows: int
    inflated: int


def unpack(body: bytes, *, most: int) -> Unpacked:
    """Return the rows of a stream.

    Parameters
    ----------
    body
        The bytes of a stream of Arrow's, of the wire format.
    most
        How many bytes it may be when it is unpacked.

    Raises
    ------
    DataError
        If it isn't of the wire format.
    RefusedError
        413 where it is too long when it is unpacked, or has too many record batches.
    """
    import pyarrow as pa  # noqa: PLC0415 # it takes 0.2 s, and --help needs none

    from halfmask.hashing import HashedRows  # noqa: PLC0415 # the same

    parts: list[HashedRows] = []
    inflated = 0
    try:
        for batch, more in _batches(pa, body, most):
            inflated += more
            if inflated > most or inflated > MOST_RATIO * len(body):
                raise _too_long()
            if len(parts) == MOST_BATCHES:
                raise _too_long()
            parts.append(HashedRows.from_batch(batch))
    except HalfmaskError:
        raise
    # What Arrow's reader raises for bytes that are no stream: OSError is of no file here, and
    # ValueError may be of a name that is no text.
    except (pa.ArrowException, OSError, EOFError, struct.error, LookupError, ValueError):
        raise DataError("The body is no whole stream of Arrow record batches.") from None
    full = tuple(each for each in parts if len(each))
    if not full:
        raise DataError("The body has no rows.")
    return Unpacked(parts=full, rows=sum(map(len, full)), inflated=inflated)


def bytes_of(rows: HashedRows) -> bytes:
    """Return rows as the bytes of a stream."""
    import pyarrow as pa  # noqa: PLC0415 # as above

    sink, batch = pa.BufferOutputStream(), rows.to_batch()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return bytes(sink.getvalue())


def _batches(pa: Any, body: bytes, most: int) -> Iterator[tuple[Any, int]]:  # noqa: ANN401 # no types
    """Yield the record batches of a stream, and how many bytes each takes beside the body."""
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
            more = _inflated(message, most)
            yield pa.ipc.read_record_batch(message, schema), more
    except StopIteration:
        if source.tell() != len(body) or not body.endswith(_END):
            raise DataError("The body doesn't end where its stream does.") from None


def _inflated(message: Any, most: int) -> int:  # noqa: ANN401 # pyarrow ships no types
    """Return how many bytes the buffers of a message say that they need; 0 if not compressed."""
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
            # What a compressed buffer starts with; -1 says that it isn't compressed after all.
            (said,) = _I64.unpack_from(body, offset)
            total += max(said, 0)
        if total > most:
            raise _too_long()
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


def _too_long() -> RefusedError:
    return RefusedError(
        "The body is too long when it is unpacked, or has too many record batches.",
        status=413,
        word="too-large",
        hint="Send it in smaller batches.",
    )
