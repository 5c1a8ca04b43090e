"""Rows on their way in and out of the minimizer, in the caller's own library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from halfmask._errors import ParameterError
from halfmask.anonymize._anonymizer import _series
from halfmask.data import like, to_polars

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["as_table", "rewritten"]


def as_table(array: NDArray[Any]) -> pl.DataFrame:
    """Return an array's columns as a table, called x0, x1, ...; NaN is missing."""
    if array.dtype.kind in "cV":
        raise ParameterError("Complex data not supported.")
    columns = [_series(f"x{j}", array[:, j]) for j in range(array.shape[1])]
    return pl.DataFrame(columns).with_columns(pl.selectors.float().fill_nan(None))


def rewritten(X: Any, written: Mapping[int, Any]) -> Any:  # noqa: ANN401 # any table
    """Return a copy of rows with some columns written anew."""
    if isinstance(X, np.ndarray):
        result = X.copy()
        for j, values in written.items():
            result[:, j] = values
        return result
    if hasattr(X, "iloc"):
        result = X.copy()
        for j, values in written.items():
            values.index = result.index
            result.isetitem(j, values)
        return result
    table = to_polars(X)
    names = table.columns
    return like(table.with_columns([v.alias(names[j]) for j, v in written.items()]), X)
