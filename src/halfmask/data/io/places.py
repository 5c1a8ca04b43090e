"""Where the bytes of a table lie, and how they are opened: as bytes, or decompressed as text.

What goes wrong while they are read is a `DataError` without a path.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import re
import shutil
import stat
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO

import polars as pl

from halfmask._errors import DataError, HalfmaskError
from halfmask.data.io.formats import compression_of_bytes

STANDARD_INPUT = "-"
TABLE = "The table to read"
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


class Place:
    """One file's bytes, that can be read from the start as often as is wanted."""

    #: What to do where a worker of a cluster can't read it.
    on_workers = "Put the table into a folder that every worker sees under the same path."

    def __init__(
        self, what: str, *, name: str = "", path: Path | None = None, spool: _Spool | None = None
    ) -> None:
        self.what = what
        self.name = name
        self._path = path
        self._spool = spool

    def __repr__(self) -> str:
        return f"<Place: {self.what.lower()}>"

    @property
    def is_file(self) -> bool:
        """Whether it is a file with a path, which another process can open."""
        return self._path is not None

    def open(self) -> BinaryIO:
        """Open the bytes for reading from the start, independent of other readers."""
        if self._spool is not None:
            return io.BufferedReader(_Window(self._spool))
        if self._path is None:
            raise DataError(f"{self.what} has no bytes.")
        with reading(self.what):
            return self._path.open("rb")

    def stamp(self) -> tuple[int, int, int] | None:
        """Return what tells whether a file is still the same; ``None`` for a pipe: it is kept."""
        if self._path is None:
            return None
        with reading(self.what):
            found = self._path.stat()
        return found.st_ino, found.st_size, found.st_mtime_ns

    def fetched(self, columns: Sequence[str] = (), rows: range | None = None) -> Place:
        """Return a place near by with a Parquet file's footer, and some columns of some rows."""
        del columns, rows  # a file here has all of them
        return self

    @contextmanager
    def local(self) -> Iterator[Path | BinaryIO]:
        """Give what a library opens fastest: a path where there is one, else an open file."""
        if self._path is not None:
            yield self._path
            return
        if (
            self._spool is not None
            and (path := Path(f"/proc/self/fd/{self._spool.descriptor}")).exists()
        ):
            yield path
            return
        with self.open() as file:
            yield file


class _Spool:
    """What came in at a pipe, or was written by a reader, in a temporary file without a name."""

    def __init__(self, write: Callable[[IO[bytes]], None]) -> None:
        # TemporaryFile has no name on disk, so that nothing is left by any kind of death.
        with tempfile.TemporaryFile(prefix="halfmask-") as file:
            write(file)
            file.flush()
            self.descriptor = os.dup(file.fileno())
        weakref.finalize(self, os.close, self.descriptor)


class _Window(io.RawIOBase):
    """A reader of its own over a spooled file: its position is not the file's."""

    def __init__(self, spool: _Spool) -> None:
        super().__init__()
        self._spool = spool
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        end = os.fstat(self._spool.descriptor).st_size
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: end}[whence]
        self._position = max(0, start + offset)
        return self._position

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override] # any buffer
        data = os.pread(self._spool.descriptor, len(buffer), self._position)
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)


def places_of(where: str | Path, *, called: str = TABLE) -> list[Place]:
    """Return the places of a table's bytes, in the order of their names."""
    if str(where) == STANDARD_INPUT:
        return [_spooled(sys.stdin.buffer, called)]
    if isinstance(where, str) and _ADDRESS.match(where):
        raise DataError(
            f"{called} is given by an address that this job doesn't read.",
            hint="Copy it to a local path, or mount it. protect, mask and describe also read "
            "s3://, gs:// and az:// addresses.",
        )
    if not str(where):
        # A shell's variable that isn't set: the empty path is the folder that one is in.
        raise DataError(
            f"{called} has an empty path.",
            hint="Give a file or a folder; the folder you are in is written as a dot.",
        )
    with reading(called):
        path = Path(where)
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            return _in_folder(path, called)
        if not stat.S_ISREG(mode):
            with path.open("rb") as pipe:
                return [_spooled(pipe, called)]
        # A file that can't be opened is an error now, not at the first batch.
        path.open("rb").close()
        return [Place(called, name=path.name, path=path.absolute())]


def _in_folder(folder: Path, called: str) -> list[Place]:
    paths = sorted(path for path in folder.iterdir() if not path.name.startswith((".", "_")))
    folders = [path.name for path in paths if path.is_dir()]
    if folders:
        raise folders_error(called, folders, [path.name for path in paths])
    if not paths:
        raise DataError(f"{called} is a folder without files.")
    return [
        Place(f"File {n} of {called[0].lower()}{called[1:]}", name=path.name, path=path.absolute())
        for n, path in enumerate(paths, 1)
    ]


def folders_error(called: str, folders: Sequence[str], names: Sequence[str]) -> DataError:
    """Return why a folder with folders is no table."""
    if "data" in folders and "manifest.json" in names:
        return DataError(
            f"{called} is a release; its rows are in its folder data.",
            hint="Give that folder, such as RELEASE/data.",
        )
    return DataError(
        f"{called} is a folder that holds folders; what their names say would be lost.",
        hint="Put all files of the table in one folder.",
    )


def spooled(write: Callable[[IO[bytes]], None], called: str, *, name: str = "") -> Place:
    """Return the place of bytes that a function writes into a temporary file."""
    return Place(called, name=name, spool=_Spool(write))


def _spooled(pipe: IO[bytes], called: str) -> Place:
    with reading(called):
        return spooled(lambda file: shutil.copyfileobj(pipe, file, 1 << 20), called)


