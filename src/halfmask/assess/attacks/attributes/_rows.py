"""Rows of any kind: polars and pandas frames, and arrays, with one column changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from halfmask._foreign import foreign

if TYPE_CHECKING:
    from numpy.typing import NDArray


def column_names(rows: Any) -> list[str | int]:  # noqa: ANN401 # a frame or an array
    """Return the names of a frame's columns, the numbers of an array's."""
    return list(getattr(rows, "columns", range(np.shape(rows)[1])))


def column_of(rows: Any, column: str | int) -> NDArray[Any]:  # noqa: ANN401 # the same
    """Return the values of one column; text and missing values as objects."""
    if isinstance(rows, pl.DataFrame):
        return rows[str(column)].to_numpy()
    if hasattr(rows, "iloc"):
        return np.asarray(rows[column])
    return np.asarray(np.asarray(rows)[:, int(column)])


def taken(rows: Any, places: NDArray[np.int64]) -> Any:  # noqa: ANN401 # the same
    """Return some rows, in the order of their places."""
    if isinstance(rows, pl.DataFrame):
        return rows[places]
    return rows.iloc[places] if hasattr(rows, "iloc") else np.asarray(rows)[places]


def with_column(rows: Any, column: str | int, value: Any) -> Any:  # noqa: ANN401 # the same
    """Return the rows with the same value in all of one column, which keeps its type."""
    with foreign(f"Column {column!r} of some people can't hold a value of others"):
        return _changed(rows, column, value)


def _changed(rows: Any, column: str | int, value: Any) -> Any:  # noqa: ANN401 # the same
    if isinstance(rows, pl.DataFrame):
        dtype = rows.schema[str(column)]
        return rows.with_columns(pl.lit(_cell(value)).cast(dtype).alias(str(column)))
    if hasattr(rows, "iloc"):
        changed = rows.copy()
        changed[column] = np.full(len(rows), _held(value, rows[column].dtype))
        # Plain whole numbers can't be missing: a column with missing ones keeps the wider type.
        if isinstance(rows[column].dtype, np.dtype) and _widens(value, rows[column].dtype):
            return changed
        return changed.astype({column: rows[column].dtype})
    array = np.array(rows)
    if _widens(value, array.dtype):
        array = array.astype(np.float64)
    array[:, int(column)] = value
    return array


def _widens(value: Any, dtype: Any) -> bool:  # noqa: ANN401 # a value, and a type of any library
    """Return whether a value is a missing number, and the type is of whole numbers."""
    is_number = isinstance(value, float | np.floating)
    return is_number and bool(np.isnan(value)) and getattr(dtype, "kind", "O") in "iu"


def _held(value: Any, dtype: Any) -> Any:  # noqa: ANN401 # the same
    """Return the middle of whole numbers as one of them, where the column holds such."""
    whole = getattr(dtype, "kind", "O") in "iu" and isinstance(value, float | np.floating)
    return int(value) if whole and np.isfinite(value) else value


def _cell(value: Any) -> Any:  # noqa: ANN401 # a value of a column
    """Return what polars knows for a value of an array: a Python object, None if it is missing.

    An array of whole numbers or dates has NaN or NaT where a column of polars has nulls.
    """
    if isinstance(value, float | np.floating) and np.isnan(value):
        return None
    if isinstance(value, np.datetime64 | np.timedelta64) and np.isnat(value):
        return None
    return value.item() if isinstance(value, np.generic) else value
