"""Some of the rows of a table, of whatever kind it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["taken"]


def taken(rows: Any, places: NDArray[np.int64]) -> Any:  # noqa: ANN401 # any table
    """Return the rows at these places: of pandas by position, of polars and arrays by index."""
    if hasattr(rows, "iloc"):
        return rows.iloc[places]
    if hasattr(rows, "take") and hasattr(rows, "schema") and not hasattr(rows, "lazy"):
        return rows.take(places)
    return rows[places] if hasattr(rows, "shape") else np.asarray(rows)[places]
