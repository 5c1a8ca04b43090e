"""Tables out of JSON lines: Parquet or Arrow, made when all lines are there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halfmask._errors import DataError
from halfmask.data import atomic_file, owned_buffer
from halfmask.events.block._block import scan_block
from halfmask.events.block._levels import only
from halfmask.events.block._path_tree import PathTree
from halfmask.events.block._paths import Path as EventPath
from halfmask.events.block._paths import Step
from halfmask.events.block._values import Kind
from halfmask.events.streams._file_sink import (
    FileSink,
    check_free,
    partial_of,
    translate_write_errors,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

_GROUP_BYTES = 1 << 24
#: Whole numbers of fewer digits have 53 bits; those of more are beyond floats.
_LEAST_DIGITS, _MOST_DIGITS = 16, 300


class TableSink:
    """A Parquet or Arrow file with a row for each line.

    Notes
    -----
    **Guarantees.** Texts stay texts, whatever they look like. A field that some lines lack is null
    there; whole numbers become fractions where others of the field are.

    **Edge cases.** A field that is text in one line and a number or an object in another can't be
    a column: then it is an error, and the lines stay in the ``.partial`` file. So it is with whole
    numbers beyond 64 bits, and beyond 53 bits where others of the field are fractions: floats would
    merge them. Fractions have 53 bits there. Without any line there are no columns.
    """

    lasting = True

    def __init__(self, path: str | Path, *, overwrite: bool = False) -> None:
        self.target: Path = Path(path)
        self._overwrite = overwrite
        self._lines = FileSink(partial_of(self.target), appending=True, overwrite=overwrite)
        self._again = False

    def check(self) -> None:
        """Refuse to write over what is there."""
        with translate_write_errors():
            check_free(self.target, overwrite=self._overwrite)
        self._lines.check()

    def begin(self, state: Mapping[str, Any] | None, pending: bytes, *, again: bool) -> None:
        """Open the file of lines."""
        self._again = again
        self._lines.begin(state, pending, again=again)

    def write(self, data: bytes | memoryview) -> None:
        """Write lines."""
        self._lines.write(data)

    def sync(self) -> tuple[dict[str, Any], bytes]:
        """Bring the lines to the disk."""
        return self._lines.sync()

    def lines(self) -> Iterator[bytes]:
        """Yield what was written so far, as lines."""
        yield from self._lines.lines()

    def finish(self) -> None:
        """Make the table."""
        import pyarrow as pa  # noqa: PLC0415 # 0.2 s
        import pyarrow.parquet as pq  # noqa: PLC0415 # the same

        schema = pa.schema([])
        for group in self._groups():
            schema = self._unified(schema, group.schema)
        self._check_exact(schema)
        if self.target.suffix == ".parquet" and any(self._blocks()):
            _check_fields(pa.struct(list(schema)), ())
        with atomic_file(self.target, overwrite=self._overwrite or self._again) as file:
            writer = (
                pq.ParquetWriter(file, schema, compression="zstd")
                if self.target.suffix == ".parquet"
                else pa.ipc.new_file(file, schema)
            )
            with writer:
                for group in self._groups(schema):
                    writer.write_table(group)

    def close(self, *, done: bool) -> None:
        """Close the file of lines; remove it when the table is there."""
        self._lines.close(done=done)
        if done:
            with translate_write_errors():
                self._lines.target.unlink(missing_ok=True)

    def _groups(self, schema: pa.Schema | None = None) -> Iterator[pa.Table]:
        import pyarrow as pa  # noqa: PLC0415 # 0.2 s
        import pyarrow.json as pj  # noqa: PLC0415 # the same

        how = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="infer")
        for data in self._blocks():
            reading = pj.ReadOptions(block_size=len(data) + 1, use_threads=False)
            try:
                yield pj.read_json(
                    pa.BufferReader(owned_buffer(data)), read_options=reading, parse_options=how
                )
            except pa.ArrowException:
                raise _mixed_types() from None

    def _check_exact(self, schema: pa.Schema) -> None:
        """Refuse whole numbers that a column of floats would change."""
        import pyarrow as pa  # noqa: PLC0415 # 0.2 s

        places = list(_floats(pa.struct(list(schema)), ()))
        tree = PathTree(places)
        for data in self._blocks() if places else ():
            block = scan_block(data, tree)
            for path in places:
                values = block.values(path)
                long = values.stops - values.starts >= _LEAST_DIGITS
                whole = only(values, long & (values.kinds == int(Kind.INTEGER)))
                if not all(_is_exact(token) for _, token in whole.distinct()[1]):
                    raise DataError(
                        f"The field {str(path)!r} holds whole numbers that a column of floats "
                        "would change: beyond 53 bits if there are fractions, or beyond 64 bits.",
                        hint="Write JSON lines, or turn the numbers into texts in the policy.",
                    )

    def _blocks(self) -> Iterator[bytes]:
        """Yield the lines in blocks of some megabytes."""
        with translate_write_errors(), self._lines.target.open("rb") as file:
            while data := file.read(_GROUP_BYTES):
                yield data + file.readline()

    def _unified(self, schema: pa.Schema, other: pa.Schema) -> pa.Schema:
        import pyarrow as pa  # noqa: PLC0415 # 0.2 s

        read = pa.schema([field.with_type(_as_text(field.type)) for field in other])
        try:
            return pa.unify_schemas([schema, read], promote_options="permissive")
        except pa.ArrowException:
            raise _mixed_types() from None


def _floats(kind: Any, steps: tuple[str | Step, ...]) -> Iterator[EventPath]:  # noqa: ANN401 # as below
    """Yield the places of a type that are columns of floats."""
    import pyarrow as pa  # noqa: PLC0415 # 0.2 s

    if pa.types.is_list(kind):
        yield from _floats(kind.value_type, (*steps, Step.ELEMENT))
    elif pa.types.is_struct(kind):
        for field in (kind.field(i) for i in range(kind.num_fields)):
            yield from _floats(field.type, (*steps, field.name))
    elif pa.types.is_floating(kind):
        yield EventPath(steps=steps)


def _check_fields(kind: Any, steps: tuple[str | Step, ...]) -> None:  # noqa: ANN401 # as below
    """Refuse objects that are empty in every line: Parquet has no type for them."""
    import pyarrow as pa  # noqa: PLC0415 # 0.2 s

    if pa.types.is_list(kind):
        _check_fields(kind.value_type, (*steps, Step.ELEMENT))
    elif pa.types.is_struct(kind):
        if not kind.num_fields:
            what = f"The field {str(EventPath(steps=steps))!r}" if steps else "The event"
            raise DataError(
                f"{what} is an object without fields in every line, and Parquet has no such.",
                hint="Write Arrow or JSON lines, or drop the field in the policy.",
            )
        for field in (kind.field(i) for i in range(kind.num_fields)):
            _check_fields(field.type, (*steps, field.name))


def _is_exact(token: bytes) -> bool:
    """Return whether a float holds a whole number; one of thousands of digits is in no float."""
    return len(token) <= _MOST_DIGITS and int(float(token)) == int(token)


def _as_text(kind: Any) -> Any:  # noqa: ANN401 # Arrow's types have no common stubs
    """Return the type with text where Arrow guessed a time."""
    import pyarrow as pa  # noqa: PLC0415 # 0.2 s

    if pa.types.is_temporal(kind):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(_as_text(kind.value_type))
    if pa.types.is_struct(kind):
        fields = (kind.field(i) for i in range(kind.num_fields))
        return pa.struct([field.with_type(_as_text(field.type)) for field in fields])
    return kind


def _mixed_types() -> DataError:
    return DataError(
        "A field holds values that can't be one column: text in one line, and a number or an "
        "object in another.",
        hint="Write JSON lines, or let the policy give the field one type.",
    )
