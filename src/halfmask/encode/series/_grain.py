"""A column of values as whole steps of a grid, and exactly back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from halfmask._errors import SchemaError
from halfmask.encode._ticks import from_ticks, is_ordered, to_ticks

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FARTHEST", "Grain"]

#: Steps from the centre that a float can carry through the encoding, and be told apart behind it.
FARTHEST = 2.0**45
# Floats without a decimal grid get 2**41 steps up to their largest magnitude: half of one is
# 2.3e-13 of it.
_FINE = 2.0**41
_MOST_DIGITS = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Grain:
    """How one column is counted in steps.

    Parameters
    ----------
    name, dtype
        The column's name and type at home.
    digits
        Decimals of a column of floats; -1 where it has more than can be told, -2 for integers.
    step
        The size of a step of floats without decimals; 1 for others.
    center
        The step from which distances are counted.

    Guarantees
    ----------
    Integers, decimals and floats of up to nine digits come back bit-equal; other floats to 2.3e-13
    of the largest magnitude at the fit. What lies between the steps is refused.
    """

    name: str
    dtype: pl.DataType
    digits: int
    step: float
    center: float

    @classmethod
    def of(cls, column: pl.Series) -> Grain:
        """Find the grid of a column.

        Raises
        ------
        SchemaError
            If the column holds no numbers, none at all, or infinite ones.
        """
        if not column.dtype.is_numeric() or not is_ordered(column.dtype):
            raise SchemaError(
                f"Column {column.name!r} holds {column.dtype}, which is no series of numbers.",
                hint="Name the columns of numbers, and encode the others by a Codec.",
            )
        values, present = to_ticks(_narrow(column))
        values = values[present]
        if not len(values):
            raise SchemaError(f"Column {column.name!r} has no value to fit a series to.")
        digits, step = -2, 1.0
        if column.dtype.is_float():
            digits, step = _decimals(values.astype(np.float64))
        grain = cls(name=column.name, dtype=column.dtype, digits=digits, step=step, center=0.0)
        steps, _ = grain.steps(column, checked=False)
        center = float(np.rint(np.median(steps[present])))
        return cls(name=column.name, dtype=column.dtype, digits=digits, step=step, center=center)

    def steps(
        self, column: pl.Series, *, checked: bool = True
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return how many steps each value is, 0 where it is missing, and which are there.

        Raises
        ------
        SchemaError
            If values lie between the steps or too far from the centre.
        """
        values, present = to_ticks(_narrow(column))
        if self.digits == -2:
            steps = values.astype(np.float64)
            wrong = np.abs(values - np.int64(self.center)) > FARTHEST
            wrong |= np.abs(values) > 2**52
        else:
            steps = np.rint(self._scaled(values.astype(np.float64)))
            wrong = np.abs(steps - self.center) > FARTHEST
            if self.digits >= 0:
                wrong |= self._restored(steps) != values
        if checked and (wrong & present).any():
            raise SchemaError(
                f"Column {self.name!r} has {int((wrong & present).sum())} cells that would not "
                "come back exactly: finer, or much larger, than those of the fit.",
                hint="Round the column, or fit the codec to rows with such values.",
            )
        return np.where(present, steps, self.center), present

    def column(self, steps: NDArray[np.float64], present: NDArray[np.bool_]) -> pl.Series:
        """Return the cells of these steps, missing where they aren't present.

        Raises
        ------
        SchemaError
            If a step isn't a value of the column's type: the rows are not what was encoded.
        """
        if self.digits == -2:
            whole = np.where(present, steps, 0.0).astype(np.int64)
            try:
                return from_ticks(whole, present, name=self.name, dtype=self._narrow_dtype).cast(
                    self.dtype
                )
            except pl.exceptions.PolarsError:
                raise SchemaError(
                    f"Column {self.name!r} decodes to values that its type can't hold.",
                    hint="Decode the rows that encode gave, from the state that it started at.",
                ) from None
        return from_ticks(
            np.where(present, self._restored(steps), 0.0),
            present,
            name=self.name,
            dtype=self.dtype,
        )

    def numbers(self, steps: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return positions between steps as numbers of the column: forecasts."""
        if self.digits >= 0:
            return steps / 10.0**self.digits
        numbers: NDArray[np.float64] = steps * self.step
        return numbers / 10.0**self.dtype.scale if isinstance(self.dtype, pl.Decimal) else numbers

    @property
    def _narrow_dtype(self) -> pl.DataType:
        return pl.Int64() if self.dtype == pl.UInt64 else self.dtype

    def _scaled(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return values * 10.0**self.digits if self.digits >= 0 else values / self.step

    def _restored(self, steps: NDArray[np.float64]) -> NDArray[np.float64]:
        # A whole number divided by a power of ten is the double that is nearest to the decimal.
        return steps / 10.0**self.digits if self.digits >= 0 else steps * self.step


def _narrow(column: pl.Series) -> pl.Series:
    """Count unsigned integers from zero as all others are."""
    if column.dtype != pl.UInt64:
        return column
    narrow = column.cast(pl.Int64, strict=False)
    if narrow.null_count() > column.null_count():
        raise SchemaError(f"Column {column.name!r} has integers of more than 63 bits.")
    return narrow


def _decimals(values: NDArray[Any]) -> tuple[int, float]:
    largest = float(np.abs(values).max()) or 1.0
    for digits in range(_MOST_DIGITS + 1):
        if largest * 10.0**digits > _FINE:
            break
        if (np.rint(values * 10.0**digits) / 10.0**digits == values).all():
            return digits, 1.0
    # A power of two: dividing by it and multiplying again rounds nothing.
    return -1, float(2.0 ** np.ceil(np.log2(largest / _FINE)))
