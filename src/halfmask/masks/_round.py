"""Rounding: the nearest multiple of a base, or the nearest number of so many digits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
import polars as pl

from halfmask._errors import DataError, ParameterError
from halfmask.masks._checked_mask import CheckedMask
from halfmask.masks._mask import counted_claim
from halfmask.masks._numbers import (
    EXACT,
    as_column,
    check_numeric,
    check_size,
    exact_type,
    floats,
    from_units,
    may_overflow,
    places_of,
    to_units,
    units_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.claims import Claim
    from halfmask.masks._mask import ReadColumns
    from halfmask.masks._value_counts import ValueCounts

#: Powers of ten that a float64 holds exactly.
_EXACT_POWERS: Final = 22
#: What rounding of whole numbers to digits may add, in units.
_ROOM_DIGITS: Final = 36
_ROOM: Final = 10**_ROOM_DIGITS


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounding(CheckedMask):
    """Write the nearest multiple of a base, or keep the leading digits.

    Parameters
    ----------
    base
        Above 0, such as 1000 or 0.5.
    digits
        In its place: how many significant digits are kept, 1 to 15.

    Raises
    ------
    ParameterError
        If not exactly one of them is given, the base isn't a number above 0, or the digits aren't 1
        to 15.

    Notes
    -----
    **Guarantees.** With a base, the written number differs from the original by at most half of the
    base; with digits, by at most half of the last digit that is kept. Equal numbers stay equal. A
    number half-way is rounded to the even multiple or digit, so that sums have no bias.

    **Edge cases.** Integers with an integer base are rounded exactly and become Int64. Decimals
    stay decimals with any base, and so do integers and decimals with digits. Float32 becomes
    Float64. Floats of more than 2**53 bases are refused. Rare large numbers stay rare: code the
    tails as well (`TailCoding`). Digits keep small numbers small: 0.0123 stays near, where a base
    would write 0.

    Examples
    --------
    >>> plan = Rounding(base=10).fit("age", pl.Int64(), None, bytes(32))
    >>> plan.apply(pl.Series("age", [14, 15, 25, None]), 0).to_list()
    [10, 20, 20, None]
    >>> plan = Rounding(digits=2).fit("pay", pl.Float64(), None, bytes(32))
    >>> plan.apply(pl.Series("pay", [0.01234, 98765.0, None]), 0).to_list()
    [0.012, 99000.0, None]
    """

    name: ClassVar[str] = "round"
    coarsens: ClassVar[bool] = True
    is_matchable: ClassVar[bool] = True
    needs_counts: ClassVar[bool] = False
    weaknesses: ClassVar[tuple[str, ...]] = ("order-leaking", "outlier-visible")

    base: float | None = None
    digits: int | None = field(default=None, metadata={"ge": 1, "le": 15})

    def _check_together(self) -> None:
        if (self.base is None) == (self.digits is None):
            raise ParameterError("The mask 'round' has either a 'base' or 'digits'.")
        if self.base is not None:
            check_size(mask=self.name, base=self.base)

    def claims(self, columns: Sequence[str], read: ReadColumns) -> list[Claim]:
        """Return the claim that numbers are multiples of the base; see `ClaimingMask`."""
        return [] if self.base is None else [counted_claim("multiples", columns, base=self.base)]

    def written(self, column: str, dtype: pl.DataType) -> pl.DataType:
        """Return Int64 for whole numbers and a whole base, a decimal for decimals."""
        check_numeric(column, dtype, mask=self.name, decimals=True)
        return exact_type(column, dtype, [] if self.base is None else [self.base], mask=self.name)

    def fit(
        self, column: str, dtype: pl.DataType, counts: ValueCounts | None, key: bytes
    ) -> _Rounded:
        """Return the plan: it needs nothing of the column but its type; see `Mask`."""
        return _Rounded(self, self.written(column, dtype))


@dataclass(frozen=True, slots=True)
class _Rounded:
    mask: Rounding
    dtype: pl.DataType

    def apply(self, column: pl.Series, first_row: int) -> pl.Series:
        base, digits = self.mask.base, self.mask.digits
        if self.dtype.is_float():
            found = self._leading(column) if base is None else self._multiples(column, base)
            # -0.0 tells of a sign
            return as_column(found + 0.0, name=column.name, dtype=self.dtype)
        if base is not None:
            units = units_of(base, self.dtype)
            cells = to_units(column, self.dtype, mask=self.mask.name, room=units)
            one = pl.lit(units, dtype=pl.Int128)
        else:
            cells = to_units(column, self.dtype, mask=self.mask.name, room=_ROOM)
            one = pl.lit(_last_digits(cells, digits or 1))
        return from_units(_to_even(cells, one), self.dtype, mask=self.mask.name)

    def _multiples(self, column: pl.Series, base: float) -> NDArray[np.float64]:
        with may_overflow():
            multiples = np.rint(floats(column, mask=self.mask.name) / base)
        if (np.abs(multiples) >= EXACT).any():
            raise DataError(
                f"Column {column.name!r} has numbers of more than 2**53 times the base of its mask "
                "'round'.",
                hint="Choose a larger base.",
            )
        # 3 * 0.1 is 0.30000000000000004: the digits of the base are those of its multiples.
        return np.round(multiples * base, places_of(base))

    def _leading(self, column: pl.Series) -> NDArray[np.float64]:
        numbers = floats(column, mask=self.mask.name)
        found = np.array(numbers)  # NaN and 0 stay
        there = np.isfinite(numbers) & (numbers != 0)
        found[there] = _leading_digits(numbers[there], self.mask.digits or 1)
        if np.isinf(found).any():
            raise DataError(
                f"Column {column.name!r} has numbers that its mask 'round' would round up beyond "
                "the largest float.",
                hint="Code the tails, or keep more digits.",
            )
        return found


def _to_even(cells: pl.Series, one: pl.Expr) -> pl.Series:
    """Return the nearest multiples of whole numbers, the even ones half-way."""
    cell, base, two = pl.col("cell"), pl.col("one"), pl.lit(2, dtype=pl.Int128)
    below = cell // base
    twice = (cell - below * base) * two
    odd = below != below // two * two
    above = (twice > base) | ((twice == base) & odd)
    frame = cells.alias("cell").to_frame().with_columns(one=one)
    return frame.select((below + above.cast(pl.Int128)) * base).to_series().alias(cells.name)


def _last_digits(cells: pl.Series, digits: int) -> pl.Series:
    """Return for each whole number what its last kept digit counts: 100 for 12345 and 3 digits."""
    powers = pl.Series([10**i for i in range(_ROOM_DIGITS + 2)], dtype=pl.Int128)
    length = cells.abs().cast(pl.String).str.len_bytes().cast(pl.Int64)
    return powers.gather((length - digits).clip(lower_bound=0))


def _leading_digits(numbers: NDArray[np.float64], digits: int) -> NDArray[np.float64]:
    """Round floats other than 0 to significant digits."""
    places = digits - 1 - np.floor(np.log10(np.abs(numbers))).astype(np.int64)
    plain = np.abs(places) <= _EXACT_POWERS
    # A power of ten up to the 22nd is a float, so that scaling rounds once.
    power = 10.0 ** np.where(plain, np.abs(places), 0)
    kept = np.where(places >= 0, np.rint(numbers * power), np.rint(numbers / power))
    found: NDArray[np.float64] = np.where(places >= 0, kept / power, kept * power)
    for i in np.flatnonzero(~plain | ~np.isfinite(found)):
        found[i] = float(f"{numbers[i]:.{digits - 1}e}")
    return found
