"""A folder of hashed rows, which workers read the table for and write."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from halfmask._errors import ParameterError
from halfmask.data import Source, open_table
from halfmask.engines import check_confidential, folder_of_parts, map_table
from halfmask.hashing._reading import BATCH_ROWS
from halfmask.hashing._streams import RowsWriter

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import polars as pl

    from halfmask._progress import Progress
    from halfmask.engines import Engine, PartFolder
    from halfmask.hashing._labelled_hasher import LabelledHasher
    from halfmask.hashing._plan import HashPlan
    from halfmask.hashing._reading import TableReading


def divided(table: object, reading: TableReading, plan: HashPlan) -> Source:
    """Open a table whose parts workers can read."""
    sets = [column.name for column in plan.columns if column.role == "set"]
    if sets:
        raise ParameterError(
            f"Columns of sets aren't hashed into a folder: {', '.join(map(repr, sets))}.",
            hint="Hash the table into one file, in this process.",
        )
    source = open_table(table, format=reading.format, options=reading.options)
    if source.parts() is None:
        raise ParameterError(
            "A folder of hashed rows is made of files of Parquet alone.",
            hint="Write the table as Parquet first, or hash it into one file.",
        )
    return source


def write_hashed(
    source: Source,
    columns: Sequence[str],
    hasher: LabelledHasher,
    out: str | Path,
    *,
    overwrite: bool,
    engine: Engine,
    progress: Progress,
) -> int:
    """Hash the parts of a table into the files of a folder, and return the number of rows."""
    check_confidential(engine, what="the hasher's keys")
    n_parts, rows = len(source.parts() or ()), 0
    with folder_of_parts(out, n_parts=n_parts, ending=".arrows", overwrite=overwrite) as folder:
        for written in map_table(engine, source, columns, partial(_written, hasher, folder)):
            rows += written
            progress("hashing", rows / source.n_rows)
    return rows


def _written(hasher: LabelledHasher, folder: PartFolder, number: int, rows: pl.DataFrame) -> int:
    """Write the hashed rows of a part; return their number."""
    with RowsWriter(folder.path(number), overwrite=True) as writer:
        for piece in rows.iter_slices(BATCH_ROWS):
            writer.write(hasher.rows(piece.to_arrow()))
    return writer.rows
