"""The write-ahead log of a model: what is acknowledged is in it, in the order it is learned in.

A folder of segments, each a file of records that is only ever added to. Many records share one
flush to the disk. Only what hadn't been flushed when a process died can be torn; it wasn't
acknowledged, and is cut off.
"""

from __future__ import annotations

import mmap
import os
import struct
import threading
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from halfmask._errors import IntegrityError
from halfmask.trainer.store._limits import RefusedError
from halfmask.trainer.store._record import HEAD, MAGIC, Entry, Head, Record

#: What a segment starts with, with the version of the format; a salt and a checksum follow.
_START, _SALT_BYTES = b"HML2", 8
SEGMENT_HEAD_BYTES = len(_START) + _SALT_BYTES + 4
#: The most buffers that one call of the system takes.
_MAX_BUFFERS = 1_000


class ExampleLog:
    """The log of one model.

    Guarantees
    ----------
    When `append` returns, its entries are on the disk. When it raises, none of them is in the log.
    After a death of the process at any point, opening the log finds every entry whose `append` had
    returned, in order, and nothing that is torn.

    Edge cases
    ----------
    Entries whose `append` hadn't returned when the process died may be there or not.
    """

    def __init__(self, folder: Path, *, segment_bytes: int = 1 << 28) -> None:
        self._folder = folder
        self._segment_bytes = segment_bytes
        self._failed = False
        self._descriptor, self._salt = -1, b""
        self._lock = threading.Lock()  # one thread appends, another drops old segments
        self._segments = _segments_of(folder)
        self._drop_unborn()
        self.next_seq, self._end = 1, 0
        if self._segments:
            last = self._segments[-1]
            self.next_seq, self._end = _repair(self._folder / _name(last), last)
            self._descriptor = os.open(self._folder / _name(last), os.O_RDWR | os.O_CLOEXEC)
            self._salt = _salt_of(os.pread(self._descriptor, SEGMENT_HEAD_BYTES, 0)) or b""

    @property
    def last_seq(self) -> int:
        """The sequence number of the last entry; 0 where there is none."""
        return self.next_seq - 1

    @property
    def first_seq(self) -> int:
        """The sequence number of the first entry that is kept; 1 where there is none."""
        return self._segments[0] if self._segments else 1

    @property
    def size(self) -> int:
        """How many bytes the log takes on the disk."""
        with self._lock:
            return sum((self._folder / _name(each)).stat().st_size for each in self._segments)

    def append(self, entries: Sequence[Entry]) -> list[int]:
        """Write entries and flush them to the disk; return their sequence numbers."""
        if self._failed:
            raise RefusedError(
                "The disk failed, and this model takes no examples until the service is restarted.",
                status=503,
                word="disk-failed",
            )
        if self._descriptor < 0 or self._end >= self._segment_bytes:
            self._begin_segment()
        group, buffers = self.next_seq, []
        for place, entry in enumerate(entries):
            buffers += [entry.head(group + place, group, self._salt), entry.key, entry.body]
        try:
            end = self._write([each for each in buffers if each])
            os.fdatasync(self._descriptor)
        except OSError:
            self._set_back()
            raise
        self._unread(end)
        self._end, self.next_seq = end, group + len(entries)
        return list(range(group, self.next_seq))

    def _unread(self, end: int) -> None:
        """Keep what was just flushed out of memory: it is read again only at a restart.

        Otherwise the log would take all memory that is free, page by page, and a machine that
        gives memory out late would be slow at each.
        """
        if hasattr(os, "posix_fadvise"):
            with suppress(OSError):
                os.posix_fadvise(
                    self._descriptor, self._end, end - self._end, os.POSIX_FADV_DONTNEED
                )

    def records(self, *, after: int = 0) -> Iterator[Record]:
        """Yield the records behind a sequence number, in order."""
        expected = None
        for place, first in enumerate(self._segments):
            following = self._segments[place + 1 : place + 2]
            if following and following[0] <= after + 1:
                continue
            if expected is not None and first != expected:
                raise _altered()
            expected = first
            for record in _read(self._folder / _name(first)):
                if record is None or record.seq != expected:
                    raise _altered()
                expected += 1
                if record.seq > after:
                    yield record
            if following and following[0] != expected:
                raise _altered()

    def drop_until(self, seq: int) -> None:
        """Remove the segments all of whose records are up to a sequence number."""
        with self._lock:
            while len(self._segments) > 1 and self._segments[1] <= seq + 1:
                (self._folder / _name(self._segments[0])).unlink(missing_ok=True)
                self._segments.pop(0)

    def close(self) -> None:
        """Close the file. What was acknowledged is on the disk already."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        self._failed = True

    def _begin_segment(self) -> None:
        path = self._folder / _name(self.next_seq)
        salt = os.urandom(_SALT_BYTES)
        head = _START + salt + _check_of(salt)
        flags = os.O_CREAT | os.O_TRUNC | os.O_RDWR | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o600)
        try:
            os.pwrite(descriptor, head, 0)
            os.fsync(descriptor)
            sync_folder(self._folder)
        except OSError:
            os.close(descriptor)
            with suppress(OSError):
                path.unlink()
            raise
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor, self._salt, self._end = descriptor, salt, len(head)
        with self._lock:
            self._segments.append(self.next_seq)

    def _write(self, buffers: list[bytes]) -> int:
        end = self._end
        for start in range(0, len(buffers), _MAX_BUFFERS):
            views = [memoryview(each) for each in buffers[start : start + _MAX_BUFFERS]]
            while views:
                written = os.pwritev(self._descriptor, views, end)
                end += written
                while views and written >= len(views[0]):
                    written -= len(views.pop(0))
                if written:
                    views[0] = views[0][written:]
        return end

    def _set_back(self) -> None:
        """Cut off what wasn't flushed; if that fails, take nothing more."""
        try:
            os.ftruncate(self._descriptor, self._end)
            os.fsync(self._descriptor)
        except OSError:
            self._failed = True

    def _drop_unborn(self) -> None:
        """Remove a last segment whose beginning wasn't flushed: nothing can be in it."""
        if not self._segments:
            return
        path = self._folder / _name(self._segments[-1])
        with path.open("rb") as file:
            whole = _salt_of(file.read(SEGMENT_HEAD_BYTES)) is not None
        if whole:
            return
        if path.stat().st_size > SEGMENT_HEAD_BYTES:
            raise _altered()
        path.unlink()
        sync_folder(self._folder)
        self._segments.pop()


