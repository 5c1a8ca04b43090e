"""A file of lines, plain or packed, that can be cut back to a checkpoint; where outputs lie."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import threading
import zlib
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, TypeAlias

from halfmask._errors import ReleaseError
from halfmask.events.streams._files import FileSource

if TYPE_CHECKING:
    from collections.abc import Mapping


_PARTIAL = ".partial"
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def partial_of(path: Path) -> Path:
    """Return where an output is until all of it is written."""
    return path.with_name(path.name + _PARTIAL)


def check_free(path: Path, *, overwrite: bool) -> None:
    """Refuse to write over what is there, unless that is allowed; never over what isn't ours."""
    if not os.path.lexists(path):
        return
    if not overwrite:
        raise ReleaseError(
            "The output exists, or what an earlier run left of it: OUT, or OUT.partial.",
            hint="Choose another name, or allow it to be overwritten: "
            "[[overwrite=True|--overwrite]].",
        )
    if path.is_dir() and any(not each.name.startswith("part-") for each in path.iterdir()):
        raise ReleaseError(
            "The folder to overwrite is none that halfmask made, so it stays.",
            hint="Choose another name, or remove it yourself.",
        )


def lock(file: BinaryIO) -> None:
    """Keep other runs from the file until it is closed."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ReleaseError(
            "Another run writes to the same output.", hint="Wait for it, or stop it."
        ) from None
    except OSError:
        return  # a file system without locks


def not_ours() -> ReleaseError:
    """Return the error of an output that differs from the checkpoint."""
    return ReleaseError(
        "What was written before the last checkpoint isn't there any more, or is something else.",
        hint="Name the output that the run began with, or start again with "
        "[[restart=True|--restart]].",
    )


@contextmanager
def translate_write_errors() -> Iterator[None]:
    """Turn errors of the file system into ours, which name no path."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "the system refused"
        full = error.errno in _FULL
        raise ReleaseError(
            f"The output can't be written: {'the disk is full' if full else reason}.",
            hint="What was written up to the last checkpoint is kept. "
            + ("Make room, then run again." if full else "Check its folder, then run again."),
        ) from None


