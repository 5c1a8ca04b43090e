"""Frames of any library as Arrow columns, and their cells as the arrays that loops take."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from halfmask._errors import ColumnWarning, DataError, SchemaError
from halfmask._foreign import foreign
from halfmask.data.arrow_types import refuse_foreign_types
from halfmask.data.frames import check_names

if TYPE_CHECKING:
    from numpy.typing import NDArray


#: Columns of whole numbers, and of others, are taken for each other.
_NUMBERS = frozenset({"integer", "float"})
#: Decimals of so many digits are floats of their own.
_FLOAT_DIGITS = 15
#: Longer texts lie elsewhere; their views say where.
_IN_VIEW = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """Texts as they lie in Arrow: the bytes, and where each begins."""

    offsets: NDArray[np.int32] | NDArray[np.int64]
    data: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.offsets) - 1


def kind_of(dtype: Any, column: str) -> str:  # noqa: ANN401 # no types; a kind each
    """Return what a column holds: ``text``, ``bytes``, ``boolean``, ``integer``, ``float``, ...

    Lists of a kind are ``list of`` it; a column without values is ``empty``.
    """
    types = pa.types
    if types.is_dictionary(dtype):
        return kind_of(dtype.value_type, column)
    if types.is_list(dtype) or types.is_large_list(dtype) or types.is_fixed_size_list(dtype):
        inner = kind_of(dtype.value_type, column)
        if not inner.startswith("list"):
            return f"list of {inner}"
    if types.is_null(dtype):
        return "empty"
    if types.is_string(dtype) or types.is_large_string(dtype) or types.is_string_view(dtype):
        return "text"
    for kind, fits in _KINDS.items():
        if any(fit(dtype) for fit in fits):
            return kind
    raise SchemaError(
        f"Column {column!r} holds values of a type that can't be hashed.",
        hint="Turn it into numbers or texts, or leave it out.",
    )


_KINDS = {
    "boolean": (pa.types.is_boolean,),
    "integer": (pa.types.is_integer,),
    "float": (pa.types.is_floating, pa.types.is_decimal),
    "date": (pa.types.is_date,),
    "datetime_utc": (lambda dtype: pa.types.is_timestamp(dtype) and dtype.tz is not None,),
    "datetime": (pa.types.is_timestamp,),
    "time": (pa.types.is_time,),
    "duration": (pa.types.is_duration,),
    "bytes": (
        pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view,
        pa.types.is_fixed_size_binary,
    ),
}  # fmt: skip


def same_kind(one: str, other: str) -> bool:
    """Return whether columns of two kinds may stand for each other."""
    return one == other or "empty" in {one, other} or {one, other} == _NUMBERS


def absent(array: Any) -> NDArray[np.bool_] | None:  # noqa: ANN401 # pyarrow ships no types
    """Return which cells are missing, or None if none is; NaN is missing."""
    if pa.types.is_floating(array.type):
        gone = array.is_null(nan_is_null=True)
    elif array.null_count:
        gone = array.is_null()
    else:
        return None
    found = gone.to_numpy(zero_copy_only=False)
    return found if found.any() else None


def texts_of(array: Any) -> Texts:  # noqa: ANN401 # pyarrow ships no types
    """Return a column of texts, or of bytes; what stands under missing ones is of no meaning."""
    dtype = array.type
    if pa.types.is_null(dtype):
        array = array.cast(pa.string())
    elif pa.types.is_string_view(dtype):
        array = array.cast(pa.large_string())
    elif pa.types.is_binary_view(dtype) or pa.types.is_fixed_size_binary(dtype):
        array = array.cast(pa.large_binary())
    wide = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    _, offsets, data = array.buffers()
    n_rows = len(array)
    if not n_rows or offsets is None:
        return Texts(offsets=np.zeros(1, np.int32), data=np.zeros(0, np.uint8))
    bounds: Any = np.frombuffer(offsets, np.int64 if wide else np.int32)
    bytes_ = np.frombuffer(b"" if data is None else data, np.uint8)
    return Texts(offsets=bounds[array.offset : array.offset + n_rows + 1], data=bytes_)


def views_of(array: Any) -> NDArray[np.uint64] | None:  # noqa: ANN401 # pyarrow ships no types
    """Return short texts as they lie in Arrow's views, (rows, 2); None where any is longer."""
    if not (pa.types.is_string_view(array.type) or pa.types.is_binary_view(array.type)):
        return None
    if not len(array) or sys.byteorder != "little":
        return None
    views = np.frombuffer(array.buffers()[1], "<u8").reshape(-1, 2)
    views = views[array.offset : array.offset + len(array)]
    longest = int((views[:, 0] & np.uint64(0xFFFFFFFF)).max())
    return views if longest <= _IN_VIEW else None


