"""Parquet and Arrow files: nested rows, written as JSON lines and then worked on as those are."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from halfmask._errors import DataError, SchemaError
from halfmask.data import check_calendar
from halfmask.data.arrow_types import check_times, refuse_foreign_types
from halfmask.events.streams._chunk import Chunk, Source

if TYPE_CHECKING:
    import threading

    import pyarrow as pa

    from halfmask.events.streams._chunk import Position

_ROWS = 1 << 14
_STREAM = ".arrows"


class ColumnarFile(Source):
    """The rows of a Parquet or Arrow file, as JSON lines.

    Notes
    -----
    **Guarantees.** The line of a row depends on the row and the schema alone.

    **Edge cases.** Dates and times become text of ISO 8601, with their zone if they have one;
    decimals become text; NaN and infinities become null. Row 1 is line 1.
    """

    def __init__(self, path: str | Path, *, roots: frozenset[str] | None = None) -> None:
        self._path = Path(path)
        self._roots = roots
        self._rows: int | None = None

    def chunks(
        self, position: Position | None, stop: threading.Event, *, file: int = 1
    ) -> Iterator[Chunk]:
        """Yield rows from a position on."""
        done = 0 if position is None else int(position["offset"])
        at, mark = 0, self._mark()
        if position is not None and position["mark"] != mark:
            raise DataError(
                "The input isn't the one that the run began with: its size or its columns differ.",
                hint="Give the same input, or start again with [[restart=True|--restart]].",
            )
        for batch in self._batches():
            before, at = at, at + batch.num_rows
            if at <= done or not batch.num_rows:
                continue
            left = batch.slice(max(done - before, 0))
            yield Chunk(
                view=_lines_of(left),
                lines=left.num_rows,
                first_line=max(done, before) + 1,
                file=file,
                position={"offset": at, "mark": mark},
            )
            if stop.is_set():
                return

    def reread(self) -> Self:
        """Return the file itself."""
        return self

    def share(self, position: Position) -> float | None:
        """Return which share of the rows is before a position."""
        return int(position["offset"]) / self._rows if self._rows else None

    def _mark(self) -> str:
        """Return what the file is known again by."""
        schema = self._schema()
        text = f"{self._path.stat().st_size} {schema}"
        return hashlib.sha256(text.encode()).hexdigest()

    def _schema(self) -> pa.Schema:
        import pyarrow as pa  # noqa: PLC0415 # 0.2 s
        import pyarrow.parquet as pq  # noqa: PLC0415 # the same

        with _translate_arrow_errors():
            if self._path.suffix == ".parquet":
                found = pq.ParquetFile(self._path)
                self._rows = found.metadata.num_rows
                return found.schema_arrow
            if self._path.suffix == _STREAM:
                with pa.OSFile(str(self._path)) as file:
                    return pa.ipc.open_stream(file).schema
            with pa.memory_map(str(self._path)) as file:
                return pa.ipc.open_file(file).schema

    def _batches(self) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415 # 0.2 s
        import pyarrow.parquet as pq  # noqa: PLC0415 # the same

        names = self._columns(self._schema())
        if self._path.suffix == ".parquet":
            with _translate_arrow_errors():
                yield from pq.ParquetFile(self._path).iter_batches(_ROWS, columns=names)
            return
        with _translate_arrow_errors(), pa.memory_map(str(self._path)) as file:
            if self._path.suffix == _STREAM:
                batches: Iterator[pa.RecordBatch] = iter(pa.ipc.open_stream(file))
            else:
                found = pa.ipc.open_file(file)
                batches = (found.get_batch(i) for i in range(found.num_record_batches))
            for batch in batches:
                for at in range(0, batch.num_rows, _ROWS):
                    yield batch.select(names).slice(at, _ROWS)

    def _columns(self, schema: pa.Schema) -> list[str]:
        wanted = [name for name in schema.names if self._roots is None or name in self._roots]
        refuse_foreign_types(schema, wanted)
        wrong = [name for name in wanted if _is_wordless(schema.field(name).type)]
        if len(set(schema.names)) < len(schema.names):
            raise SchemaError("Two columns of the input have one name.")
        if wrong:
            listed = ", ".join(repr(name) for name in wrong)
            raise SchemaError(
                f"These columns hold bytes or maps, which JSON has no word for: {listed}.",
                hint="Turn them into text or lists before, or let no rule name them.",
            )
        return wanted


def _lines_of(batch: pa.RecordBatch) -> bytes:
    import polars as pl  # noqa: PLC0415 # half a second

    if not batch.num_columns:  # nothing of it is read
        return b"{}\n" * int(batch.num_rows)
    check_times(batch)
    if any(_is_of_fixed_size(field.type) for field in batch.schema):
        # Polars takes such lists for damaged where they begin within a batch.
        batch = batch.take(list(range(batch.num_rows)))
    rows = pl.DataFrame(pl.from_arrow(batch, rechunk=False))
    check_calendar(rows)
    written = io.BytesIO()
    try:
        rows.write_ndjson(written)
    except pl.exceptions.PanicException:  # within lists and structs
        raise DataError(
            "A column of the input has dates that are infinite, before year 1 or after 9999, "
            "within lists or structs.",
            hint="Make them missing, or let no rule name the column.",
        ) from None
    return bytes(written.getvalue())


def _is_of_fixed_size(kind: Any) -> bool:  # noqa: ANN401 # Arrow's types have no common stubs
    """Return whether a type has lists of a fixed number of elements somewhere."""
    import pyarrow.types as pt  # noqa: PLC0415 # 0.2 s

    inner = [kind.field(i).type for i in range(kind.num_fields)]
    return bool(pt.is_fixed_size_list(kind)) or any(map(_is_of_fixed_size, inner))


def _is_wordless(kind: Any) -> bool:  # noqa: ANN401 # Arrow's types have no common stubs
    import pyarrow.types as pt  # noqa: PLC0415 # 0.2 s

    if any(test(kind) for test in (pt.is_list, pt.is_large_list, pt.is_fixed_size_list)):
        return _is_wordless(kind.value_type)
    if pt.is_struct(kind):
        return any(_is_wordless(kind.field(i).type) for i in range(kind.num_fields))
    if pt.is_dictionary(kind):
        return _is_wordless(kind.value_type)
    wordless = (
        pt.is_binary,
        pt.is_large_binary,
        pt.is_fixed_size_binary,
        pt.is_binary_view,
        pt.is_map,
        pt.is_union,
    )
    return any(test(kind) for test in wordless)


@contextmanager
def _translate_arrow_errors() -> Iterator[None]:
    """Turn what Arrow says, which may quote values and paths, into our words."""
    import pyarrow as pa  # noqa: PLC0415 # 0.2 s

    try:
        yield
    except (pa.ArrowException, OSError):
        raise DataError(
            "The input can't be read as Parquet or Arrow: it is damaged, or something else."
        ) from None
