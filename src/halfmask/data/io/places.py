"""Where the bytes of a table lie: a file, the files of a folder, or what came in at a pipe."""

from __future__ import annotations

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
from typing import IO, BinaryIO

from halfmask._errors import DataError
from halfmask.data.io.reading import reading

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
