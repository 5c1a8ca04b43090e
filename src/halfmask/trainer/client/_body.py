"""Hashed rows as the body of a request: a stream of Arrow, in pieces that a socket takes well."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halfmask.hashing import HashedRows

ARROW_STREAM = "application/vnd.apache.arrow.stream"
Compression: TypeAlias = Literal["none", "lz4", "zstd"]
#: The client library copies what a socket didn't take yet: of a large piece, again and again.
_PIECE = 1 << 18


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """The body of a request, its kind and its length; it can be sent again."""

    buffer: Any
    kind: str

    def __len__(self) -> int:
        return len(self.buffer)

    def pieces(self) -> Iterator[memoryview]:
        """Yield the body."""
        view = memoryview(self.buffer)
        for start in range(0, len(view), _PIECE):
            yield view[start : start + _PIECE]


def arrow_body(rows: HashedRows, compression: Compression = "none") -> Body:
    """Return rows as a stream of Arrow of one record batch."""
    import pyarrow as pa  # noqa: PLC0415 # it takes 0.2 s

    batch = rows.to_batch()
    options = pa.ipc.IpcWriteOptions(compression=None if compression == "none" else compression)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    return Body(buffer=sink.getvalue(), kind=ARROW_STREAM)
