"""Where lines go: a file, a folder of parts, a table, a pipe."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from halfmask._errors import ParameterError
from halfmask.events.streams._file_sink import FileSink
from halfmask.events.streams._folder_sink import FolderSink
from halfmask.events.streams._tabular import TableSink

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from halfmask.events.streams._file_sink import Packing

_PACKINGS: dict[str, Packing] = {".gz": "gzip", ".zst": "zstd"}
_TABULAR = (".parquet", ".arrow")


class Sink(Protocol):
    """Where lines go.

    **Guarantees** that a run relies on: after ``begin(sync())`` a sink holds the bytes that it held
    then, and at its end the same bytes as if nothing had been between.
    """

    @property
    def lasting(self) -> bool:
        """Whether what was written can be cut back and gone on with."""
        ...

    @property
    def target(self) -> Path | None:
        """What is there at the end; None for a pipe."""
        ...

    def check(self) -> None:
        """Raise if something is there that may not be replaced.

        Raises
        ------
        ReleaseError
            If there is.
        """
        ...

    def begin(self, state: Mapping[str, Any] | None, pending: bytes, *, again: bool) -> None:
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
        ...

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
        ...

    def lines(self) -> Iterator[bytes]:
        """Yield what was written so far, in blocks of whole lines; nothing of a pipe."""
        ...

    def finish(self) -> None:
        """Write what is left, and give the output its name."""
        ...

    def close(self, *, done: bool) -> None:
        """Let go; if all is `done`, remove what was needed on the way.

        Parameters
        ----------
        done
            Whether the output is complete.
        """
        ...


class PipeSink:
    """A pipe, such as standard output. What went into it can't be cut back.

    Parameters
    ----------
    file
        Takes bytes.
    """

    lasting = False
    target: Path | None = None

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def check(self) -> None:
        """Do nothing: a pipe is where it is."""

    def begin(self, state: Mapping[str, Any] | None, pending: bytes, *, again: bool) -> None:
        """Do nothing: a pipe begins where it is."""

    def write(self, data: bytes | memoryview) -> None:
        """Write lines."""
        self._file.write(data)

    def sync(self) -> tuple[dict[str, Any], bytes]:
        """Pass on what is written."""
        self._file.flush()
        return {}, b""

    def lines(self) -> Iterator[bytes]:
        """Yield nothing: what went into a pipe can't be read again."""
        yield from ()

    def finish(self) -> None:
        """Pass on what is written."""
        self._file.flush()

    def close(self, *, done: bool) -> None:
        """Leave the pipe open: it isn't ours."""


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
