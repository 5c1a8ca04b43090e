"""How each format writes frames into an open file; in CSV, bare numbers, and formulas as text."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import numpy as np
import polars as pl
import polars.selectors as cs

from halfmask._errors import ReleaseError
from halfmask.data.frames import count_infinite

if TYPE_CHECKING:
    import pyarrow as pa

    from halfmask.data.io.formats import FileForm


# Text is made in pieces, so that a batch and its text are never both whole in memory.
_PIECE = 1 << 16
# A tenth of the time of the default level, for a tenth more bytes.
_LEVEL = 1
# Rows that show whether a column's numbers repeat. A dictionary of numbers that don't is thrown
# away when it is full, and has doubled the time of writing them until then.
_LOOKED_AT = 20_000
_FEW = 1_000


class TableSink(Protocol):
    """A file of some format that frames are added to."""

    def write(self, frame: pl.DataFrame) -> None:
        """Add the rows of a frame."""

    def close(self) -> None:
        """Write what belongs at the end. The file below stays open."""


def sink_for(file: BinaryIO, form: FileForm, *, guard: bool, first: pl.DataFrame) -> TableSink:
    """Return a sink of a format, for frames with the columns and types of the first."""
    if form.format == "parquet":
        return _Parquet(file, first)
    if form.format in {"arrow", "arrows"}:
        return _Arrow(file, first, stream=form.format == "arrows")
    out = _Out(file, form.compression)
    if form.format == "jsonl":
        return _JsonLines(out)
    return _Csv(out, first, delimiter="\t" if form.format == "tsv" else ",", guard=guard)


class _Parquet:
    def __init__(self, file: BinaryIO, first: pl.DataFrame) -> None:
        import pyarrow as pa  # noqa: PLC0415 - heavy, and only files of this format need it
        import pyarrow.parquet as pq  # noqa: PLC0415 - the same

        # Arrow's own schema inside of the file is needed where Parquet has no word for a type;
        # elsewhere it would only tie the file to what wrote it.
        self._plain = all(_fits_parquet(dtype) for dtype in first.dtypes)
        self._writer = pq.ParquetWriter(
            pa.PythonFile(_Out(file), mode="w"),
            self._to_arrow(first).schema,
            compression="zstd",
            compression_level=_LEVEL,
            use_dictionary=_find_repeating(first),
            store_schema=not self._plain,
        )

    def write(self, frame: pl.DataFrame) -> None:
        if frame.height:
            self._writer.write_table(self._to_arrow(frame), row_group_size=frame.height)

    def close(self) -> None:
        self._writer.close()

    def _to_arrow(self, frame: pl.DataFrame) -> Any:  # noqa: ANN401 - pyarrow has no types
        newest = pl.CompatLevel.newest()  # texts without a copy
        return frame.to_arrow(compat_level=newest if self._plain else None)


def _find_repeating(first: pl.DataFrame) -> list[str]:
    """Return the columns that are worth a dictionary: all but numbers that hardly ever repeat."""
    few = first.head(_LOOKED_AT)
    return [
        column.name
        for column in few.get_columns()
        if not column.dtype.is_numeric() or column.n_unique() * 2 <= max(few.height, _FEW)
    ]


def _fits_parquet(dtype: pl.DataType) -> bool:
    zone = dtype.time_zone if isinstance(dtype, pl.Datetime) else None
    return dtype != pl.Duration and zone in {None, "UTC"}


class _Arrow:
    def __init__(self, file: BinaryIO, first: pl.DataFrame, *, stream: bool) -> None:
        import pyarrow as pa  # noqa: PLC0415 - heavy, and only files of this format need it

        self._file = pa.PythonFile(_Out(file), mode="w")
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        new = pa.ipc.new_stream if stream else pa.ipc.new_file
        self._writer = new(self._file, plain_batch(first.clear()).schema, options=options)

    def write(self, frame: pl.DataFrame) -> None:
        if frame.height:
            self._writer.write_batch(plain_batch(frame))

    def close(self) -> None:
        self._writer.close()


class _Csv:
    def __init__(self, file: _Out, first: pl.DataFrame, *, delimiter: str, guard: bool) -> None:
        self._file = file
        self._delimiter = delimiter
        self._guard = guard
        self._write(first.clear(), header=True)

    def write(self, frame: pl.DataFrame) -> None:
        for piece in frame.iter_slices(_PIECE):
            self._write(piece, header=False)

    def close(self) -> None:
        self._file.close()

    def _write(self, frame: pl.DataFrame, *, header: bool) -> None:
        if self._guard:
            frame = guarded(frame)
        if self._guard and header:
            frame.columns = guarded_names(frame.columns)
        spans = [name for name, dtype in frame.schema.items() if dtype == pl.Duration]
        if spans:
            frame = frame.with_columns(pl.col(spans).dt.to_string("iso"))
        if frame.width == 1:
            # An empty line is no row to most readers; an empty text in quotes is.
            exact = cs.time().dt.to_string("%H:%M:%S%.9f")  # a cast cuts fractions of a second
            frame = frame.with_columns(exact).select(pl.all().cast(pl.String).fill_null(""))
        text = io.BytesIO()
        frame.write_csv(text, include_header=header, separator=self._delimiter)
        self._file.write(text.getvalue())


class _JsonLines:
    def __init__(self, file: _Out) -> None:
        self._file = file

    def write(self, frame: pl.DataFrame) -> None:
        for name, count in count_infinite(frame).items():
            raise ReleaseError(
                f"Column {name!r} has {count} infinite values, and JSON has no word for them.",
                hint="Replace them, or write another format.",
            )
        for piece in frame.iter_slices(_PIECE):
            text = io.BytesIO()
            piece.write_ndjson(text)
            self._file.write(text.getvalue())

    def close(self) -> None:
        self._file.close()


class _Out:
    """A file that bytes go to, compressed or not, and that stays open when they end."""

    closed = False

    def __init__(self, file: BinaryIO, compression: str | None = None) -> None:
        self._file = file
        self._compressed = None
        if compression is not None:
            import pyarrow as pa  # noqa: PLC0415 - only compressed files need it

            below = pa.PythonFile(_Out(file), mode="w")
            self._compressed = pa.CompressedOutputStream(below, compression)

    def write(self, data: Any) -> int:  # noqa: ANN401 - whatever holds bytes
        if self._compressed is not None:
            return int(self._compressed.write(data))
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        """End what is compressed. The file itself belongs to somebody else."""
        if self._compressed is not None:
            self._compressed.close()


# OWASP, "CSV Injection": cells that start so are formulas to a spreadsheet. The wide forms are
# what some of them turn into the narrow ones.
_FORMULA = r"^'*[=+\-@\t\r\n＝＋－＠]"  # noqa: RUF001 - the wide forms are meant
_NUMBER = r"^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"


def guarded(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with an apostrophe before each text that reads as a formula.

    Texts that are plain numbers, such as ``-5``, stay. A text that has the apostrophe by itself
    gets one more, so that different texts stay different.

    Examples
    --------
    >>> import polars as pl
    >>> guarded(pl.DataFrame({"note": ["=1+1", "'=1+1", "-5", "fine"]}))["note"].to_list()
    ["'=1+1", "''=1+1", '-5', 'fine']
    """
    texts = pl.col(pl.String)
    risky = texts.str.contains(_FORMULA) & ~texts.str.contains(_NUMBER)
    return frame.with_columns(pl.when(risky).then(pl.lit("'") + texts).otherwise(texts).name.keep())


