"""The files of a release on disk: their hashes, their lines, and whether there are others."""

from __future__ import annotations

import gzip
import hashlib
import io
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
