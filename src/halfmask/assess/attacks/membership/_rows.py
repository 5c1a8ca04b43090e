"""Take and join rows, whichever library holds them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from halfmask._foreign import foreign

if TYPE_CHECKING:
    from numpy.typing import NDArray

_CODED = (pl.Categorical, pl.Enum)


def taken(rows: Any, places: NDArray[np.int64]) -> Any:  # noqa: ANN401 # a frame or an array
    """Return the rows at these places, in this order: an array, a polars or a pandas frame."""
    if hasattr(rows, "iloc"):
        return rows.iloc[places]
    if isinstance(rows, pl.DataFrame | pl.Series):
        return rows[places]
    return np.asarray(rows)[places]


def joined(first: Any, second: Any) -> Any:  # noqa: ANN401 # frames or arrays
    """Return the rows of both, one below the other, as the kind that they are.

    A column of two types gets the wider one, such as float for whole numbers and fractions.
    """
    with foreign("The rows of members and non-members couldn't be joined"):
        if isinstance(first, pl.DataFrame):
            return pl.concat(_of_one_type(first, second), how="vertical_relaxed")
        library = type(first).__module__.partition(".")[0]
        if library in {"polars", "pandas"}:  # the caller has loaded it
            both = importlib.import_module(library).concat([first, second])
            return both.reset_index(drop=True) if library == "pandas" else both
        return np.concatenate([np.asarray(first), np.asarray(second)])


def _of_one_type(first: pl.DataFrame, second: pl.DataFrame) -> list[pl.DataFrame]:
    """Return both with columns without a value as the other's, and with coded texts as texts."""
    casts: tuple[dict[str, pl.DataType], ...] = ({}, {})
    for name, one in first.schema.items():
        other = second.schema[name]
        if one == other:
            continue
        if first[name].null_count() == first.height:
            casts[0][name] = other
        elif second[name].null_count() == second.height:
            casts[1][name] = one
        elif one in _CODED or other in _CODED:
            casts[0][name] = casts[1][name] = pl.String()
    return [
        frame.with_columns(pl.col(name).cast(dtype) for name, dtype in wanted.items())
        for frame, wanted in zip((first, second), casts, strict=True)
    ]