_REASONS = {
    errno.ENOENT: (
        "is not there",
        "Check its path: a relative one starts at the folder that halfmask runs in.",
    ),
    errno.EACCES: ("may not be read", "Check its permissions."),
    errno.EPERM: ("may not be read", "Check its permissions."),
    errno.EISDIR: ("is a folder", "Give a file, or a folder of files."),
    errno.EMFILE: ("can't be opened: too many files are open", "Raise the limit of open files."),
    errno.ENOSPC: ("can't be kept: the disk is full", "Free some space for temporary files."),
}


@contextmanager
def reading(what: str, form: str | None = None) -> Iterator[None]:
    """Turn every foreign error into a `DataError` that quotes nothing of the file."""
    try:
        yield
    except HalfmaskError:
        raise
    except MemoryError:
        # A damaged file asks for any number of bytes; so does one huge record batch.
        raise DataError(
            f"{what} asks for more memory than there is: it is damaged, or its batches are huge.",
            hint="Write it again, in Parquet or in smaller batches.",
        ) from None
    except UnicodeError as error:
        raise DataError(*_undecodable(what, error)) from None
    except (Exception, pl.exceptions.PanicException) as error:  # noqa: BLE001 - any library's
        raise _unreadable(what, form, error) from None


def _undecodable(what: str, error: UnicodeError) -> tuple[str]:
    where = f" (near byte {error.start})" if isinstance(error, UnicodeDecodeError) else ""
    return (f"{what} has bytes that are not of the encoding it is read in{where}.",)


def _unreadable(what: str, form: str | None, error: BaseException) -> DataError:
    number = error.errno if isinstance(error, OSError) else None
    if number in _REASONS:
        reason, hint = _REASONS[number]
        return DataError(f"{what} {reason}.", hint=hint)
    if isinstance(error, OSError) and "Truncated" in str(error):
        return DataError(f"{what} ends too early: its compressed data is cut off.")
    if isinstance(error, ValueError) and "straddl" in str(error):
        return DataError(
            f"{what} has a row longer than 4 million bytes.",
            hint="Check for a quote that is opened and never closed.",
        )
    as_form = "" if form is None else f" as {form}"
    return DataError(
        f"{what} can't be read{as_form}: it is damaged, or of another format.",
        hint="Give its format with [[format=|--format]], or write it again.",
    )


# How much of a text file is looked at together: a row must be shorter than that.
# Pyarrow parses some dozens of them ahead, so that a block is a fortieth of the memory it takes.
BLOCK = 4 << 20
_CHUNK = 1 << 20
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)


def decompressed(place: Place) -> Any:  # noqa: ANN401 - a file of Python or of pyarrow
    """Open a place's bytes, decompressed if the whole file is compressed."""
    file = place.open()
    compression = compression_of_bytes(file.read(8))
    file.seek(0)
    if compression is None:
        return file
    import pyarrow as pa  # noqa: PLC0415 - only compressed files pay for it here

    return pa.CompressedInputStream(pa.PythonFile(file, mode="r"), compression)


def start_of(place: Place, size: int = 4096) -> bytes:
    """Return the first bytes of a place, decompressed."""
    with reading(place.what), decompressed(place) as file:
        return bytes(file.read(size))


class TextStream(io.RawIOBase):
    """A text file's characters as UTF-8 bytes without a byte-order mark."""

    def __init__(self, place: Place, *, encoding: str) -> None:
        super().__init__()
        self._what = place.what
        self._file = decompressed(place)
        first = bytes(self._file.read(_CHUNK))
        marked = next((name for mark, name in _MARKS if first.startswith(mark)), None)
        self.encoding = marked or codecs.lookup(encoding).name
        self._decoder = codecs.getincrementaldecoder(self.encoding)("strict")
        self._plain = self.encoding == "utf-8"
        self._bytes_in = 0
        self._held = bytearray(self._decoded(first, first=True))
        self._ended = not first

    def readable(self) -> bool:
        """Return whether this can be read: always."""
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Read up to ``size`` bytes of UTF-8; less only at the end."""
        while not self._ended and (size < 0 or len(self._held) < size):
            chunk = bytes(self._file.read(_CHUNK))
            self._ended = not chunk
            self._held += self._decoded(chunk)
        if size < 0:
            size = len(self._held)
        data = bytes(self._held[:size])
        del self._held[:size]
        return data

    def close(self) -> None:
        """Close the file below, too."""
        if not self.closed:
            self._file.close()
        super().close()

    def _decoded(self, chunk: bytes, *, first: bool = False) -> bytes:
        try:
            text = self._decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            near = self._bytes_in + error.start + 1
            raise DataError(
                f"{self._what} has bytes that are not {self.encoding}, near byte {near}.",
                hint="Say its encoding, such as latin-1 or utf-16: "
                "[[ReadOptions(encoding=...)|--encoding]], or encoding under [input] of a policy.",
            ) from None
        self._bytes_in += len(chunk)
        if first and not chunk.startswith(_MARKED) and "\x00" in text:
            raise DataError(
                f"{self._what} holds NUL characters: it is no text, or of another encoding.",
                hint="Try the encoding utf-16, or say its format: "
                "[[encoding= and format=|--encoding and --format]].",
            )
        # Plain ASCII goes on unchanged; elsewhere the decoder may have held back a cut character.
        as_it_is = self._plain and text.isascii() and len(text) == len(chunk)
        return chunk if as_it_is else text.encode("utf-8")


_MARKED = tuple(mark for mark, _ in _MARKS)
