"""CSV files: found out by a first pass over all rows, read in batches by later ones."""

from __future__ import annotations

import atexit
import io
import queue
import weakref
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

import polars as pl

from halfmask._errors import DataError
from halfmask.data._column_types import TextJudge, same_columns, typed
from halfmask.data._declarations import (
    Coerced,
    as_declared,
    check_declared,
    mark_missing,
    warn_ambiguous,
)
from halfmask.data.frames import settle
from halfmask.data.io.dialect import DELIMITERS, Header, RowLines, excel_delimiter, sniff
from halfmask.data.io.places import BLOCK, TextStream, reading

if TYPE_CHECKING:
    import pyarrow as pa

    from halfmask.data.io._read_options import ReadOptions
    from halfmask.data.io.places import Place


_SAMPLE = 1 << 20
_END = "halfmask: the file ends here"


class CsvReader:
    """The rows of CSV files that are parts of one table.

    The first pass looks at every cell: types are decided by all values, and a row with too many
    or too few cells is found before anything is written.
    """

    def __init__(self, places: Sequence[Place], options: ReadOptions, *, tabs: bool) -> None:
        delimiter = options.delimiter or ("\t" if tabs else None)
        self._parts = [_Part(place, options, delimiter) for place in places]
        self.columns = self._parts[0].columns
        for part in self._parts[1:]:
            same_columns(part.columns, self.columns, what=part.place.what)
        declared = options.declarations()
        judge, coerced = TextJudge(), Coerced(options.coerce)
        self.n_rows = 0
        self.orders: dict[str, tuple[str, ...]] = {}  # texts have no type that has an order
        for part in self._parts:
            for texts in part.checked(self.columns):
                judge.see(texts.select(pl.exclude(list(declared))))
                as_declared(texts, declared, coerced)
                self.n_rows += texts.height
        # Missing names are an error after the header was found to be one.
        check_declared(declared, self.columns)
        coerced.warn()
        warn_ambiguous(judge.ambiguous())
        self._declared, self._coerced = declared, Coerced(options.coerce)
        found = judge.dtypes() | options.typed()
        self.dtypes = {name: found.get(name, pl.String()) for name in self.columns}

    def frames(self, columns: Sequence[str], n_rows: int) -> Iterator[pl.DataFrame]:
        """Yield the rows, of the given columns, in frames of any size."""
        del n_rows  # blocks of a fixed number of bytes bound the memory
        for part in self._parts:
            for texts in part.texts(columns):
                free = [name for name in texts.columns if name not in self._declared]
                frame, misfits = typed(texts.select(free), self.dtypes)
                if misfits:
                    raise DataError(f"{part.place.what} has changed while it was read.")
                rest = as_declared(texts, self._declared, self._coerced)
                read = rest.with_columns(frame.get_columns())
                yield settle(mark_missing(read, part.missing))


