"""Arrow's types whose cells aren't what their storage says, and bytes in Arrow's memory."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

import polars as pl

from halfmask._errors import DataError, SchemaError

if TYPE_CHECKING:
    import pyarrow as pa


_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_NAME = b"ARROW:extension:name"


def refuse_foreign_types(schema: Any, columns: Collection[str] | None = None) -> None:  # noqa: ANN401 - pyarrow has no types
    """Raise if columns have extension types, or types that can't be read.

    pandas stores a month as 600 and an interval as two numbers, so the stored values aren't those
    of the table.
    """
    for field in schema:
        if columns is not None and field.name not in columns:
            continue
        name = _extension(field)
        if name is not None:
            raise extension_error(field.name, name)
        if any(map(_is_unknown, _types_in(field.type))) or not _is_turned(field.type):
            raise SchemaError(
                f"Column {field.name!r} is of Arrow's type {str(field.type).partition('<')[0]}, "
                "which can't be read.",
                hint="Turn it into text or a plain number first, or leave the column out. Time "
                "zones need a name, such as Asia/Kolkata.",
            )


def check_times(rows: Any) -> None:  # noqa: ANN401 - pyarrow has no types
    """Raise unless polars reads all times exactly.

    It would read times of day of 24 hours or more as missing, and seconds that it has no room for
    as milliseconds of another time.
    """
    import pyarrow as pa  # noqa: PLC0415 - heavy, and frames of polars don't need it
    import pyarrow.compute as pc  # noqa: PLC0415 - the same

    for field, column in zip(rows.schema, rows.columns, strict=True):
        for cells in _leaves(column):
            bounds = bounds_of(cells.type)
            if bounds is None:
                continue
            wide = pa.int32() if cells.type.bit_width == 32 else pa.int64()
            ends = pc.min_max(cells.cast(wide)).as_py()
            if ends["min"] is not None and not bounds[0] <= ends["min"] <= ends["max"] <= bounds[1]:
                raise DataError(
                    f"Column {field.name!r} has times of day that are negative, or 24 hours or "
                    "more, or times or spans of more than 292 million years.",
                    hint="Turn the column into text or a number first, or make these cells "
                    "missing.",
                )


def _leaves(cells: Any) -> Iterator[Any]:  # noqa: ANN401 - as above
    """Yield the cells, or those within lists, structs and dictionaries."""
    import pyarrow as pa  # noqa: PLC0415 - as above
    import pyarrow.compute as pc  # noqa: PLC0415 - as above

    types = pa.types
    if types.is_dictionary(cells.type):
        for chunk in cells.chunks if isinstance(cells, pa.ChunkedArray) else [cells]:
            yield from _leaves(chunk.dictionary)
    elif any(
        fits(cells.type) for fits in (types.is_list, types.is_large_list, types.is_fixed_size_list)
    ):
        yield from _leaves(pc.list_flatten(cells))
    elif types.is_struct(cells.type):
        for place in range(cells.type.num_fields):
            yield from _leaves(pc.struct_field(cells, place))
    else:
        yield cells


def bounds_of(kind: Any) -> tuple[int, int] | None:  # noqa: ANN401 - as above
    """Return the ends of what polars reads exactly of a type of time; None where that is all."""
    import pyarrow as pa  # noqa: PLC0415 - as above

    if pa.types.is_dictionary(kind):
        return bounds_of(kind.value_type)
    if pa.types.is_time(kind):
        return 0, 86_400 * _TICKS[kind.unit] - 1
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return (-(2**63) // 1000 + 1, 2**63 // 1000 - 1) if kind.unit == "s" else None
    return None


def extension_error(column: str, name: str) -> SchemaError:
    """Return the error of a column that has an extension type."""
    return SchemaError(
        f"Column {column!r} is of the extension type {name!r}: what is stored isn't "
        "what its cells mean.",
        hint="Turn it into text, a number or a date first, such as .astype(str) in pandas, or "
        "leave the column out.",
    )


def _extension(field: Any) -> str | None:  # noqa: ANN401 - as above
    """Return the name of the first extension type in a field, at any depth."""
    import pyarrow as pa  # noqa: PLC0415 - heavy, and frames of polars don't need it

    # A type that pyarrow doesn't know is its storage, with the name next to it.
    named = (field.metadata or {}).get(_NAME)
    if named is not None:
        return str(named.decode(errors="replace"))
    if isinstance(field.type, pa.BaseExtensionType):
        return str(field.type.extension_name)
    return next(filter(None, map(_extension, _fields_in(field.type))), None)


def _fields_in(kind: Any) -> Iterator[Any]:  # noqa: ANN401 - as above
    import pyarrow as pa  # noqa: PLC0415 - as above

    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        yield pa.field("", kind.value_type)
    elif pa.types.is_map(kind):
        yield from (kind.key_field, kind.item_field)
    elif pa.types.is_struct(kind) or pa.types.is_union(kind):
        yield from (kind.field(number) for number in range(kind.num_fields))
    elif pa.types.is_nested(kind):
        yield kind.value_field


def _types_in(kind: Any) -> Iterator[Any]:  # noqa: ANN401 - as above
    yield kind
    for field in _fields_in(kind):
        yield from _types_in(field.type)


def _is_turned(kind: Any) -> bool:  # noqa: ANN401 - as above
    """Return whether polars has the type: it lacks zones such as +05:30, which have no name."""
    import pyarrow as pa  # noqa: PLC0415 - as above

    try:
        pl.from_arrow(pa.nulls(0, kind))
    except (Exception, pl.exceptions.PanicException):  # noqa: BLE001 - any of theirs
        return False
    return True


def _is_unknown(kind: Any) -> bool:  # noqa: ANN401 - as above
    import pyarrow as pa  # noqa: PLC0415 - as above

    types = pa.types
    unknown = (
        types.is_decimal256,
        types.is_interval,
        types.is_run_end_encoded,
        types.is_union,
        types.is_list_view,
        types.is_large_list_view,
    )
    return any(fits(kind) for fits in unknown)


def owned_buffer(block: bytes) -> pa.Buffer:
    """Copy bytes into Arrow's memory, which Arrow frees without the GIL.

    If a thread of Arrow frees a Python object while the process ends, the process aborts.

    Examples
    --------
    >>> owned_buffer(b"17,f").to_pybytes()
    b'17,f'
    """
    import pyarrow as pa  # noqa: PLC0415 - heavy, and not every format needs it

    buffer = pa.allocate_buffer(len(block))
    pa.FixedSizeBufferWriter(buffer).write(block)
    return buffer
