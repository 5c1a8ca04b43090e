"""The files of a release on disk: their hashes, their rows, and whether there are others."""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

from halfmask.claims.manifest import (
    MANIFEST_NAME,
    entries_of,
    folder_of,
    released_file,
)

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet
    from pathlib import Path

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


def hashed(folder: Path, name: str) -> tuple[str, int] | None:
    """Return the SHA-256 and size of a file of a release; None where it can't be read."""
    path = released_file(folder, name)
    if path is None:
        return None
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest(), path.stat().st_size
    except OSError:
        return None


def unlisted(manifest: Path, listed: AbstractSet[str]) -> int:
    """Return how many entries the folder of a release has that aren't listed.

    An output that is a file has no folder of its own.
    """
    folder = folder_of(manifest)
    if manifest.name == MANIFEST_NAME:
        return len(entries_of(folder) - {*listed, MANIFEST_NAME})
    return len(entries_of(folder) - listed) if manifest.parent != folder else 0


def rows_of(path: Path, form: str) -> int | None:
    """Return how many rows a file of a release has; None where it isn't of its format.

    CSV has a header. Lines of JSON may be packed by gzip or zstd.
    """
    import pyarrow as pa  # noqa: PLC0415 # 0.2 s
    import pyarrow.parquet as pq  # noqa: PLC0415 # the same

    try:
        if form == "parquet":
            return int(pq.read_metadata(path).num_rows)
        if form == "arrow":
            with pa.memory_map(str(path)) as file, pa.ipc.open_file(file) as batches:
                return int(batches.read_all().num_rows)
        if form == "csv":
            return _csv_rows(path)
        if form == "excel":
            from halfmask.verifier._workbook import read_workbook  # noqa: PLC0415 # rare

            return len(read_workbook(path)) - 1
        with unpacked(path) as lines:
            return sum(bool(line.strip()) for line in lines)
    except (OSError, EOFError, ValueError, zlib.error, pa.ArrowException):
        return None


def _csv_rows(path: Path) -> int | None:
    """Return the rows of a CSV file under its header; None where a quote is never closed.

    A line ends a row unless it is within quotes: cells with quotes are quoted (RFC 4180).
    """
    quotes, rows = 0, -1
    with path.open("rb") as file:
        for line in file:
            quotes += line.count(b'"')
            rows += quotes % 2 == 0
    return None if quotes % 2 else rows


@contextmanager
def unpacked(path: Path) -> Iterator[BinaryIO]:
    """Open a file of lines, plain or packed by gzip or zstd."""
    with path.open("rb") as raw:
        head = raw.read(4)
        raw.seek(0)
        if head.startswith(_GZIP):
            with gzip.open(raw) as file:
                yield file  # type: ignore[misc] # it reads as one
        elif head == _ZSTD:
            import pyarrow as pa  # noqa: PLC0415 # 0.2 s

            with pa.CompressedInputStream(raw, "zstd") as file:
                yield io.BufferedReader(file)
        else:
            yield raw
