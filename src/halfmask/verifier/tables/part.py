"""One data file of a release, opened without reading more than is asked for."""

from __future__ import annotations

import csv
import json
import re
from typing import TYPE_CHECKING, Final, NoReturn

import polars as pl

from halfmask._errors import VerificationError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: All that reading an untrusted file can end in. A panic of the reader is no bug of
#: the verifier: the file is not what it says it is.
READ_ERRORS: Final = (
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
    OSError,
    ValueError,
    RecursionError,
)

#: CSV files have an apostrophe before names that a spreadsheet would run as a formula.
FORMULA_NAME: Final = re.compile(r"'+[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
ARROW_FILE_MAGIC: Final = b"ARROW1"
#: How gzip, zstd and zlib files begin.
COMPRESSED: Final = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x78\x01", b"\x78\x9c", b"\x78\xda")


class UnreadableError(VerificationError):
    """A data file that can't be read as the manifest says; the message holds no value."""


def open_part(path: Path, fmt: str) -> pl.LazyFrame:
    """Open one data file."""
    if fmt == "parquet":
        return pl.scan_parquet(path, glob=False, hive_partitioning=False)
    with path.open("rb") as file:
        start = file.read(len(ARROW_FILE_MAGIC))
    if fmt == "csv":
        if start.startswith(COMPRESSED):
            # The reader would unpack it, to whatever size.
            raise UnreadableError("It is compressed.")
        return _open_csv(path)
    if fmt == "arrow":
        if start == ARROW_FILE_MAGIC:
            return pl.scan_ipc(path, glob=False, hive_partitioning=False)
        return pl.read_ipc_stream(path).lazy()
    return _open_json_lines(path)


def _open_csv(path: Path) -> pl.LazyFrame:
    """Scan CSV once a second reader has found the same table in it.

    polars alone passes over cells that nobody asked for, so rows could carry more than the columns
    that are stated, and takes a bare carriage return for a part of a cell, where others begin a
    row.
    """
    header, n_rows = _shape_of_csv(path)
    table = pl.scan_csv(path, glob=False, infer_schema=False, new_columns=header)
    if table.select(pl.len()).collect(engine="streaming").item() != n_rows:
        raise UnreadableError("It has rows that not every reader takes for rows.")
    return table


def _shape_of_csv(path: Path) -> tuple[list[str], int]:
    """Return the names of a CSV file's columns and its rows, which have as many cells each."""
    csv.field_size_limit(2**31 - 1)  # cells may be as long as polars reads them
    n_rows = 0
    try:
        with path.open("r", encoding="utf-8", newline="") as file:
            rows = csv.reader(file, strict=True)
            header = next(rows, [])
            width = len(header)
            for row in rows:
                n_rows += 1
                # The row of a single missing cell is an empty line.
                if len(row) != width and (row or width > 1):
                    raise UnreadableError("It has rows of different length.")
    except (ValueError, csv.Error):
        raise UnreadableError("It isn't strict CSV in UTF-8.") from None
    header = [name[1:] if FORMULA_NAME.match(name) else name for name in header]
    if len(set(header)) < width:
        raise UnreadableError("It has two columns of one name.")
    return header, n_rows


def _open_json_lines(path: Path) -> pl.LazyFrame:
    """Scan JSON lines with the types that the lines have.

    Left to infer them, polars turns ``1`` and ``"1"`` of one column into one value, but a reader of
    the file can distinguish them. So each column must keep to one type, and each line to the
    same keys.
    """
    dtypes: dict[str, type[pl.DataType] | None] = {}
    for number, record in enumerate(_records(path)):
        if number == 0:
            dtypes = dict.fromkeys(record)
        elif record.keys() != dtypes.keys():
            raise UnreadableError("Its lines don't all have the same columns.")
        for name, value in record.items():
            if value is None:
                continue
            dtype = _dtype_of(value)
            known = dtypes[name]
            if known is not None and known is not dtype:
                raise UnreadableError("It mixes types in one column.")
            dtypes[name] = dtype
    schema = {name: pl.String if dtype is None else dtype for name, dtype in dtypes.items()}
    if not schema:
        return pl.LazyFrame()
    return pl.scan_ndjson(path, schema=schema)


def _records(path: Path) -> Iterator[dict[str, object]]:
    try:
        with path.open("r", encoding="utf-8", newline="\n") as file:
            for line in file:
                yield _parse(line)
    except UnreadableError:
        raise
    except (ValueError, RecursionError):
        raise UnreadableError("It has a line that isn't strict JSON in UTF-8.") from None


def _parse(line: str) -> dict[str, object]:
    record = json.loads(line, object_pairs_hook=_record, parse_constant=_refuse)
    if not isinstance(record, dict):
        raise UnreadableError("It has a line that isn't an object.")
    return record


def _record(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise UnreadableError("It has a line with a column twice.")
    return found


def _refuse(_: str) -> NoReturn:
    raise UnreadableError("It has a number that JSON doesn't have.")


def _dtype_of(value: object) -> type[pl.DataType]:
    if isinstance(value, bool):
        return pl.Boolean
    if isinstance(value, str):
        return pl.String
    if isinstance(value, float):
        return pl.Float64
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return pl.Int64
    raise UnreadableError("It has a cell that isn't text, a number or a truth value.")
