"""Whole numbers and decimals as whole numbers of a small unit: no digit is lost."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final

import polars as pl
from polars.exceptions import InvalidOperationError

from halfmask._errors import DataError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterable

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
