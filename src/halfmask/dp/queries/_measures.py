"""Measures: whole units of a grid that a question adds up in each group, and their sensitivity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Literal, Self

import polars as pl

from halfmask._errors import ParameterError, SchemaError
from halfmask._validation import number_between
from halfmask.dp.ledger import PrivacyUnit

if TYPE_CHECKING:
    from collections.abc import Mapping

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

    @property
    def shift(self) -> int:
        """What is taken off the square of a distance, so that both signs are as large."""
        return self.radius**2 // 2

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


#: The part of a quantile's epsilon for the quantile itself; the rest is for its interval.
_OF_QUANTILE: Final = 0.5


@dataclass(frozen=True)
class Measure:
    """A sum over the rows of a group: of ones, or of a column's values in units of a grid."""

    kind: str
    column: str | None = None
    grid: NumericGrid | None = None

    @property
    def name(self) -> str:
        """The kind, as a release states it."""
        return self.kind

    @property
    def weight(self) -> float:
        """The part of a share of epsilon: missing cells are in the vector of values."""
        return 0.0 if self.kind == "missing" else 1.0

    @property
    def largest(self) -> int:
        """The most that one row adds, in units."""
        if self.grid is None:
            return 1
        if self.kind == "squares":
            return max(self.grid.shift, self.grid.radius**2 - self.grid.shift)
        return self.grid.radius if self.kind == "centred" else self.grid.largest

    def l1(self, unit: PrivacyUnit, *, grouped: bool) -> int:
        """Return the L1 sensitivity over all groups."""
        return self._of_person(unit).l1(self.largest, grouped=grouped)

    def l2(self, unit: PrivacyUnit, *, grouped: bool) -> float:
        """Return the L2 sensitivity over all groups."""
        return self._of_person(unit).l2(self.largest, grouped=grouped)

    def of_row(self, dtypes: Mapping[str, pl.DataType]) -> pl.Expr:
        """Return what a row adds, for polars; missing if it adds nothing."""
        if self.column is None:
            return pl.lit(1, pl.Int64)
        if self.grid is None:
            is_missing = present(self.column, dtypes[self.column]).is_null()
            return (is_missing if self.kind == "missing" else ~is_missing).cast(pl.Int64)
        units = self.grid.units_of(self.column, dtypes[self.column])
        if self.kind not in {"centred", "squares"}:
            return units
        centred = units - self.grid.middle
        return centred if self.kind == "centred" else centred * centred - self.grid.shift

    def _of_person(self, unit: PrivacyUnit) -> PrivacyUnit:
        return unit


@dataclass(frozen=True, kw_only=True)
class DistinctValues(Measure):
    """The number of different values, which no row adds to alone."""

    kind: str = "distinct"
    column: str

    def _of_person(self, unit: PrivacyUnit) -> PrivacyUnit:
        """Return the unit; a person adds one value only to the number of different persons."""
        if self.column == unit.person:
            return PrivacyUnit(person=unit.person, max_groups=unit.max_groups)
        return unit


@dataclass(frozen=True, kw_only=True)
class QuantileChoice(Measure):
    """The choice of a value by its rank, or of an end of its interval: nothing is added up."""

    kind: str = "quantile"
    grid: NumericGrid
    at: Fraction
    end: Literal["low", "high"] | None

    @property
    def name(self) -> str:
        """The kind, and which end of an interval it is."""
        return self.kind if self.end is None else f"{self.kind}-{self.end}"

    @property
    def weight(self) -> float:
        """The part of a share of epsilon: a quantile with its interval takes one."""
        return _OF_QUANTILE if self.end is None else (1 - _OF_QUANTILE) / 2

    @property
    def largest(self) -> int:
        """The most by which one row changes a score."""
        return max(self.at.numerator, self.at.denominator - self.at.numerator)


def present(column: str, dtype: pl.DataType) -> pl.Expr:
    """Return a column with NaN as a missing value: neither counts."""
    return pl.col(column).fill_nan(None) if dtype.is_float() else pl.col(column)
