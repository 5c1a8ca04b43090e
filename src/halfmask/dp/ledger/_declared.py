"""Bounds and keys that are declared from general knowledge, checked before anything is paid for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import polars as pl

from halfmask._errors import ParameterError
from halfmask._validation import number_between

#: Sums of 2**31 squares of such numbers, with noise, are finite.
_FARTHEST: Final = 1e100


def checked_bounds(column: str, bounds: object) -> tuple[float, float]:
    """Return bounds as a tuple.

    Parameters
    ----------
    column
        The column's name, for the error.
    bounds
        What has to be two finite numbers in order.

    Raises
    ------
    ParameterError
        If it is anything else.
    """
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ParameterError(
            f"The bounds of {column!r} must be two numbers, the least and the greatest value."
        )
    low, high = bounds
    number_between(-_FARTHEST, _FARTHEST, owner=f"the bounds of {column!r}", low=low, high=high)
    if 0 < high - low < 1 / _FARTHEST:
        raise ParameterError(f"The bounds of {column!r} must be at least {1 / _FARTHEST:g} apart.")
    if low >= high:
        raise ParameterError(
            f"The lower bound of {column!r} must be below the upper one.",
            hint="Declare bounds from general knowledge, not from the data.",
        )
    return low, high


def check_declared(
    dtypes: Mapping[str, pl.DataType],
    bounds: Mapping[str, tuple[float, float]],
    keys: Mapping[str, Sequence[Any]],
) -> None:
    """Raise unless bounds and keys can be those of their columns: a budget is set once."""
    for column, ends in bounds.items():
        checked_bounds(column, ends)
        dtype = dtypes.get(column)
        if dtype is not None and not (dtype.is_numeric() or dtype == pl.Boolean):
            raise ParameterError(f"The column {column!r} has bounds, and holds no numbers.")
    for column, listed in keys.items():
        if not listed or len(set(listed)) < len(listed):
            raise ParameterError(
                f"The keys of {column!r} must be a list of at least one, each there once."
            )