def guarded_names(names: Sequence[str]) -> list[str]:
    """Return names of columns with an apostrophe before each that reads as a formula.

    Different names stay different. To get the names back, remove one apostrophe from names in which
    apostrophes precede a sign.

    Examples
    --------
    >>> guarded_names(["=cmd()", "'=cmd()", "-5", "a=b"])
    ["'=cmd()", "''=cmd()", '-5', 'a=b']
    """
    return guarded(pl.DataFrame({"name": list(names)}, schema={"name": pl.String}))[
        "name"
    ].to_list()


def plain_batch(frame: pl.DataFrame) -> pa.RecordBatch:
    """Return the frame's rows as a record batch of new, minimal buffers.

    Guarantees
    ----------
    Missing cells hold zero or the empty text; the bits behind the last row are zero.
    """
    import pyarrow as pa  # noqa: PLC0415 - heavy, and only Arrow files need it

    columns = frame.get_columns()
    return pa.record_batch([_make_plain(column) for column in columns], names=frame.columns)


def _make_plain(column: pl.Series) -> Any:  # noqa: ANN401 - pyarrow has no types
    import pyarrow as pa  # noqa: PLC0415 - heavy, and only Arrow files need it

    kind = pl.Series([], dtype=column.dtype).to_arrow().type
    missing = column.null_count()
    validity = _bits(column.is_not_null()) if missing else None
    if column.dtype == pl.String:
        # The text of a missing cell isn't copied: it is the empty text by now.
        _, offsets, data = column.fill_null("").rechunk().to_arrow().buffers()
        buffers = [validity, offsets, data]
    elif column.dtype == pl.Boolean:
        buffers = [validity, _bits(column.fill_null(value=False))]
    elif isinstance(column.dtype, pl.Decimal):
        return pa.array(column.to_list(), type=kind)
    else:
        numbers = column.to_physical().fill_null(0).to_numpy()
        buffers = [validity, pa.py_buffer(np.array(numbers, order="C"))]
    return pa.Array.from_buffers(kind, len(column), buffers, missing)


def _bits(column: pl.Series) -> Any:  # noqa: ANN401 - pyarrow has no types
    import pyarrow as pa  # noqa: PLC0415 - heavy, and only Arrow files need it

    return pa.py_buffer(np.packbits(column.to_numpy(), bitorder="little"))
