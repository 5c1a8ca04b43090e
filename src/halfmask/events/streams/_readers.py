"""Readers: the bytes of a file, out of gzip or zstd where it is compressed."""

from __future__ import annotations

import os
import select
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Protocol

from halfmask._errors import DataError

if TYPE_CHECKING:
    import threading

    import pyarrow as pa

#: No event begins with these, so that nobody has to say how an input is compressed.
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_PIECE = 1 << 18
_WAIT_SECONDS = 0.1


class ByteReader(Protocol):
    """Bytes in their order."""

    def read(self, size: int) -> bytes:
        """Return up to so many bytes, at least one; none at the end."""
        ...


class Filling(ByteReader, Protocol):
    """A reader that reads into memory that is there already, too."""

    def read_into(self, view: memoryview) -> int:
        """Write as many bytes as there are, but no more than there is room for; 0 at the end."""
        ...


class Descriptor:
    """An open file or pipe."""

    def __init__(self, descriptor: int, stop: threading.Event | None = None) -> None:
        self._descriptor = descriptor
        self._stop = stop

    def read(self, size: int) -> bytes:
        """Return what is there, or wait for it."""
        with translate_read_errors():
            return os.read(self._descriptor, size) if self._waited() else b""

    def read_into(self, view: memoryview) -> int:
        """Write all that is there by now, or wait for something."""
        with translate_read_errors():
            if not self._waited():
                return 0
            size = found = os.readv(self._descriptor, [view])
            # A pipe gives no more than 64 KiB at once.
            while found and size < len(view) and self._ready(0):
                found = os.readv(self._descriptor, [view[size:]])
                size += found
            return size

    def _waited(self) -> bool:
        """Wait until there is something; return False if we shall wait no more."""
        while self._stop is not None and not self._ready(_WAIT_SECONDS):
            if self._stop.is_set():
                return False
        return True

    def _ready(self, seconds: float) -> bool:
        return bool(select.select([self._descriptor], [], [], seconds)[0])


class Bytes:
    """Bytes that were read already, then those of another reader."""

    def __init__(self, head: bytes, rest: Filling) -> None:
        self._head = head
        self._rest = rest

    def read(self, size: int) -> bytes:
        """Return what was read already first."""
        if not self._head:
            return self._rest.read(size)
        found, self._head = self._head[:size], self._head[size:]
        return found

    def read_into(self, view: memoryview) -> int:
        """Write what was read already first."""
        found, self._head = self._head[: len(view)], self._head[len(view) :]
        view[: len(found)] = found
        return len(found) + self._rest.read_into(view[len(found) :])


class _Gzip:
    """Members of gzip, one behind the other."""

    def __init__(self, packed: ByteReader) -> None:
        self._packed = packed
        self._left = b""
        self._member = zlib.decompressobj(wbits=31)
        self._begun = False

    def read(self, size: int) -> bytes:
        while True:
            if not self._left:
                self._left = self._packed.read(_PIECE)
            if not self._left:
                if self._begun:
                    raise _torn_archive()
                return b""
            if not self._begun and not self._left.strip(b"\0"):
                self._left = b""  # padding behind the last member, as tapes have it
                continue
            self._begun = True
            try:
                found = self._member.decompress(self._left, size)
            except zlib.error:
                raise _torn_archive() from None
            self._left = self._member.unconsumed_tail
            if self._member.eof:
                self._left = self._member.unused_data
                self._member = zlib.decompressobj(wbits=31)
                self._begun = False
            if found:
                return found


class _Zstd:
    """Frames of zstd, one behind the other."""

    def __init__(self, packed: ByteReader, rewound: Callable[[], ByteReader] | None) -> None:
        self._stream = _arrow_stream(packed)
        self._rewound = rewound
        self._given = 0
        self._failed = False

    def read(self, size: int) -> bytes:
        try:
            found = bytes(self._stream.read(1 if self._failed else min(size, _PIECE)))
        except OSError:
            if self._failed or self._rewound is None:
                raise _torn_archive() from None
            # Arrow gives nothing of a read that it can't finish. Byte by byte it gives them all.
            self._failed = True
            self._stream = _arrow_stream(self._rewound())
            self._skip()
            return self.read(size)
        self._given += len(found)
        return found

    def _skip(self) -> None:
        left = self._given
        while left:
            left -= len(self._stream.read(min(left, _PIECE)))


def _arrow_stream(packed: ByteReader) -> pa.NativeFile:
    import pyarrow as pa  # noqa: PLC0415 # 0.2 s, for zstd alone

    return pa.CompressedInputStream(pa.PythonFile(_Filelike(packed), mode="r"), "zstd")


class _Filelike:
    """What Arrow wants of a file."""

    closed = False

    def __init__(self, packed: ByteReader) -> None:
        self._packed = packed

    def read(self, size: int) -> bytes:
        return self._packed.read(size)

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self.closed = True


def reader_of(
    raw: Filling, *, rewound: Callable[[], ByteReader] | None = None
) -> tuple[ByteReader, bool]:
    """Return a reader of what is in a file or pipe, and whether it was compressed."""
    head = b""
    while len(head) < len(_ZSTD):
        found = raw.read(len(_ZSTD) - len(head))
        if not found:
            break
        head += found
    whole = Bytes(head, raw)
    if head.startswith(_GZIP):
        return _Gzip(whole), True
    if head == _ZSTD:
        return _Zstd(whole, rewound), True
    return whole, False


@contextmanager
def translate_read_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DataError(
            f"The input can't be read: {error.strerror or 'the system refused'}."
        ) from None


def skip(reader: ByteReader, size: int) -> bool:
    """Read so many bytes and forget them; return whether there were as many."""
    with suppress(DataError):
        while size:
            found = reader.read(min(size, 1 << 20))
            if not found:
                return False
            size -= len(found)
        return True
    return False


def _torn_archive() -> DataError:
    return DataError(
        "The compressed input ends before its end, or is damaged.",
        hint="What was whole before that place was worked on. Put the whole input in its place and "
        "run again: it goes on from there.",
    )
