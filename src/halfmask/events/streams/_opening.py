"""Which source an input is, by what it is called and what is there."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from halfmask._errors import DataError, ParameterError
from halfmask.events.streams._columnar import ColumnarFile
from halfmask.events.streams._files import COLUMNAR, FileSource, FolderSource, PipeSource
from halfmask.events.streams._following import FollowedFile

if TYPE_CHECKING:
    from halfmask.events.block._bad_lines import Limits
    from halfmask.events.streams._chunk import Source


def open_source(
    where: str | Path,
    *,
    follow: bool = False,
    limits: Limits | None = None,
    roots: frozenset[str] | None = None,
) -> Source:
    """Return the source of an input.

    Parameters
    ----------
    where
        A file of JSON lines (plain, gzip, zstd), Parquet or Arrow, a folder of them, or ``-`` for
        standard input.
    follow
        Whether to wait for what is appended to the file.
    limits
        Beyond what a line is refused.
    roots
        Fields that are read of Parquet and Arrow; None: all.

    Raises
    ------
    DataError
        If it isn't there, or can't be read.
    ParameterError
        If it can't be followed.
    """
    path = Path(where)
    columnar = path.suffix in COLUMNAR
    if follow:
        if str(where) == "-" or columnar or path.is_dir():
            raise ParameterError(
                "Only a file of JSON lines can be followed.",
                hint="A pipe is read to its end by itself.",
            )
        return FollowedFile(path, limits=limits)
    if str(where) == "-":
        return PipeSource(sys.stdin.fileno(), limits=limits)
    if path.is_dir():
        return FolderSource(path, limits=limits, roots=roots)
    if not path.exists():
        raise DataError("The input isn't there.", hint="Check its name.")
    if columnar:
        return ColumnarFile(path, roots=roots)
    return FileSource(path, limits=limits)
