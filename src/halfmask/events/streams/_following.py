"""Following a file that grows: what is appended to it, through rotations and truncations."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from halfmask._errors import DataError
from halfmask.events.block._bad_lines import Limits
from halfmask.events.streams._chunk import Cutter, Source
from halfmask.events.streams._files import BLOCK_BYTES
from halfmask.events.streams._readers import translate_read_errors

if TYPE_CHECKING:
    import threading

    from halfmask.events.streams._chunk import Chunk, Position


_BYTES = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Landmark:
    """A place in a file, its first bytes and the last ones before the place.

    A file that was emptied and written again has the same inode, and may be as long as before or
    longer. Only its bytes tell.

    Notes
    -----
    **Edge cases.** A file whose first and last 4,096 bytes are the same again is taken for the
    same file, whatever is between.
    """

    offset: int = 0
    head: bytes = b""
    tail: bytes = b""

    def after(self, data: bytes | memoryview) -> Self:
        """Return the landmark behind the next bytes."""
        head = self.head
        if self.offset < _BYTES:
            head += data[: _BYTES - self.offset]
        return type(self)(
            offset=self.offset + len(data), head=head, tail=(self.tail + data[-_BYTES:])[-_BYTES:]
        )

    def is_in(self, descriptor: int) -> bool:
        """Return whether the file still has these bytes."""
        return self == self.read(descriptor, self.offset, len(self.head), len(self.tail))

    @classmethod
    def read(cls, descriptor: int, offset: int, head: int = _BYTES, tail: int = _BYTES) -> Self:
        """Return the landmark of a place as the file has it now."""
        head, tail = min(head, offset), min(tail, offset)
        with translate_read_errors():
            return cls(
                offset=offset,
                head=os.pread(descriptor, head, 0),
                tail=os.pread(descriptor, tail, offset - tail),
            )

    def to_position(self) -> dict[str, Any]:
        """Return what a position keeps of it: lengths and hashes, no bytes."""
        return {"offset": self.offset, "head": _mark(self.head), "tail": _mark(self.tail)}

    @classmethod
    def found(cls, descriptor: int, position: Position) -> Self | None:
        """Return the landmark of a position in a file; None if it isn't there."""
        head, tail = position["head"], position["tail"]
        there = cls.read(descriptor, int(position["offset"]), int(head[0]), int(tail[0]))
        same = _mark(there.head) == [*head] and _mark(there.tail) == [*tail]
        return cls.read(descriptor, there.offset) if same else None


def _mark(data: bytes) -> list[Any]:
    return [len(data), hashlib.sha256(data).hexdigest()]


_POLL_SECONDS = 0.2


