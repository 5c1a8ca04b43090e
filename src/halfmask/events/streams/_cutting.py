"""Cutting bytes into chunks of whole lines."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from halfmask._errors import DataError
from halfmask.events.block._buffers import BUFFERS
from halfmask.events.streams._chunk import SPARE, Chunk
from halfmask.events.streams._readers import Bytes, Descriptor, skip

if TYPE_CHECKING:
    from halfmask.events.streams._chunk import Position
    from halfmask.events.streams._readers import ByteReader, Filling

_TAIL = 4096
#: How long the beginning of a line may be that is copied to where the rest of it is read to.
_MOST_HELD = 1 << 16


class Cutter:
    """Cuts the bytes of one file into chunks of whole lines."""

    def __init__(
        self,
        *,
        block_bytes: int,
        line_bytes: int,
        position: Position | None = None,
        file: int = 1,
        more: Position | None = None,
    ) -> None:
        self.block_bytes = block_bytes
        # A line's end may have two bytes; the scanner judges what is near the limit.
        self._most = line_bytes + 2
        self._file = file
        self._more = dict(more or {})
        self._offset = int(position["offset"]) if position else 0
        self._line = int(position["line"]) if position else 0
        self._parts: list[bytes] = []
        self._held = 0
        self._skipping = False

    def of(self, reader: ByteReader) -> Iterator[Chunk]:
        """Yield the chunks of all that a reader has; the last line needs no end."""
        yield from self.whole(reader)
        yield from self.end()

    def whole(self, reader: ByteReader) -> Iterator[Chunk]:
        """Yield the chunks of the whole lines that a reader has, up to its end."""
        if isinstance(reader, Descriptor | Bytes):
            yield from self._filled(reader)
            return
        while data := reader.read(self.block_bytes):
            yield from self.feed(data)

    def _filled(self, reader: Filling) -> Iterator[Chunk]:
        """Do so in memory that is used again, once chunks are given back."""
        from halfmask.kernels.text.line_ends import count_lines, last_line_end  # noqa: PLC0415 # numba is slow to import

        whole = _MOST_HELD + self.block_bytes + SPARE
        while True:
            if self._skipping or self._held > _MOST_HELD:
                data = reader.read(self.block_bytes)
                if not data:
                    return
                yield from self.feed(data)
                continue
            buffer = BUFFERS.take(whole)
            held, view = self._held, memoryview(buffer)  # type: ignore[arg-type] # an array is one
            view[:held] = b"".join(self._parts)
            size = held + reader.read_into(view[held : held + self.block_bytes])
            if size == held:
                BUFFERS.give(buffer)
                return
            cut = last_line_end(buffer, held, size) + 1
            if cut:
                rest = bytes(view[cut:size])
                chunk = self._chunk(view[:cut], count_lines(buffer, cut))
                self._hold(rest)
                yield replace(chunk, buffer=buffer, give_back=partial(BUFFERS.give, buffer))
            else:
                self._hold(bytes(view[held:size]))
                BUFFERS.give(buffer)

    def feed(self, data: bytes) -> Iterator[Chunk]:
        """Yield the chunks that bytes complete."""
        if self._skipping:
            at = data.find(b"\n") + 1
            if not at:
                self._held += len(data)
                return
            self._held += at
            data = data[at:]
            yield self._oversized()
        cut = data.rfind(b"\n") + 1
        if cut and self._held:
            # The first line is judged by itself: whatever the bytes came in, it's skipped or not.
            whole = b"".join([*self._parts, data[:cut]])
            yield self._chunk(whole, whole.count(b"\n"))
        elif cut:
            yield self._chunk(data[:cut], data.count(b"\n", 0, cut))
        self._hold(data[cut:])

    def _hold(self, data: bytes) -> None:
        """Keep the beginning of a line until the rest of it comes."""
        if data:
            self._parts.append(data)
            self._held += len(data)
        if self._held > self._most:
            self._parts.clear()
            self._skipping = True

    def end(self) -> Iterator[Chunk]:
        """Yield the last line, if it had no end."""
        if self._skipping:
            yield self._oversized()
        elif self._held:
            yield self._chunk(b"".join(self._parts), 1)

    def position(self, tail: bytes | memoryview = b"") -> dict[str, Any]:
        """Return where the next line begins, and what is before it, to be known again."""
        tail = tail[-_TAIL:]
        tail_mark = [len(tail), hashlib.sha256(tail).hexdigest()]
        return {**self._more, "offset": self._offset, "line": self._line, "tail": tail_mark}

    def _chunk(self, data: bytes | memoryview, lines: int) -> Chunk:
        first = self._line + 1
        self._offset += len(data)
        self._line += lines
        self._parts.clear()
        self._held = 0
        return Chunk(
            view=data,
            lines=lines,
            first_line=first,
            file=self._file,
            position=self.position(data),
        )

    def _oversized(self) -> Chunk:
        self._offset += self._held
        self._line += 1
        self._held = 0
        self._skipping = False
        return Chunk(
            view=b"",
            lines=1,
            first_line=self._line,
            file=self._file,
            position=self.position(),
            oversized=True,
        )


def begin_at(reader: ByteReader, position: Position | None, *, read: int = 0) -> None:
    """Read up to a position, and check that what is before it is what was before it."""
    if position is None:
        return
    (size, wanted), offset = position["tail"], int(position["offset"])
    found = bytearray()
    there = skip(reader, offset - size - read)
    while there and len(found) < size and (piece := reader.read(size - len(found))):
        found += piece
    if not there or hashlib.sha256(found).hexdigest() != wanted:
        raise DataError(
            "The input isn't the one that the run began with: it lacks what was processed already.",
            hint="Give the same input, or start again with [[restart=True|--restart]].",
        )
