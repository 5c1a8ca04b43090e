"""One numeric or date column as a standardised float, and exactly back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._errors import SchemaError
from halfmask.encode._ticks import from_ticks, to_ticks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.encode._ticks import Numbers

__all__ = ["RELATIVE", "Scaling"]

#: How far a float may come back from where it was, relative to its column's largest magnitude.
RELATIVE = 1e-12
#: More steps than that can't go through a matrix of condition 100 and be told apart behind it.
_MOST_STEPS = 2.0**46
# How near to the place of missing cells a number is one, in standard units.
_SAME = 1e-10


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """The affine map of one column to standard units, with what is needed to round it back.

    Parameters
    ----------
    name, dtype
        The column's name and type at home.
    center, scale
        A value ``v`` becomes ``(v - center) / scale``. For a column of ticks, ``v`` is a tick.
    unit
        All values are ``center`` and a whole number of times this; 0 for floats.
    digits
        Decimals that all fitted floats have at most; -1 where they have more than can be told.
    low, high
        The fitted range.
    missing_at
        What a missing cell becomes, in standard units. Where missing cells are hidden it is a
        place that no value has, and is turned back.
    hidden, nullable
        Whether missing cells are hidden, and whether any was there at the fit.
    out_of_range
        ``"error"`` or ``"extrapolate"`` for values outside of the fitted range.

    Guarantees
    ----------
    Integers, dates and decimals come back bit-equal, and floats to `RELATIVE` times the column's
    largest magnitude: `check` proves it for each batch that leaves, or refuses it.
    """

    name: str
    dtype: pl.DataType
    center: float
    scale: float
    unit: int
    digits: int
    low: float
    high: float
    missing_at: float
    hidden: bool
    nullable: bool
    out_of_range: str

    def standard(self, column: pl.Series) -> NDArray[np.float64]:
        """Return the column in standard units, missing cells in their place.

        Raises
        ------
        SchemaError
            If cells are missing and none was at the fit, lie outside of the range, or lie between
            the steps of the column's grid.
        """
        ticks, present = to_ticks(column)
        missing = len(present) - int(present.sum())
        if missing and not (self.hidden or self.nullable):
            raise SchemaError(
                f"Column {self.name!r} had no missing cell at the fit and has {missing} now.",
                hint='Fit the codec to rows with missing cells, or make it with missing="hidden".',
            )
        self._check_range(ticks[present])
        if self.unit:
            ticks = np.where(present, ticks, int(self.center))
        steps = self._steps(ticks)
        self._refuse(present & ~(np.abs(steps) <= _MOST_STEPS) if self.unit else None)
        standard = steps / self.scale
        standard[~present] = self.missing_at
        return standard

    def restore(
        self, standard: NDArray[np.float64], missing: NDArray[np.bool_] | None
    ) -> pl.Series:
        """Return the column that these standard units stand for.

        Parameters
        ----------
        standard
            What `standard` gave, give or take what a matrix and its inverse did to it.
        missing
            Which cells are missing where that is visible.
        """
        ticks, present = self._ticks(standard, missing)
        return from_ticks(ticks, present, name=self.name, dtype=self.dtype)

    def check(
        self, column: pl.Series, back: NDArray[np.float64], missing: NDArray[np.bool_] | None
    ) -> None:
        """Raise unless a column comes back from ``back`` as it was."""
        ticks, present = to_ticks(column)
        restored, restored_present = self._ticks(back, missing)
        if self.unit:
            wrong = restored != ticks
        else:
            wrong = np.abs(restored - ticks) > RELATIVE * self._magnitude
            wrong &= np.abs(restored - ticks) > RELATIVE * np.abs(ticks)
        self._refuse((present & wrong) | (present != restored_present))

    def values(self, standard: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return numbers in standard units as numbers of the column, unrounded: predictions."""
        numbers: NDArray[np.float64] = standard * self.scale
        if self.unit:
            numbers = numbers * self.unit
        numbers = numbers + self.center
        return numbers / 10.0**self.dtype.scale if isinstance(self.dtype, pl.Decimal) else numbers

    def _ticks(
        self, standard: NDArray[np.float64], missing: NDArray[np.bool_] | None
    ) -> tuple[Numbers, NDArray[np.bool_]]:
        steps = standard * self.scale
        if missing is not None:
            present = ~missing
        elif self.hidden and self.unit:
            present = np.abs(steps - self.missing_at * self.scale) >= 0.25
        elif self.hidden:
            present = np.abs(standard - self.missing_at) > _SAME
        else:
            present = np.ones(len(standard), dtype=np.bool_)
        steps = np.where(present, steps, 0.0)
        if self.unit:
            bounded = np.clip(np.rint(steps), -_MOST_STEPS, _MOST_STEPS).astype(np.int64)
            return np.where(present, bounded * self.unit + int(self.center), 0), present
        values = steps + self.center
        if self.digits >= 0:
            rounded = np.round(values, self.digits)
            near = 0.1 * RELATIVE * self._magnitude
            values = np.where(np.abs(rounded - values) <= near, rounded, values)
        return np.where(present, values, 0.0), present

    @property
    def _magnitude(self) -> float:
        """The fitted column's largest distance from zero; 1 for a column of zeros."""
        return max(abs(self.low), abs(self.high)) or 1.0

    def _steps(self, ticks: Numbers) -> NDArray[np.float64]:
        if not self.unit:
            return np.asarray(ticks - self.center, dtype=np.float64)
        # Far values would wrap around; they are refused by their rough distance.
        rough = (ticks.astype(np.float64) - self.center) / self.unit
        near = np.abs(rough) <= _MOST_STEPS
        distance = np.where(near, ticks, int(self.center)) - int(self.center)
        self._refuse(near & (distance % self.unit != 0), why="between the steps of its grid")
        return np.where(near, (distance // self.unit).astype(np.float64), rough)

    def _check_range(self, ticks: Numbers) -> None:
        if self.out_of_range == "extrapolate":
            return
        outside = int(((ticks < self.low) | (ticks > self.high)).sum())
        if outside:
            raise SchemaError(
                f"Column {self.name!r} has {outside} cells outside of its range at the fit.",
                hint='Check the unit, or make the codec with out_of_range="extrapolate".',
            )

    def _refuse(
        self, wrong: NDArray[np.bool_] | None, *, why: str = "that would not come back exactly"
    ) -> None:
        if wrong is not None and wrong.any():
            raise SchemaError(
                f"Column {self.name!r} has {int(wrong.sum())} cells {why}.",
                hint='Round the column, leave it out, or use learner="trees", which ranks values.',
            )
