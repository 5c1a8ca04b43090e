"""How many rows a file of a release has; polars alone reads its tables."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import polars as pl

from halfmask.verifier._found_files import unpacked
from halfmask.verifier.tables.part import READ_ERRORS, open_part

if TYPE_CHECKING:
    from pathlib import Path


def rows_of(path: Path, form: str) -> int | None:
    """Return how many rows a file of a release has; None where it isn't of its format.

    CSV has a header. Lines of JSON may be packed by gzip or zstd.
    """
    try:
        if form in {"parquet", "arrow"}:
            return int(open_part(path, form).select(pl.len()).collect().item())
        if form == "csv":
            return _csv_rows(path)
        if form == "excel":
            from halfmask.verifier._workbook import read_workbook  # noqa: PLC0415 # rare

            return len(read_workbook(path)) - 1
        with unpacked(path) as lines:
            return sum(bool(line.strip()) for line in lines)
    except (*READ_ERRORS, EOFError, zlib.error):
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