def sync_folder(folder: Path) -> None:
    """Flush the names that a folder holds to the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _segments_of(folder: Path) -> list[int]:
    return sorted(int(path.stem) for path in folder.glob("*.log") if path.stem.isdecimal())


def _name(first: int) -> str:
    return f"{first:020d}.log"


def _salt_of(head: bytes) -> bytes | None:
    """Return the salt of a segment by its first bytes, or None if they are none of a segment."""
    salt = head[len(_START) : -4]
    whole = len(head) == SEGMENT_HEAD_BYTES and head == _START + salt + _check_of(salt)
    return salt if whole else None


def _check_of(salt: bytes) -> bytes:
    return struct.pack("<I", zlib.crc32(_START + salt))


def _read(path: Path) -> Iterator[Record | None]:
    """Yield the records of a segment; None, and no more, where one is torn."""
    with path.open("rb", buffering=1 << 20) as file:
        salt = _salt_of(file.read(SEGMENT_HEAD_BYTES))
        if salt is None:
            yield None
            return
        left = os.fstat(file.fileno()).st_size - SEGMENT_HEAD_BYTES
        while left:
            head = Head.read(file.read(HEAD.size))
            if head is None or head.size > left:
                yield None
                return
            left -= head.size
            record = head.record(file.read(head.size - HEAD.size), salt)
            yield record
            if record is None:
                return


def _repair(path: Path, first: int) -> tuple[int, int]:
    """Cut a torn tail off; return the next sequence number and where the segment ends."""
    expected, end = first, SEGMENT_HEAD_BYTES
    for record in _read(path):
        if record is None or record.seq != expected:
            break
        expected += 1
        end += HEAD.size + len(record.entry.key) + len(record.entry.body)
    if end < path.stat().st_size:
        _check_nothing_acknowledged(path, end, expected)
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.ftruncate(descriptor, end)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    return expected, end


def _check_nothing_acknowledged(path: Path, end: int, expected: int) -> None:
    """Raise if a later group is whole: then what is damaged had been flushed, and isn't a tail."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
        salt, place = _salt_of(data[:SEGMENT_HEAD_BYTES]) or b"", data.find(MAGIC, end + 1)
        while place >= 0:
            head = Head.read(data[place : place + HEAD.size])
            if (
                head is not None
                and head.group > expected
                and head.record(data[place + HEAD.size : place + head.size], salt) is not None
            ):
                raise _altered()
            place = data.find(MAGIC, place + 1)


def _altered() -> IntegrityError:
    return IntegrityError(
        "The log of a model isn't what was written: a record was altered or is missing.",
        hint="Restore the folder of the service from its last backup.",
    )
