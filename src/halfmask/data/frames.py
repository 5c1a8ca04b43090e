"""Frames of other libraries: turned into polars at the door, and back on the way out."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from halfmask._errors import DataError, SchemaError
from halfmask._foreign import foreign
from halfmask.data.arrow_types import check_times, extension_error, refuse_foreign_types
from halfmask.data.hierarchy._dates import check_calendar
from halfmask.data.io._reader import joined_lists

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    import pyarrow as pa

_CODED = (pl.Categorical, pl.Enum, pl.Null)
# What one cell of a table of people can be: other types have no order, no equality or no text.
_CELLS = (
    *(pl.String, pl.Boolean, pl.Date, pl.Datetime, pl.Duration, pl.Time),
    *(pl.Float32, pl.Float64, pl.Decimal),
)


def to_polars(frame: object, *, lists: Mapping[str, str] | None = None) -> pl.DataFrame:
    """Turn a frame of any library into a settled polars frame.

    NaN becomes missing; infinities stay.

    Guarantees
    ----------
    What comes out holds nothing but the rows' values: no unused category, no metadata of the
    other library, no index.

    Examples
    --------
    >>> import polars as pl
    >>> to_polars(pl.DataFrame({"sex": ["m", "f"]}, schema={"sex": pl.Categorical})).dtypes
    [String]
    """
    with _turning():
        return settle(joined_lists(_as_polars(frame), lists or {}))


def like(frame: pl.DataFrame, original: object) -> Any:  # noqa: ANN401 - the caller's own library
    """Turn a polars frame into a frame of the library that ``original`` is of.

    Edge cases
    ----------
    A pandas frame gets a new index from 0: the old one may identify people. Its integer columns
    with missing cells become ``Int64``, so that no large integer loses a digit.

    Examples
    --------
    >>> import polars as pl, pyarrow as pa
    >>> type(like(pl.DataFrame({"age": [41]}), pa.table({"age": [17]}))).__name__
    'Table'
    """
    with _turning():
        if isinstance(original, pl.DataFrame):
            return frame
        if isinstance(original, pl.LazyFrame):
            return frame.lazy()
        if library_of(original) == "pandas":
            return _as_pandas(frame)
        if library_of(original) == "pyarrow" and type(original).__name__ == "RecordBatch":
            return _one_batch(frame.to_arrow())
        other = _through_narwhals(original)
        if other is not None:
            return other.from_arrow(frame, backend=other.backend).to_native()
        if hasattr(original, "__arrow_c_stream__"):
            return frame.to_arrow()
    raise _not_a_frame(original)


def settle(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with values that every room understands, or say which column can't be.

    NaN becomes null, categories become strings, a column without any value becomes one of text.
    """
    check_names(frame.columns)
    casts = [
        pl.col(name).cast(settled)
        for name, dtype in frame.schema.items()
        if (settled := settled_dtype(dtype, name)) != dtype
    ]
    if casts:
        frame = frame.with_columns(casts)
    with_nan = [
        column.name
        for column in frame.get_columns()
        if column.dtype.is_float() and column.is_nan().any()
    ]
    if any(dtype.is_temporal() for dtype in frame.dtypes):
        check_calendar(frame)
    # Only columns that need it are written again: a table may be most of the memory there is.
    return frame.with_columns(pl.col(with_nan).fill_nan(None)) if with_nan else frame


def settled_dtype(dtype: pl.DataType, column: str) -> pl.DataType:
    """Return the type that `settle` gives to a column of type ``dtype``."""
    if isinstance(dtype, pl.BaseExtension):
        raise extension_error(column, dtype.ext_name())
    if isinstance(dtype, _CODED):
        return pl.String()
    if isinstance(dtype, _CELLS) or dtype.is_integer():
        return dtype
    if dtype.is_float():
        return pl.Float32()  # of 16 bits
    raise SchemaError(
        f"Column {column!r} holds values of type {type(dtype).__name__}; each cell must be "
        "one number, text, date, time or truth value.",
        hint="Spread it over plain columns, or leave the column out. Lists are read as texts "
        "with a separator under lists.",
    )


