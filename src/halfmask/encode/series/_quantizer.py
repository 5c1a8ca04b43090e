"""A column of values as whole steps of a grid and their rests, and exactly back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from halfmask._errors import SchemaError
from halfmask.encode._ticks import from_ticks, is_ordered, to_ticks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Integers: TypeAlias = NDArray[np.int64]

#: How many steps from the origin a cell is placed at most. Each limit is tried after the one
#: before it; whatever lies further away is in the cell's rest.
LIMITS = (2.0**40, 2.0**34, 2.0**28, 2.0**22)
# The limit of grains of version 0.1, and of whole numbers that a float holds with room to spare.
_FARTHEST = 2.0**45
_MAX_WHOLE = 2.0**52
_MAX_DIGITS = 9
# A decimal grid must hold this share of the different cells; the others have a rest.
_ON_GRID = 0.9
# A typical change is at least 2**20 steps of a grid without decimals, the largest distance 2**40.
_FINE, _FAR = 20, 40
_SPACING = 4
_LEAST, _MOST = -1074, 980
_SIGN = np.int64(2**63 - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantizer:
    """How one column is counted in steps.

    Guarantees
    ----------
    A cell is a place on the grid and a rest, the number of representable values from that place
    to the cell. Together they are exactly the cell, whatever place was chosen.
    """

    name: str
    dtype: pl.DataType
    digits: int
    step: float
    center: float
    origin: float = 0
    spacing: int = 1

    @classmethod
    def of(cls, column: pl.Series) -> Quantizer:
        """Find the grid of a column."""
        if not column.dtype.is_numeric() or not is_ordered(column.dtype):
            raise SchemaError(
                f"Column {column.name!r} holds {column.dtype}, which is no series of numbers.",
                hint="Name the columns of numbers, and encode the others by a Codec.",
            )
        numbers, present = _cells(column)
        values = numbers[present]
        if not len(values):
            raise SchemaError(f"Column {column.name!r} has no value to fit a series to.")
        with np.errstate(over="ignore", invalid="ignore"):
            if column.dtype.is_float():
                floats = values.astype(np.float64)
                digits, step, origin = _decimals(floats) or _binary(floats)
            else:
                middle = np.sort(values)[len(values) // 2]
                exponent = max(0, _exponent(_apart(values, middle), size=1.0))
                digits, step, origin = -2, math.ldexp(1.0, exponent), int(middle)
        return cls(
            name=column.name, dtype=column.dtype, digits=digits, step=step, center=0.0,
            origin=origin, spacing=_SPACING,
        )  # fmt: skip

    @property
    def carries(self) -> bool:
        """Whether most cells have a rest, so that all batches are sent with them."""
        return self.digits == -1 or self.step > 1

    @property
    def zero(self) -> float:
        """The step at which the value 0 lies."""
        unit = 1.0 if self.digits >= 0 else self.step
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.clip(-self.spacing * (self.origin / unit), -1e300, 1e300))

    def split(
        self, column: pl.Series, *, limit: float = LIMITS[0]
    ) -> tuple[Floats, Integers, NDArray[np.bool_]]:
        """Return each cell's step, its rest, and whether it has a value."""
        numbers, present = _cells(column)
        if self.spacing == 1:
            limit = _FARTHEST
        with np.errstate(over="ignore", invalid="ignore"):
            places = np.clip(self._place(numbers), self.center - limit, self.center + limit)
            places = np.where(present, places, self.center)
            rest = np.where(present, _ordered(numbers) - self._ordered_at(places), np.int64(0))
        marked = (rest != 0) if self.spacing > 1 else np.zeros(len(rest), np.bool_)
        return self.spacing * places + marked, rest, present

    def joined(self, steps: Floats, rest: Integers | None, present: NDArray[np.bool_]) -> pl.Series:
        """Return the cells of these steps and rests, missing where they aren't present."""
        places = np.floor(steps / self.spacing)
        marks = np.where(present, steps - self.spacing * places, 0.0)
        wrong = int(((marks > 1) | ((marks == 1) & (rest is None))).sum())
        if wrong:
            raise SchemaError(
                f"Column {self.name!r} has {wrong} encoded cells that encode didn't return.",
                hint="Decode the rows that encode returned, with all columns, as 64-bit floats.",
            )
        with np.errstate(over="ignore", invalid="ignore"):
            ordered = self._ordered_at(np.where(present, places, self.center))
        if rest is not None:
            ordered = ordered + np.where(present, rest, np.int64(0))
        ordered = np.where(present, ordered, np.int64(0))
        if self.digits > -2:
            ordered = _bits(ordered).view(np.float64)
        dtype = pl.Int64() if self.dtype == pl.UInt64 else self.dtype
        try:
            return from_ticks(ordered, present, name=self.name, dtype=dtype).cast(self.dtype)
        except pl.exceptions.PolarsError:
            raise SchemaError(
                f"Column {self.name!r} decodes to values that its type can't hold.",
                hint="Decode the rows that encode gave, from the state that it started at.",
            ) from None

    def numbers(self, steps: Floats) -> Floats:
        """Return positions between steps as numbers of the column: forecasts."""
        if self.digits >= 0:
            return (steps / self.spacing + self.origin) / 10.0**self.digits
        with np.errstate(over="ignore", invalid="ignore"):
            numbers: Floats = steps / self.spacing * self.step + self.origin
        return numbers / 10.0**self.dtype.scale if isinstance(self.dtype, pl.Decimal) else numbers

    def _place(self, numbers: NDArray[Any]) -> Floats:
        if self.digits == -2:
            return np.rint(_apart(numbers, np.int64(self.origin)) / self.step)
        values = numbers.astype(np.float64)
        if self.digits >= 0:
            return np.rint(values * 10.0**self.digits) - self.origin
        return np.rint((values - self.origin) / self.step)

    def _ordered_at(self, places: Floats) -> Integers:
        """Return which of the type's values, counted from 0, lies at a place."""
        if self.digits == -2:
            whole: Integers = places.astype(np.int64) * np.int64(self.step)
            return whole + np.int64(self.origin)
        if self.digits >= 0:
            # A whole number divided by a power of ten is the double nearest to the decimal.
            return _ordered((places + self.origin) / 10.0**self.digits)
        return _ordered(places * self.step + self.origin)


