"""The arms of `masking.py`, one file a technique, and what they compare with.

A part of `masking.py`; not run by itself. Each file has ``ARMS: dict[str, Arm]``.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import polars as pl

from bars import Bar, seconds_of


class Arm(Protocol):
    """Measures a technique and returns its bars; with `quick` on fewer rows."""

    def __call__(self, *, quick: bool) -> list[Bar]: ...


def plain_parquet_seconds(table: pl.DataFrame, *, runs: int = 3) -> float:
    """Return the seconds that reading a table from Parquet and writing it again takes."""
    with TemporaryDirectory() as folder:
        source, target = Path(folder) / "source.parquet", Path(folder) / "target.parquet"
        table.write_parquet(source)
        return seconds_of(lambda: pl.read_parquet(source).write_parquet(target), runs=runs)[0]
