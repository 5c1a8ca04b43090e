"""Where lines are written to: a folder of parts, a pipe, or whatever a path names."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from halfmask._errors import ParameterError, ReleaseError
from halfmask.events.streams._file_sink import (
    FileSink,
    check_free,
    check_tail,
    not_ours,
    partial_of,
    sync_folder,
    translate_write_errors,
)
from halfmask.events.streams._files import FileSource
from halfmask.events.streams._tabular import TableSink

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from halfmask.events.streams._file_sink import Packing


_ENDINGS = {None: "", "gzip": ".gz", "zstd": ".zst"}
_PART_BYTES = 1 << 28


class FolderSink:
    """A folder of numbered parts: ``part-00001.jsonl``, and so on."""

    lasting = True

    def __init__(
        self,
        path: str | Path,
        *,
        packing: Packing | None = None,
        part_bytes: int = _PART_BYTES,
        appending: bool = False,
        overwrite: bool = False,
    ) -> None:
        self.target: Path = Path(path)
        self._packing = packing
        self._part_bytes = part_bytes
        self._overwrite = overwrite
        self._work = self.target if appending else partial_of(self.target)
        self._number = 1
        self._filled = 0
        self._sizes: list[int] = []
        self._part: FileSink | None = None

    def check(self) -> None:
        """Refuse to write over what is there."""
        with translate_write_errors():
            check_free(self._work, overwrite=self._overwrite)
            check_free(self.target, overwrite=self._overwrite)

    def begin(self, state: Mapping[str, Any] | None, pending: bytes, *, again: bool) -> None:
        """Make the folder, or remove the parts behind the checkpoint."""
        with translate_write_errors():
            if again and state is not None:
                if not self._work.exists() and self.target.exists():
                    self._check(self.target, state)
                    self.target.rename(self._work)
                self._check(self._work, state)
            if not again and self._work.is_dir():
                shutil.rmtree(self._work)
            self._work.mkdir(exist_ok=True)
            self._number = int(state["part"]) if state else 1
            self._filled = int(state["filled"]) if state else 0
            for path in self._work.iterdir():
                if path.name.startswith("part-") and path.name > self._name(self._number):
                    path.unlink()
            self._part = self._opened(None if state is None else state["file"], pending, again)

    def write(self, data: bytes | memoryview) -> None:
        """Write lines, to the next part where one is full."""
        while data:
            cut = len(data)
            if self._filled + len(data) >= self._part_bytes:
                first = max(self._part_bytes - self._filled - 1, 0)
                cut = first + bytes(data[first:]).index(b"\n") + 1
            self._current().write(data[:cut])
            self._filled += cut
            data = data[cut:]
            if self._filled >= self._part_bytes:
                self._current().finish()
                self._current().close(done=True)
                self._sizes.append((self._work / self._name(self._number)).stat().st_size)
                self._number, self._filled = self._number + 1, 0
                self._part = self._opened(None, b"", again=True)

    def sync(self) -> tuple[dict[str, Any], bytes]:
        """Bring what is written to the disk."""
        file, pending = self._current().sync()
        with translate_write_errors():
            sync_folder(self._work)
        where = {"part": self._number, "filled": self._filled, "sizes": list(self._sizes)}
        return {**where, "file": file}, pending

    def lines(self) -> Iterator[bytes]:
        """Yield what was written so far, part by part."""
        for number in range(1, self._number):
            chunks = FileSource(self._work / self._name(number)).chunks(None, threading.Event())
            yield from (chunk.data for chunk in chunks)
        yield from self._current().lines()

    def finish(self) -> None:
        """Finish the last part; rename the folder."""
        self._current().finish()
        with translate_write_errors():
            if not self._filled and self._number > 1:
                (self._work / self._name(self._number)).unlink()
            sync_folder(self._work)
            if self._work != self.target:
                if self._overwrite and self.target.is_dir():
                    shutil.rmtree(self.target)
                self._work.rename(self.target)
            sync_folder(self.target.parent)

    def close(self, *, done: bool) -> None:
        """Close the last part."""
        if self._part is not None:
            self._part.close(done=done)

    def _check(self, folder: Path, state: Mapping[str, Any]) -> None:
        """Check that the parts up to the checkpoint are there still."""
        sizes = list(state["sizes"])
        for number, size in enumerate(sizes, start=1):
            path = folder / self._name(number)
            if path.is_symlink() or not path.is_file() or path.stat().st_size != size:
                raise not_ours()
        if state["file"]["length"]:
            path = folder / self._name(len(sizes) + 1)
            if path.is_symlink() or not path.is_file():
                raise not_ours()
            with path.open("rb") as file:
                check_tail(file, state["file"])
        self._sizes = sizes

    def _name(self, number: int) -> str:
        return f"part-{number:05}.jsonl{_ENDINGS[self._packing]}"

    def _opened(self, state: Mapping[str, Any] | None, pending: bytes, again: bool) -> FileSink:  # noqa: FBT001 # as begin has it
        path = self._work / self._name(self._number)
        part = FileSink(path, packing=self._packing, appending=True, overwrite=self._overwrite)
        part.begin(state, pending, again=again)
        return part

    def _current(self) -> FileSink:
        if self._part is None:
            raise ReleaseError("The output was closed.", hint="This is a fault of halfmask.")
        return self._part


_PACKINGS: dict[str, Packing] = {".gz": "gzip", ".zst": "zstd"}
_TABULAR = (".parquet", ".arrow")


class Sink(Protocol):
    """Where lines go.

    **Guarantees** that a run relies on: after ``begin(sync())`` a sink holds the bytes that it held
    then, and at its end the same bytes as if nothing had been between. A class that inherits from
    it is a pipe, which begins where it is, and can't be read again, unless it says otherwise.
    """

    @property
    def lasting(self) -> bool:
        """Whether what was written can be cut back and gone on with."""
        return False

    @property
    def target(self) -> Path | None:
        """What is there at the end; None for a pipe."""
        return None

    def check(self) -> None:
        """Raise if something is there that may not be replaced.

        Raises
        ------
        ReleaseError
            If there is.
        """
        return

    def begin(self, state: Mapping[str, Any] | None, pending: bytes, *, again: bool) -> None:  # noqa: ARG002 # a pipe's
        """Make the output, or cut back what is there.

        Parameters
        ----------
        state, pending
            What `sync` returned; None if there was no checkpoint.
        again
            Whether a run goes on that was begun before; else `check` was called.

        Raises
        ------
        ReleaseError
            If what is there isn't the run's, or it can't be written.
        """
        return

    def write(self, data: bytes | memoryview) -> None:
        """Take whole lines; what a view shows may be others afterwards.

        Parameters
        ----------
        data
            Whole lines; a view is valid only during the call.
        """
        ...

    def sync(self) -> tuple[dict[str, Any], bytes]:
        """Bring all to the disk; return where the output is, and what isn't in it yet."""
        return {}, b""

    def lines(self) -> Iterator[bytes]:
        """Yield what was written so far, in blocks of whole lines; nothing of a pipe."""
        yield from ()

    def finish(self) -> None:
        """Write what is left, and give the output its name."""
        return

    def close(self, *, done: bool) -> None:  # noqa: ARG002 # the same
        """Let go; if all is `done`, remove what was needed on the way.

        Parameters
        ----------
        done
            Whether the output is complete.
        """
        return


