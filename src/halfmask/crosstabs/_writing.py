"""Tables as files: a long one for programs, and a crossed one for readers."""

from __future__ import annotations

import hashlib
import io
import re
from typing import TYPE_CHECKING, Final

import polars as pl

from halfmask.claims import DataFile
from halfmask.claims.manifest import DEVICE
from halfmask.data import guarded, write_table
from halfmask.data.io.workbook_file import write_workbook

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from halfmask.crosstabs._policy import CrosstabOutput
    from halfmask.crosstabs._released import ReleasedTable

#: What a crossed table has in the place of a hidden cell.
CROSS: Final = "x"
_ENDINGS: Final = {"csv": "csv", "parquet": "parquet", "excel": "xlsx"}
_CROSSED: Final = "-crossed"
_LONGEST: Final = 100


def file_stems(tables: Sequence[ReleasedTable]) -> dict[str, str]:
    """Return the name of each table's files without their ending: what every system takes."""
    stems: dict[str, str] = {}
    taken: set[str] = set()
    for table in tables:
        plain = re.sub(r"[^A-Za-z0-9._-]+", "_", table.name).strip("._-")[:_LONGEST]
        plain = plain.strip("._-") or "table"
        plain = f"table-{plain}" if DEVICE.fullmatch(plain) else plain
        stem, number = plain, 1
        while {stem.lower(), f"{stem}{_CROSSED}".lower()} & taken:
            number += 1
            stem = f"{plain}-{number}"
        taken |= {stem.lower(), f"{stem}{_CROSSED}".lower()}
        stems[table.name] = stem
    return stems


def file_names(
    tables: Sequence[ReleasedTable], output: CrosstabOutput
) -> dict[str, tuple[str, str | None]]:
    """Return the long and the crossed file of each table; a table of one dimension has no other."""
    return {
        table.name: (
            f"data/{stem}.{_ENDINGS[output.format]}",
            f"data/{stem}{_CROSSED}.csv" if len(table.dimensions) > 1 else None,
        )
        for table, stem in zip(tables, file_stems(tables).values(), strict=True)
    }


def write_tables(
    tables: Sequence[ReleasedTable], output: CrosstabOutput, folder: Path
) -> Iterator[DataFile]:
    """Write all tables into the folder of a release, and yield the files."""
    names = file_names(tables, output)
    for table in tables:
        long, crossed = names[table.name]
        if output.format == "excel":
            write_workbook(table.frame, folder / long)
        else:
            write_table(table.frame, folder / long, format=output.format)
        yield _written(folder, long, output.format, table.frame.height)
        if crossed is not None:
            lines = crossed_lines(table)
            (folder / crossed).write_bytes(_as_csv(lines))
            yield _written(folder, crossed, "csv", len(lines) - 1)


def _written(folder: Path, name: str, form: str, n_rows: int) -> DataFile:
    raw = (folder / name).read_bytes()
    return DataFile(
        name=name,
        format=form,
        sha256=hashlib.sha256(raw).hexdigest(),
        n_bytes=len(raw),
        n_rows=n_rows,
    )


def crossed_lines(table: ReleasedTable) -> list[list[str]]:
    """Return a table with its last of some dimensions across: an ``x`` is hidden, no cell is 0."""
    values = [number_text(value) for value in table.values.to_list()]
    texts = [CROSS if hidden else value for hidden, value in zip(table.hidden, values, strict=True)]
    if len(table.dimensions) <= 1:
        codes = table.labels.rows() or [()] * len(texts)
        own = ([*code, text] for code, text in zip(codes, texts, strict=True))
        return [[*table.dimensions, "value"], *own]
    *down, across = table.dimensions
    columns = list(dict.fromkeys(table.labels[across].to_list()))
    heads = list(zip(*(table.labels[name].to_list() for name in down), strict=True))
    found = dict(zip(zip(heads, table.labels[across].to_list(), strict=True), texts, strict=True))
    return [
        [*down, *columns],
        *(
            [*head, *(found.get((head, column), "0") for column in columns)]
            for head in dict.fromkeys(heads)
        ),
    ]


def number_text(value: float | None) -> str:
    """Return a number as a person writes it, without an exponent where that is short."""
    if value is None:
        return ""
    whole = float(value).is_integer() and abs(value) < 2**53
    return str(int(value)) if whole else repr(float(value))


def _as_csv(lines: Sequence[Sequence[str]]) -> bytes:
    """Return lines as CSV; texts that a spreadsheet would run get an apostrophe."""
    columns = {str(at): texts for at, texts in enumerate(zip(*lines, strict=True))}
    frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
    out = io.BytesIO()
    guarded(frame).write_csv(out, include_header=False)
    return out.getvalue()
