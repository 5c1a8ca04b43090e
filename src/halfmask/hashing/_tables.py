"""Frames of any library as Arrow columns, which is what is hashed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from halfmask._errors import DataError, SchemaError
from halfmask._foreign import foreign
from halfmask.data.arrow_types import refuse_foreign_types
from halfmask.data.frames import check_names


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
                    f"Column {name!r} is too long to be hashed at once.",
                    hint="Hash it in batches.",
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
