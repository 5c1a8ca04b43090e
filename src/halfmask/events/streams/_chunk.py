"""Chunk: some whole lines of a stream, cut out of its bytes, and where to go on after them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from halfmask._errors import DataError
from halfmask.events.block._buffers import BUFFERS
from halfmask.events.streams._readers import Bytes, Descriptor, skip

if TYPE_CHECKING:
    import threading

    import numpy as np
    from numpy.typing import NDArray

    from halfmask.events.streams._readers import ByteReader, Filling


SPARE = 128

#: Where a stream goes on, as JSON can hold it. It may hold names of files: it is kept sealed.
Position: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Some whole lines.

    Parameters
    ----------
    view
        Lines of one file; only the last one of a file may lack its end.
    lines
        How many they are.
    first_line
        The number of the first in its file, from 1 on.
    file
        The number of the file among those of the source, from 1 on.
    position
        Where to go on after them.
    oversized
        Whether, in place of lines, this stands for one that is too long to be held; it was skipped.
    buffer
        Memory in which the lines stand first, and `SPARE` bytes behind them; the holder of the
        chunk may write into it. None where the lines stand elsewhere.
    give_back
        Is called when the lines are no longer used: their memory is reused.
    """

    view: bytes | memoryview = field(repr=False)
    lines: int
    first_line: int
    file: int = 1
    position: Position = field(repr=False)
    oversized: bool = False
    buffer: NDArray[np.uint8] | None = field(default=None, repr=False)
    give_back: Callable[[], None] | None = field(default=None, repr=False)

    @property
    def data(self) -> bytes:
        """The lines; a copy where they stand in memory that is used again."""
        return bytes(self.view)

    def release(self) -> None:
        """Say that nobody looks at the lines any more."""
        if self.give_back is not None:
            self.give_back()


class Source(Protocol):
    """Where lines come from.

    **Guarantees** that a run relies on: the lines from a position on are those that would have
    come next, or it is an error; chunks may be of other sizes. A class that inherits from it has
    an end, is read once, and needs no more than a checkpoint, unless it says otherwise.
    """

    @property
    def endless(self) -> bool:
        """Whether lines go on until the run is stopped."""
        return False

    def chunks(self, position: Position | None, stop: threading.Event) -> Iterator[Chunk]:
        """Yield chunks from a position on; None: from the beginning.

        Parameters
        ----------
        position
            Of the last chunk that was worked on.
        stop
            When it is set, a source that waits for more ends instead.

        Raises
        ------
        DataError
            If the input can't be read, is torn, or isn't the one that the position is of. What
            was whole before that place has been yielded.
        """
        ...

    def reread(self) -> Source | None:
        """Return a source of the same lines to read first; None if they come once."""
        return None

    def share(self, position: Position) -> float | None:  # noqa: ARG002 # for those that know
        """Return which share of the input is before a position; None if nobody knows.

        Parameters
        ----------
        position
            A position that a chunk of this source had.
        """
        return None

    def saved(self, position: Position) -> None:  # noqa: ARG002 # as above
        """Take note that a checkpoint of all before a position is on the disk.

        Parameters
        ----------
        position
            A position that a chunk of this source had.
        """
        return

    def counts(self) -> dict[str, int]:
        """Return counts for the summary, such as how often a followed file was rotated."""
        return {}


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
            view=data, lines=lines, first_line=first, file=self._file, position=self.position(data)
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
