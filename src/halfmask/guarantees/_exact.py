"""Comparisons that no rounding can tip."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["at_most", "below", "decimal", "integers_up_to"]

# Ints are int64, or Python's own integers in an object array where int64 might overflow.
Ints = npt.NDArray[Any]

_INT64_LIMIT = 2**62


def decimal(number: float) -> Fraction:
    """Read a parameter as the decimal that was typed: 0.1 is one tenth, not the nearest binary.

    Examples
    --------
    >>> decimal(0.1)
    Fraction(1, 10)
    """
    return Fraction(str(number))


def integers_up_to(largest: int, values: npt.NDArray[np.int64]) -> Ints:
    """Return integers in a type in which results of up to ``largest`` don't overflow."""
    return values if largest < _INT64_LIMIT else values.astype(np.object_)


def at_most(numerators: Ints, denominators: Ints, bound: Fraction) -> npt.NDArray[np.bool_]:
    """Say for each fraction whether it is at most the bound; denominators are positive."""
    left, right = _cross_multiplied(numerators, denominators, bound)
    return np.asarray(left <= right, dtype=np.bool_)


def below(numerators: Ints, denominators: Ints, bound: Fraction) -> npt.NDArray[np.bool_]:
    """Say for each fraction whether it is less than the bound; something over 0 never is."""
    left, right = _cross_multiplied(numerators, denominators, bound)
    return np.asarray(left < right, dtype=np.bool_)


def _cross_multiplied(numerators: Ints, denominators: Ints, bound: Fraction) -> tuple[Ints, Ints]:
    # from 1 on: the bound's own numbers are multiplied by, also where all that they meet is 0
    largest = max(
        int(numerators.max(initial=1)) * bound.denominator,
        int(denominators.max(initial=1)) * bound.numerator,
    )
    if largest >= _INT64_LIMIT:
        numerators, denominators = numerators.astype(object), denominators.astype(object)
    return numerators * bound.denominator, denominators * bound.numerator