def sync_folder(folder: Path) -> None:
    """Bring a folder's names to the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):  # some file systems can't, and needn't
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


Packing: TypeAlias = Literal["gzip", "zstd"]

_MEMBER_BYTES = 1 << 22
_TAIL = 4096
#: Brought to the disk on the way, while the next lines are written: not all at the end. Of so much
#: one doesn't wait for it, of so much one does.
_UNSYNCED, _MOST_UNSYNCED = 1 << 22, 1 << 25
_LEVEL = 6


class FileSink:
    """A file of JSON lines, or of lines packed by gzip or zstd.

    Notes
    -----
    **Guarantees.** The bytes depend on the lines alone, not on breaks between. What a file that has
    its name from the start holds behind a checkpoint may have been read: a run that goes on from
    there writes the same bytes, and the file gets no shorter meanwhile.
    """

    lasting = True

    def __init__(
        self,
        path: str | Path,
        *,
        packing: Packing | None = None,
        appending: bool = False,
        overwrite: bool = False,
    ) -> None:
        self.target: Path = Path(path)
        self._packing = packing
        self._overwrite = overwrite
        self._appending = appending
        self._work = self.target if appending else partial_of(self.target)
        self._file: BinaryIO | None = None
        self._length = 0
        self._end = 0  # how far the file reaches that an earlier run wrote
        self._unsynced = 0
        self._flusher: ThreadPoolExecutor | None = None
        self._flushing: Future[None] | None = None
        self._tail = b""
        self._pending = bytearray()

    def check(self) -> None:
        """Refuse to write over what is there."""
        with translate_write_errors():
            check_free(self._work, overwrite=self._overwrite)
            check_free(self.target, overwrite=self._overwrite)

    def begin(self, state: Mapping[str, Any] | None, pending: bytes, *, again: bool) -> None:
        """Open the file at a checkpoint; what may have been read behind it stays."""
        with translate_write_errors():
            if again and state is not None and not self._work.exists() and self.target.is_file():
                with self.target.open("rb") as file:
                    check_tail(file, state)  # else it is what was to be overwritten: it stays
                self.target.rename(self._work)  # the run ended right after it gave the name
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            self._file = os.fdopen(os.open(self._work, flags, 0o666), "r+b", buffering=0)
            lock(self._file)
            self._length = int(state["length"]) if state else 0
            if state:
                self._tail = check_tail(self._file, state)
            self._end = self._file.seek(0, os.SEEK_END) if again and self._appending else 0
            if self._end <= self._length:
                self._file.truncate(self._length)
            self._file.seek(self._length)
            self._pending = bytearray(pending)

    def write(self, data: bytes | memoryview) -> None:
        """Write lines, packed if so many are together."""
        if self._packing is None:
            self._put(data)
            return
        self._pending += data
        while len(self._pending) >= _MEMBER_BYTES:
            self._put(_packed(bytes(self._pending[:_MEMBER_BYTES]), self._packing))
            del self._pending[:_MEMBER_BYTES]

    def sync(self) -> tuple[dict[str, Any], bytes]:
        """Bring what is written to the disk."""
        self._flush()
        tail = [len(self._tail), hashlib.sha256(self._tail).hexdigest()]
        return {"length": self._length, "tail": tail}, bytes(self._pending)

    def lines(self) -> Iterator[bytes]:
        """Yield what was written so far."""
        self._cut()
        if self._length:
            chunks = FileSource(self._work).chunks(None, threading.Event())
            yield from (chunk.data for chunk in chunks)
        if self._pending:
            yield bytes(self._pending)

    def finish(self) -> None:
        """Write what is left; rename the file."""
        if self._packing is not None and (self._pending or not self._length):
            self._put(_packed(bytes(self._pending), self._packing))
            self._pending.clear()
        self._cut()
        self._flush()
        with translate_write_errors():
            if self._work != self.target:
                check_free(self.target, overwrite=self._overwrite)
                self._work.replace(self.target)
            sync_folder(self.target.parent)

    def close(self, *, done: bool) -> None:  # noqa: ARG002 # a Sink's
        """Close the file."""
        if self._flusher is not None:
            self._flusher.shutdown()
            self._flusher = None
        if self._file is not None:
            self._file.close()
            self._file = None

    def _put(self, data: bytes | memoryview) -> None:
        file, left = self._open(), memoryview(data)
        with translate_write_errors():
            left = left[self._there_already(file, left) :]
            while left:
                left = left[file.write(left) or 0 :]
            self._length += len(data)
            self._unsynced += len(data)
        if self._unsynced >= _UNSYNCED:
            self._flush_beside(file)
        self._tail = (self._tail + data[-_TAIL:])[-_TAIL:]

    def _there_already(self, file: BinaryIO, data: memoryview) -> int:
        """Return how much of some bytes is there already; cut the file where others are."""
        there, most = b"", min(len(data), self._end - self._length)
        while len(there) < most and (more := file.read(most - len(there))):
            there += more
        same = len(there)
        if there != data[:same]:
            pairs = zip(there, data, strict=False)
            same = next(at for at, (one, other) in enumerate(pairs) if one != other)
        if same < len(there):
            self._end = self._length + same
            file.truncate(self._end)
            file.seek(self._end)
        return same

    def _cut(self) -> None:
        """Cut off what an earlier run wrote, and this one, which is at its end, doesn't."""
        if self._end > self._length:
            with translate_write_errors():
                self._open().truncate(self._length)
            self._end = 0

    def _flush_beside(self, file: BinaryIO) -> None:
        """Bring to the disk what is written, in a thread, once that does nothing else."""
        if self._flushing is not None:
            if self._unsynced < _MOST_UNSYNCED and not self._flushing.done():
                return
            with translate_write_errors():
                self._flushing.result()
        if self._flusher is None:
            self._flusher = ThreadPoolExecutor(1, "events-flush")
        self._flushing = self._flusher.submit(os.fdatasync, file.fileno())
        self._unsynced = 0

    def _flush(self) -> None:
        """Bring all to the disk, and wait for it."""
        with translate_write_errors():
            if self._flushing is not None:
                self._flushing.result()  # a fault isn't raised a second time
                self._flushing = None
            os.fsync(self._open().fileno())

    def _open(self) -> BinaryIO:
        if self._file is None:
            raise ReleaseError("The output was closed.", hint="This is a fault of halfmask.")
        return self._file


def check_tail(file: BinaryIO, state: Mapping[str, Any]) -> bytes:
    """Check that what was written before a checkpoint is there still; return its tail."""
    size, wanted = state["tail"]
    file.seek(max(int(state["length"]) - size, 0))
    tail = file.read(size)
    if len(tail) < size or hashlib.sha256(tail).hexdigest() != wanted:
        raise not_ours()
    return tail


def _packed(data: bytes, packing: Packing) -> bytes:
    """Return a member of gzip or a frame of zstd; the same bytes give the same."""
    if packing == "gzip":
        member = zlib.compressobj(_LEVEL, wbits=31)
        return member.compress(data) + member.flush()
    import pyarrow as pa  # noqa: PLC0415 # 0.2 s, for zstd alone

    return bytes(pa.compress(data, codec="zstd", asbytes=True))