class _Part:
    """One CSV file: its dialect, its names, and its cells as texts."""

    def __init__(self, place: Place, options: ReadOptions, delimiter: str | None) -> None:
        self.place = place
        self._options = options
        self.missing = ("",) if options.missing is None else options.missing
        self._drops = False
        with reading(place.what, "CSV"), self._lines("".join(DELIMITERS)) as stream:
            sample = stream.read(_SAMPLE).decode("utf-8", errors="ignore").lstrip("\r\n")
        declared = excel_delimiter(sample)
        if declared is not None:
            self._drops = True
            delimiter = options.delimiter or declared
            sample = sample.partition("\n")[2] if "\n" in sample else sample.partition("\r")[2]
        self._dialect = sniff(sample, delimiter=delimiter, quote=options.quote, what=place.what)
        self._header = Header(self._dialect.first, options, place.what)
        self.columns = self._header.columns

    def checked(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield what `texts` does, once none of the rows looks like the header."""
        rows = 0
        for texts in self.texts(columns):
            self._header.check(texts, rows)
            rows += texts.height
            yield texts

    def texts(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield the cells of the given columns as texts, null where missing."""
        positions = [str(self.columns.index(name)) for name in columns]
        names = dict(zip(positions, columns, strict=True))
        rows_to_skip = self._header.rows
        with reading(self.place.what, "CSV"), self._stream() as stream:
            for batch in _without_end(self._parse_blocks(stream, positions), self.place.what):
                texts = pl.DataFrame(batch.slice(rows_to_skip)).rename(names).select(columns)
                rows_to_skip = max(0, rows_to_skip - batch.num_rows)
                if texts.height:
                    yield texts

    def _lines(self, delimiters: str) -> RowLines:
        return RowLines(
            TextStream(self.place, encoding=self._options.encoding),
            skip=self._options.skip_rows,
            comment=self._options.comment,
            drop=self._drops,
            quote=self._options.quote,
            delimiters=delimiters,
        )

    def _stream(self) -> _Ended:
        last = self._dialect.delimiter.join([_END] * len(self.columns))
        return _Ended(self._lines(self._dialect.delimiter), last.encode())

    def _parse_blocks(self, stream: io.RawIOBase, positions: list[str]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415 - heavy, and only files of this format need it
        import pyarrow.csv as arrow_csv  # noqa: PLC0415 - the same

        width = len(self.columns)
        every = [str(position) for position in range(width)]
        read = arrow_csv.ReadOptions(column_names=every, block_size=BLOCK, use_threads=False)
        parse = arrow_csv.ParseOptions(
            delimiter=self._dialect.delimiter,
            quote_char=self._dialect.quote,
            newlines_in_values=True,
            # In a table of one column an empty line is a missing cell.
            ignore_empty_lines=width > 1,
        )
        convert = arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(every, pa.large_string()),
            include_columns=positions,
            null_values=list(self.missing),
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
            check_utf8=False,  # the stream has checked
        )
        ragged: list[Any] = []
        try:
            with CsvBatches(stream, read, parse, convert, ragged) as batches:
                yield from batches
        except pa.ArrowInvalid:
            if not ragged:
                raise
            raise _report_ragged_row(self.place.what, ragged[0]) from None


class _Ended(io.RawIOBase):
    """A text stream with one known row more at its end.

    A parser takes a quote that is never closed for one long cell, and says nothing. Then the known
    row is inside that cell, and not where it should be.
    """

    def __init__(self, stream: RowLines, last: bytes) -> None:
        super().__init__()
        self._stream = stream
        self._last = last
        self._before = b""
        self._started = self._done = False
        self._held = bytearray()

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Read up to ``size`` bytes: Arrow writes more beyond its buffer.

        It drops a line feed at the start of a block after a carriage return, in quotes, too.
        """
        while not self._done and (size < 0 or len(self._held) <= size):
            data = self._stream.read(size)
            self._done = size < 0 or len(data) < size
            if not self._started:
                data, self._started = data.lstrip(b"\r\n"), True
            self._held += data
            self._before = data[-1:] or self._before
            if self._done:
                ends = self._before in {b"\n", b"\r"}
                self._held += (b"" if ends else b"\n") + self._last + b"\n"
        size = len(self._held) if size < 0 else size
        if size > 1 and self._held[size - 1 : size + 1] == b"\r\n":
            size -= 1
        data = bytes(self._held[:size])
        del self._held[:size]
        return data

    def close(self) -> None:
        self._stream.close()
        super().close()


def _without_end(batches: Iterator[pa.RecordBatch], what: str) -> Iterator[pa.RecordBatch]:
    held = None
    for batch in batches:
        if not batch.num_rows:  # of a block of blank lines
            continue
        if held is not None:
            yield held
        held = batch
    if held is None or held.column(0)[held.num_rows - 1].as_py() != _END:
        raise DataError(
            f"{what} has a quote that is opened and never closed.",
            hint="Find the cell that runs to the end of the file, or say another quote.",
        )
    yield held.slice(0, held.num_rows - 1)


def _report_ragged_row(what: str, row: Any) -> DataError:  # noqa: ANN401 - pyarrow has no types
    where = "A row" if row.number is None else f"Row {row.number}"
    hint = "Check the delimiter and the quotes around that row."
    if row.number == 2 and row.actual_columns == row.expected_columns + 1:
        # Whether the first or the last column lacks its name, nobody but the owner knows.
        hint = (
            "If the header lacks the name of a column, as R's write.table leaves out that of row "
            "names, replace it: [[ReadOptions(skip_rows=1, header=False, "
            "column_names=...)|--skip-rows 1 --no-header --column-names row,age,...]]."
        )
    return DataError(
        f"{where} of {what[0].lower()}{what[1:]} has {row.actual_columns} cells where the first "
        f"row has {row.expected_columns}.",
        hint=hint,
    )


# Arrow lets go within microseconds of its last read; a slow disk may hold that read for longer.
_PATIENCE_S = 30.0
_COPIED = 4096
_OPEN: weakref.WeakSet[CsvBatches] = weakref.WeakSet()


class CsvBatches(Iterator[Any]):
    """The record batches of a CSV stream, in order.

    Arrow reads ahead in a thread of its own. That thread also drops the last references to Python's
    objects, for which it needs the interpreter. A thread that asks for the interpreter while the
    process ends is killed inside C++ code, and the process aborts. So Arrow copies the bytes that
    it reads, errors of reads are kept from it, and `close` waits until it has let go of the stream
    and of the handler of rows. It runs at exit at the latest.
    """

    def __init__(
        self,
        stream: io.RawIOBase,
        read: Any,  # noqa: ANN401 - pyarrow has no types
        parse: Any,  # noqa: ANN401 - the same
        convert: Any,  # noqa: ANN401 - the same
        ragged: list[Any],
    ) -> None:
        import pyarrow as pa  # noqa: PLC0415 - heavy, and only files of this format need it
        import pyarrow.csv as arrow_csv  # noqa: PLC0415 - the same

        self._bytes = _Until(stream)
        self._released: queue.SimpleQueue[object] = queue.SimpleQueue()
        handle, note = _Handle(self._bytes.read), _Noting(ragged)
        # The callback is code of C: it can't yield the interpreter between the signal and the end
        # of Arrow's destructor.
        self._watches = [weakref.ref(held, self._released.put) for held in (handle, note)]
        _OPEN.add(self)
        self._reader = None
        parse.invalid_row_handler = note
        try:
            # Without the copies of a buffered stream, futures hold the bytes of each read.
            copied = pa.BufferedInputStream(pa.PythonFile(handle, mode="r"), _COPIED)
            self._reader = arrow_csv.open_csv(copied, read, parse, convert)
        except BaseException:
            copied = None
            parse.invalid_row_handler = None
            del handle, note
            self.close()
            self._bytes.check()
            raise
        parse.invalid_row_handler = None

    def __next__(self) -> Any:  # noqa: ANN401 - pyarrow has no types
        """Return the next batch."""
        if self._reader is None:
            raise StopIteration
        try:
            return self._reader.read_next_batch()
        finally:
            self._bytes.check()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop reading, and wait until no thread of Arrow's holds the stream."""
        if self not in _OPEN:
            return
        _OPEN.discard(self)
        self._bytes.stopped = True
        self._reader = None
        # A disk that doesn't answer must not keep the process for ever.
        with suppress(queue.Empty):
            for _ in self._watches:
                self._released.get(timeout=_PATIENCE_S)


class _Until:
    """The stream's bytes until reading is stopped, or fails."""

    def __init__(self, stream: io.RawIOBase) -> None:
        self._stream = stream
        self._error: BaseException | None = None
        self.stopped = False

    def read(self, size: int = -1) -> bytes:
        if self.stopped or self._error is not None:
            return b""
        try:
            return self._stream.read(size) or b""
        except BaseException as error:  # noqa: BLE001 - `check` raises it where it is asked for
            self._error = error
            return b""

    def check(self) -> None:
        """Raise what a read raised."""
        if self._error is not None:
            raise self._error from None


class _Noting:
    """What Arrow calls for a row that has more or fewer cells than there are columns."""

    def __init__(self, ragged: list[Any]) -> None:
        self._report_ragged_row = ragged

    def __call__(self, row: Any) -> str:  # noqa: ANN401 - pyarrow has no types
        self._report_ragged_row.append(row)
        return "error"


class _Handle:
    """What Arrow holds. No frame of a traceback refers to it, so that its end can be awaited."""

    def __init__(self, read: Any) -> None:  # noqa: ANN401 - a bound method
        self.read = read
        self.closed = False

    def close(self) -> None:
        self.closed = True


@atexit.register
def _close_all() -> None:
    for batches in list(_OPEN):
        batches.close()