def check_exact(array: Any, column: str) -> None:  # noqa: ANN401 # pyarrow ships no types
    """Raise DataError where different cells of a category would have the same 64 bits."""
    dtype, lost = array.type, 0
    if pa.types.is_decimal(dtype) and dtype.precision > _FLOAT_DIGITS:
        # Of a longer decimal only the shortest one that gives its float differs from others.
        cells = pc.drop_null(pc.unique(array)).to_pylist()
        long = (cell for cell in cells if len(cell.as_tuple().digits) > _FLOAT_DIGITS)
        lost = sum(Decimal(repr(float(cell))) != cell for cell in long)
    elif getattr(dtype, "unit", "") == "ns":
        nanoseconds = pc.fill_null(array.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
        lost = len(np.unique(nanoseconds[nanoseconds % 1000 != 0]))
    if lost:
        raise DataError(
            f"Column {column!r} has {lost:,} categories that are decimals of more digits than a "
            "float holds, or times below a microsecond: others would be taken for the same.",
            hint="Turn the column into texts, or round it.",
        )


def words_of(array: Any) -> NDArray[np.uint64]:  # noqa: ANN401 # pyarrow ships no types
    """Return the 64 bits by which a cell that is no text is hashed; missing ones are 0.

    Whole numbers unchanged, in two's complement, and so whole numbers that lie in a column of
    floats: pandas turns the one into the other. Other floats by their bits. Truth values as 1 and
    0, dates as days and moments as microseconds since 1970 in UTC, times of day and durations as
    microseconds.
    """
    dtype = array.type
    if pa.types.is_floating(dtype) or pa.types.is_decimal(dtype):
        return _words_of_floats(numbers_of(array))
    if pa.types.is_timestamp(dtype) or pa.types.is_duration(dtype) or pa.types.is_time(dtype):
        return _integers(_microseconds(array))
    if pa.types.is_date64(dtype):
        array = array.cast(pa.date32())
    return _integers(array)


def _microseconds(array: Any) -> Any:  # noqa: ANN401 # pyarrow ships no types
    dtype = array.type
    if pa.types.is_timestamp(dtype):
        return array.cast(pa.timestamp("us", dtype.tz), safe=False)
    return array.cast(
        pa.duration("us") if pa.types.is_duration(dtype) else pa.time64("us"), safe=False
    )


def _integers(array: Any) -> NDArray[np.uint64]:  # noqa: ANN401 # pyarrow ships no types
    if pa.types.is_uint64(array.type):
        return pc.fill_null(array, 0).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return] # no types
    if pa.types.is_date(array.type):
        array = array.cast(pa.int32())
    signed = pc.fill_null(array.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    return signed.view(np.uint64)  # type: ignore[no-any-return] # the same


def _words_of_floats(numbers: NDArray[np.float64]) -> NDArray[np.uint64]:
    # Minus zero becomes zero, which is whole.
    whole = (numbers == np.floor(numbers)) & (numbers >= -(2.0**63)) & (numbers < 2.0**63)
    signed = np.where(whole, numbers, 0.0).astype(np.int64)
    words = np.where(whole, signed.view(np.uint64), numbers.view(np.uint64))
    words[np.isnan(numbers)] = 0
    return words


def numbers_of(array: Any) -> NDArray[np.float64]:  # noqa: ANN401 # pyarrow ships no types
    """Return a column as floats; missing cells are NaN, and minus zero is zero."""
    dtype = array.type
    if pa.types.is_null(dtype):
        return np.full(len(array), np.nan)
    if not (pa.types.is_integer(dtype) or pa.types.is_floating(dtype)):
        gone = absent(array)
        if pa.types.is_decimal(dtype):
            array = array.cast(pa.float64())
        else:
            array = pa.array(words_of(array).view(np.int64), mask=gone)
    # An integer with missing cells becomes floats with NaN on the way.
    found = array.to_numpy(zero_copy_only=False)
    return np.asarray(np.add(found, 0.0, dtype=np.float64))


def floats_to_send(
    numbers: NDArray[np.float64], column: str, *, measured: bool
) -> NDArray[np.float32]:
    """Return numbers as the wire has them; whole ones that it can't hold exactly are warned of.

    Floats with decimals have more digits than anybody measures: rounding them is of no meaning.
    Whole numbers from 2 ** 53 on were rounded before they came here, unless the column is floats.
    """
    with np.errstate(over="ignore"):
        sent = numbers.astype(np.float32)
    rounded = (sent != numbers) & ((numbers == np.floor(numbers)) | (sent == 0.0))
    if rounded.any() or (not measured and (np.abs(numbers) >= 2.0**53).any()):
        warnings.warn(
            f"Column {column!r} has whole numbers or times beyond 2 ** 24, or numbers below "
            "1e-45. They are sent rounded to 32-bit floats (7 digits). Bin them, or scale them.",
            ColumnWarning,
            stacklevel=2,
        )
    return sent


def arrow_of(frame: object) -> Any:  # noqa: ANN401 # a pyarrow table or record batch
    """Return a frame as a table or a record batch of pyarrow; numpy's columns are x0, x1, ..."""
    hint = "Check that each column holds values of one type."
    with foreign("The frame can't be turned into a table of Arrow", hint=hint):
        found = _arrow_of(frame)
    check_names(found.schema.names)
    refuse_foreign_types(found.schema)
    return found


def _arrow_of(frame: Any) -> Any:  # noqa: ANN401 # any library's
    if isinstance(frame, pa.Table | pa.RecordBatch):
        return frame
    if isinstance(frame, np.ndarray):
        return _from_array(frame)
    top = type(frame).__module__.partition(".")[0]
    if top == "polars":
        frame = frame.collect() if hasattr(frame, "collect") else frame
        _refuse_unhashable(frame)
        return frame.to_arrow()
    if top == "pandas" or hasattr(frame, "iloc"):
        return _from_pandas(frame)
    if hasattr(frame, "__arrow_c_stream__"):
        return pa.table(frame)
    if isinstance(frame, Mapping):
        return pa.table(dict(frame))
    raise DataError(
        f"The table must be a frame of polars, pandas or pyarrow. Got a {type(frame).__name__}.",
        hint="Turn it into a DataFrame with named columns first.",
    )


def _refuse_unhashable(frame: Any) -> None:  # noqa: ANN401 # as above
    """Refuse types of polars for which Arrow has no word: of objects it would get addresses."""
    for name, dtype in frame.schema.items():
        if str(dtype) in {"Object", "Int128", "UInt128"}:
            raise SchemaError(
                f"Column {name!r} holds values of type {dtype}, which can't be hashed.",
                hint="Turn it into numbers or texts, or leave it out.",
            )


def _from_array(array: Any) -> Any:  # noqa: ANN401 # as above
    if array.ndim != 2:
        raise DataError("An array of rows needs two dimensions.")
    names = [f"x{position}" for position in range(array.shape[1])]
    return pa.table([_cells(array[:, i], name) for i, name in enumerate(names)], names=names)


def _from_pandas(frame: Any) -> Any:  # noqa: ANN401 # as above
    if not hasattr(frame, "columns") or getattr(frame.columns, "nlevels", 1) > 1:
        raise SchemaError(
            "The pandas object must be a DataFrame with one level of column names.",
            hint="Flatten the column names, or make a DataFrame of the Series.",
        )
    names = [str(name) for name in frame.columns]
    check_names(names)
    columns = [_cells(frame.iloc[:, i], name) for i, name in enumerate(names)]
    return pa.table(columns, names=names)


def _cells(values: Any, name: str) -> Any:  # noqa: ANN401 # as above
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        raise SchemaError(
            f"Column {name!r} holds values of more than one type, or of a type that no table has.",
            hint="Turn the column into numbers or into text first.",
        ) from None


def columns_of(table: Any) -> dict[str, Any]:  # noqa: ANN401 # pyarrow ships no types
    """Return the columns of a table or record batch, each in one piece."""
    found = {}
    for name, column in zip(table.schema.names, table.columns, strict=True):
        if isinstance(column, pa.ChunkedArray):
            column = (  # noqa: PLW2901 # the same column
                column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
            )
            if isinstance(column, pa.ChunkedArray):  # more than fits one array
                raise DataError(
                    f"Column {name!r} is too long to be hashed at once.", hint="Hash it in batches."
                )
        found[name] = column
    return found


def is_empty(column: Any) -> bool:  # noqa: ANN401 # pyarrow ships no types
    """Return whether a column has no value: pandas makes floats of one, all of them NaN."""
    if pa.types.is_floating(column.type):
        column = column.is_null(nan_is_null=True)
        return not len(column) or bool(pc.all(column).as_py())
    return bool(column.null_count == len(column))


def with_column(table: Any, name: str, column: Any) -> Any:  # noqa: ANN401 # as above
    """Return the table with another column in the place of one."""
    return table.set_column(table.schema.get_field_index(name), name, column)


def texts_of_table(table: Any) -> pl.DataFrame:  # noqa: ANN401 # as above
    """Return the columns of text of a table, those in dictionaries, too."""
    types = pa.types
    names = [
        it.name
        for it in table.schema
        if types.is_string(dtype := it.type.value_type if types.is_dictionary(it.type) else it.type)
        or types.is_large_string(dtype)
        or types.is_string_view(dtype)
    ]
    if not names:
        return pl.DataFrame()
    frame = pl.DataFrame(table.select(names))
    return frame.with_columns(pl.col(pl.Categorical).cast(pl.String))
