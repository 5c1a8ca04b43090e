"""Numbers as whole steps of a grid: sums without rounding, and noise without a float's gaps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from halfmask._errors import DataError, ParameterError
from halfmask._validation import number_between

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

#: Steps that 64 bits hold with room for noise.
_LARGEST_STEPS: Final = 2**62
#: Exponents of steps whose multiples are normal floats.
_EXPONENTS: Final = (-900, 900)


@dataclass(frozen=True)
class FixedPoint:
    """A grid of numbers: all multiples of a power of two.

    Parameters
    ----------
    exponent
        Of the step, which is ``2.0**exponent``; from -900 to 900.

    Notes
    -----
    Noise on floating-point numbers reveals them by gaps between floats (Mironov 2012). So numbers
    become whole steps first; sums of whole steps are exact in any order.

    Examples
    --------
    >>> grid = FixedPoint(exponent=-2)
    >>> grid.rounded([0.3, -0.3]).tolist(), grid.toward_zero([0.3, -0.3]).tolist()
    ([1, -1], [1, -1])
    >>> grid.numbers([1, -3]).tolist()
    [0.25, -0.75]
    """

    exponent: int

    def __post_init__(self) -> None:
        low, high = _EXPONENTS
        if type(self.exponent) is not int or not low <= self.exponent <= high:
            raise ParameterError(
                f"The 'exponent' parameter of FixedPoint must be an int from {low} to {high}."
            )

    @classmethod
    def below(cls, width: float, *, bits: int) -> Self:
        """Return the grid of steps of at most ``width`` divided by 2**bits.

        Parameters
        ----------
        width
            Above 0, such as the scale of noise.
        bits
            At least so many bits lie between the step and the width.
        """
        number_between(0, math.inf, owner="FixedPoint.below", low_open=True, width=width)
        return cls(math.frexp(width)[1] - 1 - bits)

    @property
    def step(self) -> float:
        """The distance between neighbours on the grid."""
        return math.ldexp(1.0, self.exponent)

    def rounded(self, numbers: ArrayLike) -> NDArray[np.int64] | NDArray[np.object_]:
        """Return numbers as the nearest steps: of 64 bits, or Python's own beyond these.

        Parameters
        ----------
        numbers
            Finite.

        Raises
        ------
        DataError
            If a number isn't finite.
        """
        given = np.asarray(numbers)
        if given.dtype.kind in "iu" and given.size and _widest(given) > 2**53:
            whole = [self._steps_of(each) for each in given.ravel().tolist()]
            return np.array(whole, dtype=object).reshape(given.shape)
        scaled = self._scaled(given)
        if scaled.size == 0 or float(np.abs(scaled).max()) < _LARGEST_STEPS:
            return np.rint(scaled).astype(np.int64)
        # From 2**53 on each float is whole.
        return np.array([round(each) for each in scaled.ravel().tolist()], dtype=object).reshape(
            scaled.shape
        )

    def toward_zero(self, numbers: ArrayLike) -> NDArray[np.int64]:
        """Return numbers as steps, each cut off toward zero, so that no norm grows.

        Parameters
        ----------
        numbers
            Finite, below 2**62 steps.

        Raises
        ------
        DataError
            If a number isn't finite, or has too many steps for 64 bits.
        """
        scaled = self._scaled(numbers)
        if scaled.size and float(np.abs(scaled).max()) >= _LARGEST_STEPS:
            raise DataError(
                "Numbers are too large for the grid of the noise.",
                hint="Declare tighter bounds, or clip the numbers to them.",
            )
        return np.trunc(scaled).astype(np.int64)

    def numbers(self, steps: ArrayLike) -> NDArray[np.float64]:
        """Return steps as numbers, the nearest floats.

        Parameters
        ----------
        steps
            Whole numbers.
        """
        return np.ldexp(np.asarray(steps).astype(np.float64), self.exponent)

    def _steps_of(self, number: int) -> int:
        """Return an integer that a float doesn't hold as steps."""
        if self.exponent <= 0:
            return number << -self.exponent
        return (number + (1 << self.exponent >> 1)) >> self.exponent

    def _scaled(self, numbers: ArrayLike) -> NDArray[np.float64]:
        given = np.asarray(numbers)
        if given.dtype.kind not in "iuf" or not np.isfinite(given).all():
            raise DataError(
                "Noise can only be added to finite numbers.",
                hint="Remove missing and infinite values, or clip them to declared bounds.",
            )
        with np.errstate(over="ignore"):
            scaled: NDArray[np.float64] = np.ldexp(given.astype(np.float64), -self.exponent)
        if not np.isfinite(scaled).all():
            raise DataError(
                "Numbers are too large for the grid of the noise.",
                hint="Declare tighter bounds, or clip the numbers to them.",
            )
        return scaled


def _widest(integers: NDArray[np.integer[Any]]) -> int:
    return max(abs(int(integers.min())), abs(int(integers.max())))
