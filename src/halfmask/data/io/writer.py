"""Tables written to files, batch by batch, whole or not at all."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import polars as pl

from halfmask._errors import HalfmaskError, ParameterError, ReleaseError, SchemaError
from halfmask._validation import one_of
from halfmask.data.frames import to_polars
from halfmask.data.io._sinks import TableSink, sink_for
from halfmask.data.io._source import Source
from halfmask.data.io.atomic import atomic_file, writing
from halfmask.data.io.formats import FORMATS, FileForm, Format, form_of_name

STANDARD_OUTPUT = "-"
# Small batches are written together: 4 million cells, about 30 MB of numbers.
_CELLS = 1 << 22


class TableWriter:
    r"""A file of a table, written batch by batch, whole or not at all.

    Parameters
    ----------
    where
        The file to write, or ``"-"`` for standard output.
    format
        ``"csv"``, ``"tsv"``, ``"parquet"``, ``"arrow"``, ``"arrows"`` or ``"jsonl"``. Without, the
        end of the name says it; a text format's name may end in ``.gz`` or ``.zst``, too.
    overwrite
        Whether a file of that name may be replaced.
    guard_formulas
        Whether an apostrophe goes before each text of a CSV file that a spreadsheet would run as a
        formula, names in the header included. Numbers stay unchanged.

    Attributes
    ----------
    rows
        The number of rows that were given to `write`.

    Raises
    ------
    ParameterError
        If neither the format nor the name says which format it is.
    ReleaseError
        If the file exists and may not be replaced, its folder isn't there, the disk is full, a
        value can't be written in the format, or nothing was written.
    SchemaError
        If a batch has other columns or types than the first.

    Guarantees
    ----------
    The file holds the rows that were written and nothing else of the frames they came from: no
    category that no row has, no value under a missing cell, no index, no metadata of pandas.
    Statistics and dictionaries of Parquet are of the written rows. If the block raises, or a
    batch could not be written, no file appears and an old one stays unchanged.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import polars as pl
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "ages.csv"
    ...     with TableWriter(path) as writer:
    ...         writer.write(pl.DataFrame({"age": ["[17, 30]"]}))
    ...         writer.write(pl.DataFrame({"age": ["[31, 60]"]}))
    ...     writer.rows, path.read_text()
    (2, 'age\n"[17, 30]"\n"[31, 60]"\n')
    """

    def __init__(
        self,
        where: str | Path,
        *,
        format: Format | None = None,  # noqa: A002 - the word for it
        overwrite: bool = False,
        guard_formulas: bool = True,
    ) -> None:
        self._where = where
        self._form = _form(where, format)
        self._overwrite = overwrite
        self._guard = guard_formulas
        self._stack = ExitStack()
        self._file: BinaryIO | None = None
        self._sink: TableSink | None = None
        self._schema: pl.Schema | None = None
        self._held: list[pl.DataFrame] = []
        self._held_rows = 0
        self._failed = False
        self.rows = 0

    def __enter__(self) -> Self:
        opened = standard_output() if str(self._where) == STANDARD_OUTPUT else self._beside()
        self._file = self._stack.enter_context(opened)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            with self._stack:
                try:
                    if error is not None:
                        raise error
                    self._finish()
                finally:
                    self._drop()
        finally:
            self._file = None

    def write(self, batch: object) -> None:
        """Add the rows of a frame of any library.

        Parameters
        ----------
        batch
            A frame with the columns of the first one.

        Raises
        ------
        ReleaseError
            If the disk is full, or a value can't be written in the format.
        SchemaError
            If the columns or types are not those of the first batch.
        """
        if self._file is None:
            raise ParameterError(
                "TableWriter.write works inside of its with block only.",
                hint="Write: with TableWriter(path) as writer: ...",
            )
        try:
            self._add(to_polars(batch))
        except BaseException:
            self._failed = True
            raise

    def _add(self, frame: pl.DataFrame) -> None:
        if self._schema is None:
            self._schema = frame.schema
        elif frame.schema != self._schema:
            raise SchemaError(
                "A batch to write has other columns or types than the first one.",
                hint="Give every batch the same columns in the same order.",
            )
        self.rows += frame.height
        self._held.append(frame)
        self._held_rows += frame.height
        if self._held_rows * frame.width >= _CELLS:
            self._flush()

    def _flush(self) -> None:
        whole = pl.concat(self._held)
        self._held, self._held_rows = [], 0
        with _foreign(self._form.format):
            if self._sink is None and self._file is not None:
                self._sink = sink_for(self._file, self._form, guard=self._guard, first=whole)
            if self._sink is not None:
                self._sink.write(whole)

    def _finish(self) -> None:
        if self._failed:
            raise ReleaseError("A batch could not be written, so the file was not, either.")
        if self._schema is None:
            raise ReleaseError("No batch was written, so there is no file.")
        if self._held:
            self._flush()
        if self._sink is not None:
            sink, self._sink = self._sink, None
            with _foreign(self._form.format):
                sink.close()

    def _drop(self) -> None:
        """Close a sink whose file will vanish, so that it doesn't try later."""
        if self._sink is not None:
            with suppress(Exception):
                self._sink.close()
        self._sink, self._held = None, []

    @contextmanager
    def _beside(self) -> Iterator[BinaryIO]:
        with atomic_file(self._where, overwrite=self._overwrite) as file:
            yield file