class FollowedFile(Source):
    """A file that grows, until the run is stopped.

    Parameters
    ----------
    path
        Plain JSON lines. It needn't be there yet.
    limits, block_bytes
        As of `FileSource`.
    poll_seconds
        How long to wait before looking for more.

    Notes
    -----
    **Guarantees.** A line is worked on once it has its end; until then it waits. Where another
    file takes the name (rotation), the old one is read to its end first; its last line counts even
    without an end. Where the bytes that were read aren't in the file any more (truncation), it is
    read from its beginning, whatever its length is now. If the folder has a copy of what was there
    (copytruncate), the rest of the copy is read first.

    **Edge cases.** If it was rotated or truncated while nobody followed, the old file or its copy
    is looked for in the same folder; if it is gone, or was compressed, or there were several
    rotations, going on is refused, since lines may be lost. What is written between the last look
    and a truncation is lost if no copy was made. So is what a program appends to the file before it
    notices a rotation that came right after we did: rotate by renaming. A file that begins again
    with the same 4,096 bytes, and has the same ones before the place, is taken for the same file.
    Line numbers start again in each file.
    """

    endless = True

    def __init__(
        self,
        path: str | Path,
        *,
        limits: Limits | None = None,
        block_bytes: int = BLOCK_BYTES,
        poll_seconds: float = _POLL_SECONDS,
    ) -> None:
        self._path = Path(path)
        self._limits = limits or Limits()
        self._block_bytes = block_bytes
        self._poll_seconds = poll_seconds
        self._rotations = self._truncations = 0

    def chunks(self, position: Position | None, stop: threading.Event) -> Iterator[Chunk]:
        """Yield lines as they come."""
        number = 1 if position is None else int(position["number"])
        while (descriptor := self._opened(position)) is None:
            if stop.wait(self._poll_seconds):
                return
        while True:
            begun = position
            try:
                again = yield from self._of_one(descriptor, begun, number, stop)
            finally:
                os.close(descriptor)
            if again is None:
                return
            descriptor, position = again, None
            number += 1

    def counts(self) -> dict[str, int]:
        """Return how often the file was rotated and truncated."""
        return {"rotations": self._rotations, "truncations": self._truncations}

    def _of_one(
        self, descriptor: int, position: Position | None, number: int, stop: threading.Event
    ) -> Generator[Chunk, None, int | None]:
        """Yield the lines of one file; return the next one, opened, or None when stopped."""
        cutter = self._cutter(descriptor, position, number)
        seen = Landmark() if position is None else Landmark.found(descriptor, position)
        if seen is None:
            raise _lost_lines()
        cut = _Cut(cutter=cutter, seen=seen, place=seen)
        while not stop.is_set():
            data = self._read(descriptor, cut.seen)
            if data is None:
                return (yield from self._truncated(descriptor, cut))
            if data:
                yield from cut.feed(data)
                continue
            following = self._successor(descriptor)
            if following is not None:
                # What came between our last look and the rotation.
                yield from self._rest(descriptor, cut)
                self._rotations += 1
                return following
            stop.wait(self._poll_seconds)
        return None

    def _read(self, descriptor: int, seen: Landmark) -> bytes | None:
        """Return what comes next; None if what was read isn't there any more."""
        with translate_read_errors():
            data = os.pread(descriptor, self._block_bytes, seen.offset)
        # Looked at after the reading: so the bytes are of the same file as those before them.
        return data if seen.is_in(descriptor) else None

    def _rest(self, descriptor: int, cut: _Cut) -> Iterator[Chunk]:
        while data := self._read(descriptor, cut.seen):
            yield from cut.feed(data)
        yield from cut.cutter.end()

    def _truncated(self, descriptor: int, cut: _Cut) -> Generator[Chunk, None, int]:
        """Yield the unread lines of a copy; return the file, to start again."""
        self._truncations += 1
        for path in self._rotated():
            copy = _open(path)
            if copy is None:
                continue
            try:
                if cut.seen.is_in(copy):
                    yield from self._rest(copy, cut)
                    break
            finally:
                os.close(copy)
        return os.dup(descriptor)

    def _cutter(self, descriptor: int, position: Position | None, number: int) -> Cutter:
        found = os.fstat(descriptor)
        return Cutter(
            block_bytes=self._block_bytes,
            line_bytes=self._limits.line_bytes,
            position=position,
            file=number,
            more={"inode": found.st_ino, "device": found.st_dev, "number": number},
        )

    def _successor(self, descriptor: int) -> int | None:
        """Return the file that has the name now, opened, if it is another."""
        following = _open(self._path)
        if following is None:
            return None
        if os.path.samestat(os.fstat(following), os.fstat(descriptor)):
            os.close(following)
            return None
        return following

    def _opened(self, position: Position | None) -> int | None:
        """Return the file to begin with, opened; None if it isn't there yet."""
        if position is None:
            return _open(self._path)
        files = (self._path, *self._others())
        same = [path for path in files if _is_same(path, position)]
        for path in (*same, self._path, *self._rotated()):
            descriptor = _open(path)
            if descriptor is None:
                continue
            if Landmark.found(descriptor, position) is not None:
                self._check_next(path, os.fstat(descriptor).st_mtime_ns)
                return descriptor
            os.close(descriptor)
        raise _lost_lines()

    def _check_next(self, path: Path, changed: int) -> None:
        """Refuse to go on where files are between the one that was read and the one of the name."""
        if path == self._path:
            return
        for other in self._rotated(packed=True):
            if other == path or other.stat().st_mtime_ns <= changed:
                continue
            raise DataError(
                "The followed file was rotated several times while the run was stopped: lines "
                "of the files between would be lost.",
                hint="Append those files to the one that was read, in their order, and remove "
                "them. Or start again with [[restart=True|--restart]].",
            )

    def _rotated(self, *, packed: bool = False) -> list[Path]:
        """Return the files that were the followed one or are its copy, by their names.

        These are the file's name and numbers or a date: ``log.1``, ``log-20240131``,
        ``log-1.jsonl``.
        """
        whole, stem, ending = map(re.escape, (self._path.name, self._path.stem, self._path.suffix))
        numbered = rf"({whole}[-._]\d[-._\dT:]*|{stem}[-._]\d[-._\dT:]*{ending})"
        form = re.compile(numbered + (r"(\.(gz|zst|bz2|xz|lz4|Z))?" if packed else ""))
        return [path for path in self._others() if form.fullmatch(path.name)]

    def _others(self) -> list[Path]:
        try:
            found = sorted(path for path in self._path.parent.iterdir() if path.is_file())
        except OSError:
            return []
        return [path for path in found if path.name != self._path.name]


@dataclass(slots=True, kw_only=True)
class _Cut:
    """Cuts what is read into lines, and knows the bytes before both places."""

    cutter: Cutter
    seen: Landmark
    place: Landmark

    def feed(self, data: bytes) -> Iterator[Chunk]:
        self.seen = self.seen.after(data)
        for chunk in self.cutter.feed(data):
            self.place = (
                replace(self.place, offset=int(chunk.position["offset"]), tail=b"")
                if chunk.oversized
                else self.place.after(chunk.view)
            )
            yield replace(chunk, position={**chunk.position, **self.place.to_position()})


def _is_same(path: Path, position: Position) -> bool:
    try:
        found = path.stat()
    except OSError:
        return False
    return bool(found.st_ino == position["inode"] and found.st_dev == position["device"])


def _lost_lines() -> DataError:
    return DataError(
        "The followed file was rotated or truncated while the run was stopped, and the rest of the "
        "old one isn't in its folder: lines may be lost.",
        hint="Put the old file back into that folder, or start again with "
        "[[restart=True|--restart]].",
    )


def _open(path: Path) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DataError(
            f"The followed file can't be opened: {error.strerror or 'the system refused'}."
        ) from None