def without_empty_types(frame: pl.DataFrame, dtypes: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Return the frame with columns without any value of the types that they have elsewhere.

    A library gives them one of its own: pandas calls a column of missing cells one of floats.
    """
    empty = [
        pl.lit(None, dtype).alias(name)
        for name, dtype in dtypes.items()
        if frame.schema.get(name, dtype) != dtype and frame[name].null_count() == frame.height
    ]
    return frame.with_columns(empty) if empty else frame


def check_names(names: Sequence[str]) -> None:
    """Raise unless there are columns and each has a name of its own."""
    if not names:
        raise DataError("The table has no column.", hint="Give a table with named columns.")
    empty = [str(n) for n, name in enumerate(names, 1) if not name.strip()]
    if empty:
        raise SchemaError(
            f"Columns without a name: number {', '.join(empty[:20])} of {len(names)}.",
            hint="Name every column; a file without a header is read with "
            "[[header=False|--no-header]].",
        )
    counts = Counter(names)
    if len(counts) < len(names):
        twice = [str(n) for n, name in enumerate(names, 1) if counts[name] > 1]
        raise SchemaError(
            f"Columns that share a name: number {', '.join(twice[:20])} of {len(names)}.",
            hint="Give each column a name of its own; a file without a header is read with "
            "[[header=False|--no-header]].",
        )
    unsafe = [str(n) for n, name in enumerate(names, 1) if "\0" in name or _is_pattern(name)]
    if unsafe:
        raise SchemaError(
            f"Columns whose names are patterns, or hold NUL: number {', '.join(unsafe[:20])} of "
            f"{len(names)}.",
            hint="Rename them: no column may be called * or begin with ^ and end with $.",
        )


def _is_pattern(name: str) -> bool:
    """Return whether polars selects other columns by it: a dropped one could take its place."""
    return name == "*" or (name.startswith("^") and name.endswith("$"))


def count_infinite(frame: pl.DataFrame) -> dict[str, int]:
    """Count the infinite values of each column that has any.

    Counts of batches add up to the count of the table.

    Examples
    --------
    >>> import polars as pl
    >>> count_infinite(pl.DataFrame({"a": [1.0, float("inf")], "b": [1, 2]}))
    {'a': 1}
    """
    counts = {
        column.name: int(column.is_infinite().sum() or 0)
        for column in frame.get_columns()
        if column.dtype.is_float()
    }
    return {name: count for name, count in counts.items() if count}


def _as_polars(frame: object) -> pl.DataFrame:
    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()
    if library_of(frame) == "pandas":
        return _from_pandas(frame)
    if library_of(frame) == "pyarrow" and hasattr(frame, "schema"):
        return _from_arrow(frame)
    # Narwhals goes first: another library's own stream may carry an index as a column.
    other = _through_narwhals(frame)
    if other is not None:
        return _from_arrow(other.to_arrow())
    if hasattr(frame, "__arrow_c_stream__"):
        import pyarrow as pa  # noqa: PLC0415 - heavy, and frames of polars don't need it

        return _from_arrow(pa.table(frame))
    raise _not_a_frame(frame)


def _from_arrow(table: Any) -> pl.DataFrame:  # noqa: ANN401 - pyarrow has no types
    check_names(table.schema.names)
    refuse_foreign_types(table.schema)
    if hasattr(table, "read_all"):  # a stream
        table = table.read_all()
    check_times(table)
    turned = pl.from_arrow(table, rechunk=False)
    if not isinstance(turned, pl.DataFrame):
        raise _not_a_frame(table)
    return turned


def _from_pandas(frame: Any) -> pl.DataFrame:  # noqa: ANN401 - pandas is not imported here
    if not hasattr(frame, "columns") or getattr(frame.columns, "nlevels", 1) > 1:
        raise SchemaError(
            "The pandas object must be a DataFrame with one level of column names. "
            f"Got a {type(frame).__name__}.",
            hint="Flatten the column names, or make a DataFrame of the Series.",
        )
    import pyarrow as pa  # noqa: PLC0415 - heavy, and frames of polars don't need it

    names = [str(name) for name in frame.columns]
    check_names(names)
    arrays = []
    for position, name in enumerate(names):
        try:
            array = pa.Array.from_pandas(frame.iloc[:, position])
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            raise SchemaError(
                f"Column {name!r} holds values of more than one type, or of a type that no "
                "table has.",
                hint="Turn the column into numbers or into text first.",
            ) from None
        arrays.append(array)
    return _from_arrow(pa.table(arrays, names=names))


def _as_pandas(frame: pl.DataFrame) -> Any:  # noqa: ANN401 - pandas is not imported here
    pandas = sys.modules["pandas"]
    result = frame.to_arrow().to_pandas()
    for column in frame.get_columns():
        if column.dtype.is_integer() and column.null_count():
            nullable = pandas.UInt64Dtype() if column.dtype == pl.UInt64 else pandas.Int64Dtype()
            result[column.name] = pandas.array(column.to_list(), dtype=nullable)
    return result


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    import pyarrow as pa  # noqa: PLC0415 - heavy, and frames of polars don't need it

    batches = table.combine_chunks().to_batches()
    if batches:
        return batches[0]
    empty = [pa.array([], type=field.type) for field in table.schema]
    return pa.record_batch(empty, schema=table.schema)


class _Narwhal:
    """A frame of a library that narwhals knows: the two turns that we need of it."""

    def __init__(self, frame: Any) -> None:  # noqa: ANN401 - narwhals' frame of any library
        import narwhals as nw  # noqa: PLC0415 - only frames of other libraries pay for it

        self.backend = frame.implementation
        self.to_arrow = frame.to_arrow
        self.from_arrow = nw.DataFrame.from_arrow


def _through_narwhals(frame: object) -> _Narwhal | None:
    import narwhals as nw  # noqa: PLC0415 - only frames of other libraries pay for it

    known = nw.from_native(frame, eager_only=True, pass_through=True)
    return _Narwhal(known) if isinstance(known, nw.DataFrame) else None


def library_of(frame: object) -> str:
    """Return the top package of the frame's own class or of one that it is derived from."""
    packages = {base.__module__.partition(".")[0] for base in type(frame).__mro__}
    return next((name for name in ("pandas", "pyarrow") if name in packages), "")


def _not_a_frame(got: object) -> DataError:
    return DataError(
        f"The table must be a frame of polars, pandas or pyarrow. Got a {type(got).__name__}.",
        hint="Turn it into a DataFrame with named columns first.",
    )


def _turning() -> AbstractContextManager[None]:
    return foreign(
        "The frame can't be turned into a table",
        hint="Check that each column holds values of one type.",
        also=(pl.exceptions.PanicException,),
    )
