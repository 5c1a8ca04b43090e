"""Rewritten rows: columns replaced in the caller's own library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask.data import like, to_polars

if TYPE_CHECKING:
    from collections.abc import Mapping


def rewritten(X: Any, written: Mapping[int, Any]) -> Any:  # noqa: ANN401 # any table
    """Return a copy of rows with some columns replaced."""
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
