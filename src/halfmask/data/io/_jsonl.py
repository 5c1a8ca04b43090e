"""Files of one JSON object a line: found out by a first pass, read in batches by later ones."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from halfmask._errors import DataError, SchemaError
from halfmask.data._column_types import TIMES, TextJudge, same_columns, typed
from halfmask.data._declarations import Coerced, as_declared, check_declared, mark_missing
from halfmask.data.arrow_types import owned_buffer
from halfmask.data.frames import check_names, settle
from halfmask.data.io._reader import joined_lists
from halfmask.data.io.places import BLOCK, TextStream, reading

if TYPE_CHECKING:
    import pyarrow as pa

    from halfmask.data.io._read_options import ReadOptions
    from halfmask.data.io.places import Place


_CHANGED = re.compile(r"Column\(/(.*)\) changed from (\w+) to (\w+) in row", re.DOTALL)


class JsonLinesReader:
    """The rows of JSON lines files that are parts of one table.

    Numbers are integers if every one of them is. A key that an object lacks is a missing cell.
    Texts become dates only if every one of them is an ISO date.
    """

    def __init__(self, places: Sequence[Place], options: ReadOptions) -> None:
        self._places = places
        self._options = options
        self._declared = options.declarations()
        self._coerced = Coerced(options.coerce)
        self._types: dict[str, pa.DataType] = {}
        self._judge = TextJudge(TIMES)
        self._whole = WholeNumbers()
        self.n_rows = 0
        self.orders: dict[str, tuple[str, ...]] = {}  # texts have no type that has an order
        for place in places:
            keys = self._survey(place)
            same_columns(keys, tuple(self._types), what=place.what)
        self._exact = {
            name
            for name in self._whole.texts()
            if name not in self._declared or self._declared[name].dtype == pl.String
        }
        self.columns = tuple(self._types)
        check_names(self.columns)
        check_declared((*self._declared, *self._options.lists), self.columns)
        self._coerced.warn()
        self.dtypes = self._found()

    def frames(self, columns: Sequence[str], n_rows: int) -> Iterator[pl.DataFrame]:
        """Yield the rows, of the given columns, in frames of any size."""
        import pyarrow as pa  # noqa: PLC0415 - heavy, and only files of this format need it

        del n_rows  # blocks of a fixed number of bytes bound the memory
        types = {
            name: pa.string() if pa.types.is_null(self._types[name]) else self._types[name]
            for name in columns
        } | dict.fromkeys(self._exact.intersection(columns), pa.decimal256(MAX_DIGITS, 0))
        for place in self._places:
            with reading(place.what, "JSON lines"):
                for block in _blocks(place, self._options.encoding):
                    table = _parse(block, types, unexpected="ignore", what=place.what)
                    yield self._values(table.select(list(columns)), place.what)

    def _values(self, table: pa.Table, what: str) -> pl.DataFrame:
        frame = self._marked(_as_texts(table, self._exact))
        moments = [
            name
            for name, dtype in frame.schema.items()
            if dtype == pl.String and name not in self._declared
        ]
        read, misfits = typed(frame.select(moments), self.dtypes)
        if misfits:
            raise DataError(f"{what} has changed while it was read.")
        frame = frame.with_columns(read.get_columns())
        frame = as_declared(frame, self._declared, Coerced(self._options.coerce))
        return settle(mark_missing(frame, self._options.missing))

    def _marked(self, table: pa.Table) -> pl.DataFrame:
        frame = joined_lists(pl.DataFrame(table), self._options.lists)
        return mark_missing(settle(frame), self._options.missing)

    def _survey(self, place: Place) -> list[str]:
        """Learn the keys and types of one file; returns its keys."""
        import pyarrow as pa  # noqa: PLC0415 - heavy, and only files of this format need it

        keys: dict[str, None] = {}
        texts: dict[str, pa.DataType] = {}
        with reading(place.what, "JSON lines"):
            for block in _blocks(place, self._options.encoding):
                table = _parse(block, texts, unexpected="infer", what=place.what)
                # In the order of the file: the keys that a schema names come first afterwards.
                keys |= dict.fromkeys(table.schema.names)
                self._types = dict.fromkeys(keys, pa.null()) | self._types
                # Texts that pyarrow takes for points in time stay texts until all are seen.
                moments = [f.name for f in table.schema if pa.types.is_timestamp(f.type)]
                if moments:
                    texts |= dict.fromkeys(moments, pa.string())
                    table = _parse(block, texts, unexpected="infer", what=place.what)
                for field in table.schema:
                    before = self._types[field.name]
                    self._types[field.name] = _join_types(field.name, before, field.type)
                self._whole.see(table, block)
                self.n_rows += table.num_rows
                self._look_at(table)
        return list(keys)

    def _look_at(self, table: pa.Table) -> None:
        if not table.num_columns:
            return
        frame = self._marked(table)
        as_declared(frame, self._declared, self._coerced)
        free = [name for name in frame.columns if name not in self._declared]
        self._judge.see(frame.select(free).select(pl.col(pl.String)))

    def _found(self) -> dict[str, pl.DataType]:
        import pyarrow as pa  # noqa: PLC0415 - heavy, and only files of this format need it

        plain = {pa.int64(): pl.Int64(), pa.float64(): pl.Float64(), pa.bool_(): pl.Boolean()}
        found = {n: plain.get(t, pl.String()) for n, t in self._types.items()}
        found |= dict.fromkeys(self._exact, pl.String())
        moments = self._judge.dtypes()
        texts = {n: moments[n] for n, t in found.items() if t == pl.String and n in moments}
        return found | texts | self._options.typed()


def _parse(block: bytes, types: dict[str, pa.DataType], *, unexpected: str, what: str) -> pa.Table:
    import pyarrow as pa  # noqa: PLC0415 - heavy, and only files of this format need it
    import pyarrow.json as arrow_json  # noqa: PLC0415 - the same

    try:
        return arrow_json.read_json(
            pa.BufferReader(owned_buffer(block)),
            arrow_json.ReadOptions(use_threads=False, block_size=len(block) + 1),
            arrow_json.ParseOptions(
                explicit_schema=pa.schema(types), unexpected_field_behavior=unexpected
            ),
        )
    except pa.ArrowInvalid as error:
        changed = _CHANGED.match(str(error).removeprefix("JSON parse error: "))
    if changed and changed[1]:
        raise _report_mixed_types(changed[1], changed[2], changed[3])
    raise DataError(
        f"{what} has a line that is no JSON object, or one with a key twice or a number that no "
        "float holds.",
        hint="Write one object a line: JSON lines are no array.",
    )


def _as_texts(table: pa.Table, names: set[str]) -> pa.Table:
    """Return the table with the digits of some columns' whole numbers as texts."""
    import pyarrow as pa  # noqa: PLC0415 - heavy, and only files of this format need it

    for place, name in enumerate(table.schema.names):
        if name in names:
            table = table.set_column(place, name, table.column(name).cast(pa.string()))
    return table


