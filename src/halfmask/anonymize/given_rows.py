"""What callers give to estimators: rows of any library, and which column is meant."""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from sklearn.utils.validation import validate_data

from halfmask._errors import ParameterError
from halfmask.data import to_polars
from halfmask.data.arrays import is_missing, table_like, unmasked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


#: What polars makes columns of, though nobody's age or town is one.
NO_CELLS = (pl.List, pl.Array, pl.Struct, pl.Object, pl.Binary)


def read(estimator: Any, X: Any, *, reset: bool, least: int = 1) -> tuple[Any, pl.DataFrame]:  # noqa: ANN401
    """Return rows of any kind unchanged, and as polars."""
    X = collected(X)
    if is_frame(X):
        table = to_polars(X)  # first: it says what is wrong with names in our words
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        if table.height < least:
            raise ParameterError(f"Found {table.height} rows. At least {least} are required.")
        return X, table
    array = validate_data(
        estimator,
        table_like(X),
        reset=reset,
        dtype=None,
        ensure_all_finite="allow-nan",
        ensure_min_samples=least,
    )
    return array, columns_of_array(array)


def columns_of_array(array: NDArray[Any]) -> pl.DataFrame:
    """Return an array's columns as a table, called x0, x1, ...; NaN is missing."""
    columns = [_series(f"x{j}", array[:, j]) for j in range(array.shape[1])]
    return pl.DataFrame(columns).with_columns(pl.selectors.float().fill_nan(None))


def collected(rows: Any) -> Any:  # noqa: ANN401 # any table
    """Return rows that are there: those of a lazy frame, or of a stream of Arrow, are read."""
    if isinstance(rows, pl.LazyFrame):
        return rows.collect()
    if hasattr(rows, "to_frame") and not hasattr(rows, "columns"):
        return np.asarray(rows)  # a Series is no table, though it is a stream of Arrow
    # a stream can be read once only
    once = hasattr(rows, "__arrow_c_stream__") and not hasattr(rows, "__len__")
    return to_polars(rows) if once else rows


def is_frame(X: Any) -> bool:  # noqa: ANN401 # the same
    """Tell whether rows are a frame of some library, which names its columns."""
    if isinstance(X, pl.LazyFrame):
        return True  # asked for its columns it warns
    return hasattr(X, "__arrow_c_stream__") or hasattr(X, "__dataframe__") or hasattr(X, "columns")


def as_array(y: Any) -> NDArray[np.generic]:  # noqa: ANN401 # a column of any library, or a list
    """Return labels of any kind as an array."""
    turned = hasattr(y, "__array__") or not hasattr(y, "to_numpy")
    return np.asarray(unmasked(y, name="y")) if turned else y.to_numpy()


def _series(name: str, values: NDArray[Any]) -> pl.Series:
    if values.dtype.kind == "f" and values.dtype.itemsize > 8:
        values = values.astype(np.float64)  # longer ones polars doesn't have
    if values.dtype.kind != "O":
        return pl.Series(name, values)
    cells = [None if is_missing(cell) else cell for cell in values]
    known = [cell for cell in cells if cell is not None]
    whole = known and all(isinstance(cell, Integral) for cell in known)
    numbers = all(isinstance(cell, Real) for cell in known)
    try:
        # without a type polars goes by the first cell: no fraction after a whole number
        column = pl.Series(name, cells, dtype=pl.Float64 if numbers and not whole else None)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        column = None  # its message shows a cell
    if column is None or isinstance(column.dtype, NO_CELLS):
        raise TypeError(
            f"Column {name!r}: each argument must be a string or a number. Got both, or neither."
        )
    return column


def named(column: str | int, names: Sequence[str]) -> str:
    """Return the name of a column that is given by its name or its position.

    Examples
    --------
    >>> named(1, ["age", "sex"])
    'sex'
    >>> named("1", ["2", "1", "0"])
    '1'
    """
    if isinstance(column, str):
        return column
    at = names[int(column)] if 0 <= int(column) < len(names) else str(column)
    if str(column) in names and at != str(column):
        raise ParameterError(
            f"Column {column} is the name of one column and the position of another.",
            hint=f"Give its name as text, {str(column)!r}, or give all columns names.",
        )
    return at