def _cells(column: pl.Series) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return cells as numbers, -0.0 unchanged, and which are there."""
    numbers, present = to_ticks(_narrow(column))
    if column.dtype.is_float():
        return column.cast(pl.Float64).fill_null(0.0).to_numpy(), present
    return numbers, present


def _narrow(column: pl.Series) -> pl.Series:
    """Count unsigned integers from zero as all others are."""
    if column.dtype != pl.UInt64:
        return column
    narrow = column.cast(pl.Int64, strict=False)
    if narrow.null_count() > column.null_count():
        raise SchemaError(f"Column {column.name!r} has integers of more than 63 bits.")
    return narrow


def _ordered(numbers: NDArray[Any]) -> Integers:
    """Return integers that have the order of floats, neighbours side by side; -0.0 is -1."""
    if numbers.dtype != np.float64:
        return numbers.astype(np.int64)
    return _bits(np.ascontiguousarray(numbers).view(np.int64))


def _bits(ordered: Integers) -> Integers:
    """Turn a float's bits into its place among floats, or back."""
    return np.where(ordered < 0, ordered ^ _SIGN, ordered)


def _apart(numbers: NDArray[Any], middle: Any) -> Floats:  # noqa: ANN401 # an integer or a float
    """Return signed distances, exactly where they are near."""
    near = (numbers - middle).astype(np.float64)  # integers wrap where they are far apart
    far = numbers.astype(np.float64) - float(middle)
    return near if numbers.dtype == np.float64 else np.where(np.abs(far) < 2.0**62, near, far)


def _decimals(values: Floats) -> tuple[int, float, float] | None:
    """Return the fewest decimals that hold nearly all different cells, if any do."""
    different = np.unique(values)
    for digits in range(_MAX_DIGITS + 1):
        scaled = np.rint(different * 10.0**digits)
        on = (scaled / 10.0**digits == different) & (np.abs(scaled) <= _MAX_WHOLE)
        if on.mean() >= _ON_GRID:
            origin = _middle(np.rint(values * 10.0**digits))
            on &= np.abs(scaled - origin) <= LIMITS[0]
            if abs(origin) <= _MAX_WHOLE and on.mean() >= _ON_GRID:
                return digits, 1.0, origin
            return None
    return None


def _middle(values: Floats) -> float:
    """Return the upper median, which is one of the values; 0.0 for -0.0."""
    return float(np.sort(values)[len(values) // 2]) + 0.0


def _binary(values: Floats) -> tuple[int, float, float]:
    """Return a grid of a power of two that is fine for what the column mostly does."""
    middle = _middle(values)
    exponent = _exponent(_apart(values, middle), size=abs(middle) or 1.0)
    return -1, math.ldexp(1.0, exponent), middle


def _exponent(apart: Floats, *, size: float) -> int:
    """Return the power of two of a step: the farthest cell is in reach, or a change is fine."""
    farthest = float(np.minimum(np.abs(apart), np.finfo(np.float64).max).max()) or size
    moves = np.abs(np.diff(apart))
    moves = moves[(moves > 0) & np.isfinite(moves)]
    found = math.ceil(math.log2(farthest)) - _FAR
    if len(moves):
        found = min(found, math.floor(math.log2(_middle(moves))) - _FINE)
    return int(np.clip(found, _LEAST, _MOST))