def _join_types(name: str, before: pa.DataType, after: pa.DataType) -> pa.DataType:
    import pyarrow as pa  # noqa: PLC0415 - heavy, and only files of this format need it

    if before == after or pa.types.is_null(after):
        return before
    if pa.types.is_null(before):
        return after
    if pa.types.is_list(before) and pa.types.is_list(after):
        return pa.list_(_join_types(name, before.value_type, after.value_type))
    numbers = {pa.int64(), pa.float64()}
    if before in numbers and after in numbers:
        return pa.float64()
    raise _report_mixed_types(name, before, after)


def _report_mixed_types(name: str, before: Any, after: Any) -> SchemaError:  # noqa: ANN401 - words or types
    return SchemaError(
        f"Column {name!r} holds values of more than one type: {before} and {after}.",
        hint="Write all of its values as texts, or all as numbers.",
    )


def _blocks(place: Place, encoding: str) -> Iterator[bytes]:
    """Yield the file in pieces that end where a line ends."""
    rest = b""
    with TextStream(place, encoding=encoding) as stream:
        while data := stream.read(BLOCK):
            whole, newline, tail = (rest + data).rpartition(b"\n")
            if not newline and len(tail) > 16 * BLOCK:
                raise DataError(f"{place.what} has a line longer than 64 million bytes.")
            rest = tail
            if whole.strip():
                yield whole + newline
    if rest.strip():
        yield rest


#: The most digits of a whole number that Arrow's decimals hold.
MAX_DIGITS = 76
_EXACT = 2**53
_INT64 = range(-(2**63), 2**63)


class WholeNumbers:
    """Which columns of JSON lines hold whole numbers that a column of numbers would change.

    A column of 64-bit integers holds numbers up to 2^63, one of floats only those up to 2^53 for
    sure. JSON has no such bounds. Columns whose numbers are all whole stay exact as texts.
    """

    def __init__(self) -> None:
        self._beyond: set[str] = set()
        self._unsafe: set[str] = set()
        self._fractions: set[str] = set()

    def see(self, table: Any, block: bytes) -> None:  # noqa: ANN401 - pyarrow has no types
        """Look at the columns of numbers of a block of lines."""
        numbers = pl.DataFrame(table).select(pl.col(pl.Int64, pl.Float64))
        suspects = []
        for column in numbers.get_columns():
            large = bool((column.abs() >= _EXACT).any()) or column.name in self._beyond
            if column.dtype == pl.Int64:
                if large and (column.cast(pl.Float64).cast(pl.Int64, strict=False) != column).any():
                    self._unsafe.add(column.name)
            elif large:
                suspects.append(column.name)
            else:
                self._fractions.add(column.name)
        if suspects:
            self._look_closer(suspects, block)

    def _look_closer(self, names: list[str], block: bytes) -> None:
        for line in block.splitlines():
            row = json.loads(line) if line.strip() else {}
            for name in names:
                value = row.get(name)
                if isinstance(value, float):
                    self._fractions.add(name)
                elif isinstance(value, int) and not isinstance(value, bool):
                    self._whole(name, value)

    def _whole(self, name: str, value: int) -> None:
        if abs(value) >= 10**MAX_DIGITS:
            raise SchemaError(
                f"Column {name!r} holds whole numbers of more than {MAX_DIGITS} digits.",
                hint="Write them as texts, in quotes.",
            )
        if value not in _INT64:
            self._beyond.add(name)
        if int(float(value)) != value:
            self._unsafe.add(name)

    def texts(self) -> set[str]:
        """Return the columns that stay texts, so that no number changes."""
        mixed = sorted(self._unsafe & self._fractions)
        if mixed:
            raise SchemaError(
                f"Column {mixed[0]!r} holds fractions and whole numbers beyond 2^53, which a "
                "float would change.",
                hint="Write all of its values as texts, in quotes, or round them first.",
            )
        return self._beyond - self._fractions
