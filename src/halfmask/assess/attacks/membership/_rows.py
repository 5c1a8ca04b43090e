"""Take and join rows, whichever library holds them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["joined", "taken"]


def taken(rows: Any, places: NDArray[np.int64]) -> Any:  # noqa: ANN401 # a frame or an array
    """Return the rows at these places, in this order: an array, a polars or a pandas frame."""
    if hasattr(rows, "iloc"):
        return rows.iloc[places]
    if _library(rows) == "polars":
        return rows[places]
    return np.asarray(rows)[places]


def joined(first: Any, second: Any) -> Any:  # noqa: ANN401 # frames or arrays
    """Return the rows of both, one below the other, as the kind that they are."""
    library = _library(first)
    if library == "polars":
        return importlib.import_module(library).concat([first, second])
    if library == "pandas":  # loaded by whoever made the frame, never by us
        return importlib.import_module(library).concat([first, second]).reset_index(drop=True)
    return np.concatenate([np.asarray(first), np.asarray(second)])


def _library(rows: object) -> str:
    return type(rows).__module__.partition(".")[0]
