"""Hashed rows in a file, a stream of Arrow, written whole or not at all; a folder of such files."""

from __future__ import annotations

import os
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Self

import pyarrow as pa

from halfmask._errors import DataError, ParameterError, ReleaseError
from halfmask.data import Source, atomic_file, open_table
from halfmask.data.io.places import places_of, reading
from halfmask.data.io.writer import standard_output
from halfmask.engines import check_confidential, folder_of_parts, map_table
from halfmask.hashing._reading import BATCH_ROWS
from halfmask.hashing._rows import HashedRows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

    import polars as pl

    from halfmask._progress import Progress
    from halfmask.engines import Engine, PartFolder
    from halfmask.hashing._labels import LabelledHasher
    from halfmask.hashing._plan import HashPlan
    from halfmask.hashing._reading import TableReading


_FORM = "a stream of hashed rows"
#: What a stream of Arrow ends with.
_END = b"\xff\xff\xff\xff\x00\x00\x00\x00"


class RowsWriter:
    """A file of hashed rows, written batch by batch, whole or not at all.

    Parameters
    ----------
    where
        The file to write, or ``"-"`` for standard output.
    overwrite
        Whether a file of that name may be replaced.

    Attributes
    ----------
    rows
        How many rows were written.

    Raises
    ------
    ReleaseError
        If the file exists and may not be replaced, can't be written, or nothing was written.

    Guarantees
    ----------
    The file is a stream of the wire format, and holds nothing besides: what `read_rows` gives is
    what was written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> rows = HashedRows(indices=np.array([[3, 1]], dtype=np.uint32), bits=3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "rows.arrows"
    ...     with RowsWriter(path) as writer:
    ...         writer.write(rows)
    ...     [batch.equals(rows) for batch in read_rows(path)]
    [True]
    """

    def __init__(self, where: str | Path, *, overwrite: bool = False) -> None:
        self._where = where
        self._overwrite = overwrite
        self._stack = ExitStack()
        self._file: BinaryIO | None = None
        self._stream: Any = None
        self._schema: Any = None
        self.rows = 0

    def __enter__(self) -> Self:
        opened = (
            standard_output()
            if str(self._where) == "-"
            else atomic_file(self._where, overwrite=self._overwrite)
        )
        self._file = self._stack.enter_context(opened)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._stack:
            self._file = None
            if error is not None:
                raise error
            if self._stream is None:
                raise ReleaseError("No rows were written, so there is no file.")
            self._stream.close()

    def write(self, rows: HashedRows) -> None:
        """Add rows.

        Parameters
        ----------
        rows
            Rows of the writer's layout.

        Raises
        ------
        ReleaseError
            If the disk is full.
        ParameterError
            If they differ from the first ones in bits, layout, values, labels or weights.
        """
        if self._file is None:
            raise ParameterError("RowsWriter.write works inside of its with block only.")
        batch = rows.to_batch()
        if self._stream is None:
            self._stream = pa.ipc.new_stream(pa.PythonFile(self._file, mode="w"), batch.schema)
        elif not batch.schema.equals(self._schema, check_metadata=True):
            raise ParameterError(
                "Hashed rows of different bits, layouts, labels, values or weights can't be "
                "written to one file."
            )
        self._schema = batch.schema
        self._stream.write_batch(batch)
        self.rows += len(rows)


def read_rows(where: str | Path) -> Iterator[HashedRows]:
    """Yield the rows of files of hashed rows, batch by batch.

    Parameters
    ----------
    where
        A file, a folder of them that are read in the order of their names, or ``"-"`` for
        standard input.

    Raises
    ------
    DataError
        If it isn't there, or a file is damaged or cut off, or holds something else.
    """
    places = places_of(where)
    for place in places:
        what = "The file of hashed rows" if len(places) == 1 else place.what
        with reading(what, _FORM), place.open() as raw:
            with pa.ipc.open_stream(pa.PythonFile(raw, mode="r")) as stream:
                for batch in stream:
                    yield HashedRows.from_batch(batch)
            read, end = raw.tell(), raw.seek(0, os.SEEK_END)
            if read != end:
                raise DataError("Something stands behind the hashed rows of the file.")
            # A stream that was cut between two batches reads as a whole one.
            raw.seek(max(0, end - len(_END)))
            if raw.read() != _END:
                raise DataError(
                    "The hashed rows end too early: what wrote them was stopped.",
                    hint="Hash the table again.",
                )


def open_divisible(table: object, reading: TableReading, plan: HashPlan) -> Source:
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
        for written in map_table(engine, source, columns, partial(_write_part, hasher, folder)):
            rows += written
            progress("hashing", rows / source.n_rows)
    return rows


def _write_part(hasher: LabelledHasher, folder: PartFolder, number: int, rows: pl.DataFrame) -> int:
    """Write the hashed rows of a part; return their number."""
    with RowsWriter(folder.path(number), overwrite=True) as writer:
        for piece in rows.iter_slices(BATCH_ROWS):
            writer.write(hasher.rows(piece.to_arrow()))
    return writer.rows