class PipeSink(Sink):
    """A pipe, such as standard output. What went into it can't be cut back."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, data: bytes | memoryview) -> None:
        """Write lines."""
        self._file.write(data)

    def sync(self) -> tuple[dict[str, Any], bytes]:
        """Pass on what is written."""
        self._file.flush()
        return {}, b""

    def finish(self) -> None:
        """Pass on what is written."""
        self._file.flush()


def open_sink(where: str | Path, *, appending: bool = False, overwrite: bool = False) -> Sink:
    """Return the sink that an output's name says.

    Parameters
    ----------
    where
        Ends in ``.gz`` or ``.zst``: packed lines; in ``.parquet`` or ``.arrow``: a table; in ``/``:
        a folder of parts, with ``.gz/`` or ``.zst/`` of packed ones; ``-`` is standard output;
        anything else a file of JSON lines.
    appending
        Whether lines come without end: then it is a file or a folder, not packed.
    overwrite
        Whether what is there may be replaced.

    Raises
    ------
    ParameterError
        If it can't be appended to.
    """
    text, path = str(where), Path(where)
    packing, table = _PACKINGS.get(path.suffix), path.suffix in _TABULAR
    if appending and (packing or table):
        raise ParameterError(
            "What never ends is written to a file or folder of plain JSON lines.",
            hint="Choose another name for the output.",
        )
    if text == "-":
        return PipeSink(sys.stdout.buffer)
    if text.endswith(os.sep) or path.is_dir():
        return FolderSink(path, packing=packing, appending=appending, overwrite=overwrite)
    if table:
        return TableSink(path, overwrite=overwrite)
    return FileSink(path, packing=packing, appending=appending, overwrite=overwrite)
