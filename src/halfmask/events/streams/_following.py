"""Following a file that grows: what is appended to it, through rotations and truncations."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from halfmask._errors import DataError
from halfmask.events._limits import Limits
from halfmask.events.streams._cutting import Cutter, begin_at
from halfmask.events.streams._files import BLOCK_BYTES
from halfmask.events.streams._readers import Descriptor

if TYPE_CHECKING:
    import threading

    from halfmask.events.streams._chunk import Chunk, Position

__all__ = ["FollowedFile"]

_POLL_SECONDS = 0.2


class FollowedFile:
    """A file that grows, until the run is stopped.

    Parameters
    ----------
    path
        Plain JSON lines. It needn't be there yet.
    limits, block_bytes
        As of `FileSource`.
    poll_seconds
        How long to wait before looking for more.

    **Guarantees** - A line is worked on once it has its end; until then it waits. Where another
    file takes the name (rotation), the old one is read to its end first; its last line counts even
    without an end. Where the file becomes shorter (truncation), it is read from its beginning.

    **Edge cases** - If it was rotated while nobody followed, the old file is looked for in the same
    folder, whatever its name; if it is gone, or was compressed, going on is refused, since lines
    may be lost. What is written between the last look and a truncation is lost, and so is what an
    appending program wrote to the file before it noticed a rotation that came right after we did:
    rotate by renaming. Line numbers begin anew in each file.
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

    def share(self, position: Position) -> float | None:  # noqa: ARG002 # a Source's
        """Return None: it has no end."""
        return None

    def saved(self, position: Position) -> None:
        """Do nothing: a checkpoint is all that is needed."""

    def counts(self) -> dict[str, int]:
        """Return how often the file was rotated and truncated."""
        return {"rotations": self._rotations, "truncations": self._truncations}

    def _of_one(
        self, descriptor: int, position: Position | None, number: int, stop: threading.Event
    ) -> Generator[Chunk, None, int | None]:
        """Yield the lines of one file; return the next one, opened, or None when stopped."""
        reader = Descriptor(descriptor)
        begin_at(reader, position)
        cutter = self._cutter(descriptor, position, number)
        while not stop.is_set():
            if data := reader.read(self._block_bytes):
                yield from cutter.feed(data)
                continue
            at = os.lseek(descriptor, 0, os.SEEK_CUR)
            if os.fstat(descriptor).st_size < at:
                self._truncations += 1
                os.lseek(descriptor, 0, os.SEEK_SET)
                return os.dup(descriptor)
            following = self._successor(descriptor)
            if following is not None:
                # What came between our last look and the rotation.
                while data := reader.read(self._block_bytes):
                    yield from cutter.feed(data)
                yield from cutter.end()
                self._rotations += 1
                return following
            stop.wait(self._poll_seconds)
        return None

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
        for path in (self._path, *self._others()):
            descriptor = _open(path)
            if descriptor is None:
                continue
            found = os.fstat(descriptor)
            same = found.st_ino == position["inode"] and found.st_dev == position["device"]
            if same and found.st_size >= int(position["offset"]):
                return descriptor
            os.close(descriptor)
        raise DataError(
            "The followed file was rotated or truncated while nobody followed, and the rest of the "
            "old one isn't in its folder: lines may be lost.",
            hint="Put the old file back beside it, or begin anew: --afresh.",
        )

    def _others(self) -> list[Path]:
        try:
            return sorted(path for path in self._path.parent.iterdir() if path.is_file())
        except OSError:
            return []


def _open(path: Path) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DataError(
            f"The followed file can't be opened: {error.strerror or 'the system refused'}."
        ) from None
