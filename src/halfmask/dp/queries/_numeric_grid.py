"""A grid of numbers: values become whole units of it, so that sums of them are exact."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Self

import polars as pl

from halfmask._errors import ParameterError, SchemaError
from halfmask._validation import number_between

#: A sum of 2**31 rows of at most so many units fits into 64 bits.
_MOST_UNITS: Final = 1 << 31
#: Steps between the bounds of a column with fractions, unless a grid is declared.
_STEPS: Final = 1 << 15


@dataclass(frozen=True, slots=True)
class NumericGrid:
    """Bounds and step of a column: each value is clamped, then rounded to a whole unit.

    Notes
    -----
    **Guarantees.** A value's units depend on that value alone and lie between ``low`` and
    ``high``, whatever rounding of floats did before; so sums of units change by at most as much as
    their sensitivity states (Mironov 2012 has what happens otherwise).

    Examples
    --------
    >>> grid = NumericGrid.of("hours", bounds=(0, 99), step=None, dtype=pl.Int64())
    >>> grid.low, grid.high, grid.step, grid.middle
    (0, 99, Fraction(1, 1), 49)
    """

    low: int
    high: int
    step: Fraction

    @classmethod
    def of(
        cls,
        column: str,
        *,
        bounds: tuple[float, float],
        step: float | None,
        dtype: pl.DataType,
        squared: bool = False,
    ) -> Self:
        """Return the grid of a column, or refuse what can't be added up."""
        if not (dtype.is_numeric() or dtype == pl.Boolean):
            raise SchemaError(
                f"The column {column!r} holds no numbers, and a sum, mean or quantile needs them.",
                hint="Count its values, or group by it.",
            )
        low, high = (_fraction(bound) for bound in bounds)
        whole = dtype.is_integer() or dtype == pl.Boolean
        most = math.isqrt(_MOST_UNITS) if squared else _MOST_UNITS
        size = _step(column, high - low, step, whole=whole and high - low <= most)
        units = math.ceil(low / size), math.floor(high / size)
        # Means and variances add up distances from the middle; sums, the values themselves.
        farthest = units[1] - units[0] if squared else max(abs(units[0]), abs(units[1]))
        if farthest > most:
            raise ParameterError(
                f"Values of {column!r} have up to {farthest:,} units, so that their sum could "
                f"overflow; at most {most:,} are allowed.",
                hint="Declare narrower bounds, or a coarser grid.",
            )
        if units[0] >= units[1]:
            raise ParameterError(
                f"No two units of the grid lie between the bounds of {column!r}.",
                hint="Declare a finer grid, or wider bounds.",
            )
        return cls(*units, size)

    @property
    def middle(self) -> int:
        """The unit in the middle of the bounds."""
        return (self.low + self.high) // 2

    @property
    def radius(self) -> int:
        """The most units between the middle and a value."""
        return max(self.high - self.middle, self.middle - self.low)

    @property
    def largest(self) -> int:
        """The largest absolute number of units of a value."""
        return max(abs(self.low), abs(self.high))

    def units_of(self, column: str, dtype: pl.DataType) -> pl.Expr:
        """Return the units of a column's values; missing ones and NaN stay missing."""
        values = pl.col(column)
        if self.step == 1 and dtype.is_signed_integer() and dtype != pl.Int128:
            return values.cast(pl.Int64).clip(self.low, self.high)
        numbers = values.cast(pl.Float64)
        if dtype.is_float():
            numbers = numbers.fill_nan(None)
        # Clamped twice: before, infinities; after, what rounding moved.
        bounded = numbers.clip(self.value_of(self.low), self.value_of(self.high))
        units = (bounded / float(self.step)).round().cast(pl.Int64)
        return units.clip(self.low, self.high)

    def value_of(self, units: float) -> float:
        """Return a number of units as a value."""
        return float(Fraction(units) * self.step)


def _fraction(number: float) -> Fraction:
    """Return the decimal fraction that was written, such as 1/100 for 0.01."""
    return Fraction(repr(float(number)))


def _step(column: str, width: Fraction, step: float | None, *, whole: bool) -> Fraction:
    if step is not None:
        number_between(0, math.inf, owner=f"the grid of {column!r}", low_open=True, grid=step)
        return _fraction(step)
    if whole:
        return Fraction(1)
    return Fraction(2) ** math.ceil(math.log2(width / _STEPS))
