"""What masks of numbers have in common: which columns they take, and what is beyond them."""

from __future__ import annotations

import sys
from decimal import Decimal
from typing import TYPE_CHECKING, Final, TypeGuard

import numpy as np
import polars as pl
from polars.exceptions import InvalidOperationError

from halfmask._errors import DataError, ParameterError, SchemaError
from halfmask._validation import shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray


#: Beyond it floats don't tell whole numbers apart.
EXACT: Final = 2.0**53
_MOST_DECIMALS: Final = 9
#: The hint of masks that aren't for the type of their column.
DECLARE_TYPE: Final = "[[Cast the column, or read it with dtypes|Declare its type under [input]]]"


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a parameter is a number that a float can hold: truth values are none."""
    if isinstance(value, int):
        return not isinstance(value, bool) and abs(value) <= sys.float_info.max
    return isinstance(value, float | np.integer | np.floating)


def check_numeric(column: str, dtype: pl.DataType, *, mask: str, decimals: bool = False) -> None:
    """Raise unless a column holds integers or floats, or decimals where the mask is for them."""
    if dtype.is_integer() or dtype.is_float() or (decimals and dtype.is_decimal()):
        return
    if dtype.is_decimal():
        raise SchemaError(
            f"Column {column!r} has the mask {mask!r}, which is for integers and floats. "
            f"Got the type {dtype.base_type().__name__}.",
            hint="Cast the column to Float64, or choose the mask 'round' or 'tails'.",
        )
    raise SchemaError(
        f"Column {column!r} has the mask {mask!r}, which is for numbers. "
        f"Got the type {dtype.base_type().__name__}.",
        hint=f"{DECLARE_TYPE}, or choose another mask.",
    )


def check_size(*, mask: str, **named: object) -> None:
    """Raise unless a base or scale is above 0, and small enough for exact whole numbers."""
    for name, value in named.items():
        if not (is_number(value) and 0 < value < EXACT):
            raise ParameterError(
                f"The {name!r} of the mask {mask!r} must be a number above 0 and below 2**53. "
                f"Got {shown(value)}."
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


def may_overflow() -> np.errstate:
    """Return a context for numbers that may become infinite, and are then refused in words."""
    return np.errstate(over="ignore", invalid="ignore")


def as_column(numbers: NDArray[np.float64], *, name: str, dtype: pl.DataType) -> pl.Series:
    """Return numbers as a column; missing where NaN."""
    return pl.Series(name, numbers).fill_nan(None).cast(dtype)


def check_decimals(decimals: int, *, mask: str) -> None:
    """Raise unless a number of digits behind the point is 0 to 9."""
    if not is_number(decimals) or decimals not in range(_MOST_DECIMALS + 1):
        raise ParameterError(
            f"The 'decimals' of the mask {mask!r} must be a whole number from 0 to "
            f"{_MOST_DECIMALS}. Got {shown(decimals)}."
        )


def rounded_to(
    numbers: NDArray[np.float64], decimals: int, *, column: str, mask: str
) -> NDArray[np.float64]:
    """Return numbers with so many digits behind the point, for a column and its mask."""
    with may_overflow():
        units = np.abs(numbers) * 10.0**decimals
    if (units >= EXACT).any():
        raise DataError(
            f"Column {column!r} has numbers that its mask {mask!r} can't write with {decimals} "
            "decimals.",
            hint="Choose fewer decimals, or bounds.",
        )
    return np.round(numbers, decimals) + 0.0  # no -0.0


#: Digits of a unit's count: twice of it fits into 128 bits.
_MOST_DIGITS: Final = 37
_MOST_PLACES: Final = 18


def places_of(number: float | Decimal) -> int:
    """Return how many digits behind the point a number has, written in decimals.

    Examples
    --------
    >>> places_of(0.05), places_of(1000.0)
    (2, 0)
    """
    exponent = Decimal(str(number)).normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def exact_type(
    column: str, dtype: pl.DataType, values: Iterable[float], *, mask: str
) -> pl.DataType:
    """Return the type that holds a column's numbers and those of its mask, digit by digit."""
    places = max(map(places_of, values), default=0)
    if not isinstance(dtype, pl.Decimal):
        return pl.Int64() if dtype.is_integer() and not places else pl.Float64()
    scale = max(dtype.scale, places)
    if scale > _MOST_PLACES:
        raise SchemaError(
            f"Column {column!r} and its mask {mask!r} have {scale} digits behind the point. "
            f"Decimals may have {_MOST_PLACES}.",
            hint="Write the numbers with fewer digits.",
        )
    return pl.Decimal(_MOST_DIGITS + 1, scale)


def units_of(number: float | Decimal, dtype: pl.DataType) -> int:
    """Return a number in the last places of a type, cut at the largest that there may be.

    Examples
    --------
    >>> units_of(0.05, pl.Decimal(38, 3)), units_of(7.0, pl.Int64())
    (50, 7)
    """
    most: int = 10**_MOST_DIGITS
    return max(-most, min(most, int(Decimal(str(number)).scaleb(_scale(dtype)))))


def to_units(column: pl.Series, dtype: pl.DataType, *, mask: str, room: int = 0) -> pl.Series:
    """Return a column as 128-bit whole numbers of the last place of a type."""
    factor = 10 ** (_scale(dtype) - _scale(column.dtype))
    physical = column.to_physical().cast(pl.Int128)
    most = max(
        (abs(it) for it in (physical.min(), physical.max()) if isinstance(it, int)), default=0
    )
    if most * factor + room > 10**_MOST_DIGITS:
        raise _too_large(column.name, mask)
    return physical * pl.Series([factor], dtype=pl.Int128)


def from_units(units: pl.Series, dtype: pl.DataType, *, mask: str) -> pl.Series:
    """Return counts of the last place of a type as a column of it."""
    if isinstance(dtype, pl.Decimal):
        import pyarrow as pa  # noqa: PLC0415 # half a second, and only decimals need it

        whole = units.cast(pl.Decimal(_MOST_DIGITS + 1, 0)).to_arrow()
        kind = pa.decimal128(_MOST_DIGITS + 1, dtype.scale)
        # The same integers, with the point elsewhere: a cast would multiply them.
        moved = pa.Array.from_buffers(
            kind, len(whole), whole.buffers(), whole.null_count, whole.offset
        )
        return pl.Series(units.name, moved)
    try:
        return units.cast(dtype)
    except InvalidOperationError:
        raise _too_large(units.name, mask) from None


def _scale(dtype: pl.DataType) -> int:
    return dtype.scale if isinstance(dtype, pl.Decimal) else 0


def _too_large(column: str, mask: str) -> DataError:
    return DataError(
        f"Column {column!r} has numbers of too many digits for its mask {mask!r}.",
        hint="Code the tails, or read the column as text and give it the mask 'token'.",
    )