def write_table(
    table: object,
    where: str | Path,
    *,
    format: Format | None = None,  # noqa: A002 - the word for it
    overwrite: bool = False,
    guard_formulas: bool = True,
) -> int:
    """Write a table to a file, whole or not at all.

    Parameters
    ----------
    table
        A frame of any library, a `Source`, or an iterable of frames with the same columns.
    where, format, overwrite, guard_formulas
        As of `TableWriter`.

    Returns
    -------
    The number of rows that were written.

    Raises
    ------
    ParameterError, ReleaseError, SchemaError
        As `TableWriter` does.
    DataError
        If the table is no frame.
    """
    with TableWriter(
        where, format=format, overwrite=overwrite, guard_formulas=guard_formulas
    ) as writer:
        for batch in _batches(table):
            writer.write(batch)
    return writer.rows


def _batches(table: object) -> Iterable[object]:
    if isinstance(table, Source):
        return table.batches()
    if isinstance(table, list | tuple | Iterator):
        return table
    return [table]


def _form(where: str | Path, declared: Format | None) -> FileForm:
    if declared is not None:
        one_of(FORMATS, owner="TableWriter", format=declared)
    named = form_of_name(Path(where).name)
    if named is not None and (declared is None or declared == named.format):
        return named
    if declared is not None:
        return FileForm(declared)
    raise ParameterError(
        "The format to write isn't given, and the end of the name doesn't show it.",
        hint="Say format= or end the name in .csv, .tsv, .parquet, .arrow or .jsonl.",
    )


@contextmanager
def _foreign(form: str) -> Iterator[None]:
    """Let no foreign exception out: their texts quote cells. The disk's errors are raised above."""
    try:
        yield
    except (HalfmaskError, OSError, MemoryError):
        raise
    except (Exception, pl.exceptions.PanicException):  # noqa: BLE001 - any library's, any type
        raise ReleaseError(
            f"The table has values that can't be written as {form}.",
            hint="Write another format, or turn the columns into numbers or texts.",
        ) from None


@contextmanager
def standard_output() -> Iterator[BinaryIO]:
    """Give a file without a name, that goes to standard output once it is complete."""
    with writing("The output to write"), tempfile.TemporaryFile(prefix="halfmask-") as file:
        yield file
        file.seek(0)
        shutil.copyfileobj(file, sys.stdout.buffer, 1 << 20)
        sys.stdout.buffer.flush()
