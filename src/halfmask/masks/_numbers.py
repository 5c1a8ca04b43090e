"""What masks of numbers have in common: which columns they take, and what is beyond them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from halfmask._errors import DataError, ParameterError, SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Beyond it floats don't tell whole numbers apart.
EXACT: Final = 2.0**53
_MOST_DECIMALS: Final = 9


def is_number(value: object) -> bool:
    """Return whether a parameter is a number: truth values and texts are none."""
    is_one = isinstance(value, int | float | np.integer | np.floating)
    return is_one and not isinstance(value, bool)


def check_numeric(column: str, dtype: pl.DataType, *, mask: str, decimals: bool = False) -> None:
    """Raise unless a column holds integers or floats, or decimals where the mask is for them."""
    if dtype.is_integer() or dtype.is_float() or (decimals and dtype.is_decimal()):
        return
    if dtype.is_decimal():
        raise SchemaError(
            f"Column {column!r} has the mask {mask!r}, which is for integers and floats. "
            f"Got the type {dtype}.",
            hint="Cast the column to Float64, or choose the mask 'round' or 'tails'.",
        )
    raise SchemaError(
        f"Column {column!r} has the mask {mask!r}, which is for numbers. Got the type {dtype}.",
        hint="Declare its type under [input], or choose another mask.",
    )


def check_bounds(low: float | None, high: float | None, *, mask: str) -> None:
    """Raise unless the given bounds are finite, floats hold them, and low is below high."""
    given = [it for it in (low, high) if it is not None]
    if not all(is_number(it) and np.isfinite(it) for it in given):
        raise ParameterError(f"The bounds of the mask {mask!r} must be finite numbers.")
    if any(float(it) != it for it in given):
        raise ParameterError(
            f"A bound of the mask {mask!r} has more digits than a float64 holds.",
            hint="Choose a whole number below 2**53.",
        )
    if low is not None and high is not None and not low < high:
        raise ParameterError(f"The 'low' of the mask {mask!r} must be below its 'high'.")


def floats(column: pl.Series, *, mask: str) -> NDArray[np.float64]:
    """Return a column's numbers; NaN where missing."""
    numbers = column.cast(pl.Float64).to_numpy()
    if np.isinf(numbers).any():
        raise DataError(
            f"Column {column.name!r} has infinite numbers, which the mask {mask!r} would show.",
            hint="Make them missing, or leave these rows out.",
        )
    if column.dtype.is_integer() and (np.abs(numbers) >= EXACT).any():
        raise DataError(
            f"Column {column.name!r} has whole numbers beyond 2**53, which the mask {mask!r} "
            "can't treat exactly.",
            hint="Read the column as text, in a policy by dtypes of [input], and give it the mask "
            "'token'.",
        )
    return numbers


def as_column(numbers: NDArray[np.float64], *, name: str, dtype: pl.DataType) -> pl.Series:
    """Return numbers as a column; missing where NaN."""
    return pl.Series(name, numbers).fill_nan(None).cast(dtype)


def check_decimals(decimals: int, *, mask: str) -> None:
    """Raise unless a number of digits behind the point is 0 to 9."""
    if isinstance(decimals, bool) or decimals not in range(_MOST_DECIMALS + 1):
        raise ParameterError(
            f"The 'decimals' of the mask {mask!r} must be 0 to {_MOST_DECIMALS}. Got {decimals}."
        )


def rounded_to(
    numbers: NDArray[np.float64], decimals: int, *, column: str, mask: str
) -> NDArray[np.float64]:
    """Return numbers with so many digits behind the point, for a column and its mask."""
    if (np.abs(numbers) * 10.0**decimals >= EXACT).any():
        raise DataError(
            f"Column {column!r} has numbers that its mask {mask!r} can't write with {decimals} "
            "decimals.",
            hint="Choose fewer decimals, or bounds.",
        )
    return np.round(numbers, decimals) + 0.0  # no -0.0
