"""write_lines: a data file of JSON lines, and what the manifest states of it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from halfmask.claims import DataFile

if TYPE_CHECKING:
    from pathlib import Path


def write_lines(folder: Path, name: str, text: str) -> DataFile:
    """Write JSON lines into a file of a release, and return its name, hash and rows."""
    data = text.encode()
    (folder / name).write_bytes(data)
    return DataFile(
        name=name,
        format="jsonl",
        sha256=hashlib.sha256(data).hexdigest(),
        n_bytes=len(data),
        n_rows=data.count(b"\n"),
    )
