"""Comparisons of fractions in integers, and the shares of values as such fractions."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from halfmask.guarantees._classes import Classes


# Ints are int64, or Python's own integers in an object array where int64 might overflow.
Ints = npt.NDArray[Any]

_INT64_LIMIT = 2**62
# The largest denominator of a share that a compiled loop multiplies by the rows of a class.
_ENGINE_DENOMINATOR = 10**6
# The logarithm of a fraction is never a fraction, except that of 1: some digits tell them apart.
_LOG_DIGITS = 60


def rounded_down(share: Fraction) -> Fraction:
    """Return a share, rounded down if its denominator is above a million.

    Examples
    --------
    >>> rounded_down(Fraction(3, 10)), rounded_down(Fraction(333_333_333, 10**9))
    (Fraction(3, 10), Fraction(333333, 1000000))
    """
    if share.denominator <= _ENGINE_DENOMINATOR:
        return share
    return Fraction(int(share * _ENGINE_DENOMINATOR), _ENGINE_DENOMINATOR)


@lru_cache(maxsize=1024)
def log_below(ratio: Fraction, bound: Fraction) -> bool:
    """Say whether the natural logarithm of a positive fraction is less than the bound.

    Examples
    --------
    >>> log_below(Fraction(2), Fraction(7, 10)), log_below(Fraction(1), Fraction(0))
    (True, False)
    """
    digits = Context(prec=_LOG_DIGITS)
    number = digits.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    limit = digits.divide(Decimal(bound.numerator), Decimal(bound.denominator))
    return bool(digits.ln(number) < limit)


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


# int64, or Python's own integers in an object array where int64 might overflow
Integers = npt.NDArray[Any]


def share_ratios(classes: Classes, column: str) -> tuple[Integers, Integers]:
    """Return, for each entry of a histogram, the two shares over a common denominator.

    Notes
    -----
    **Guarantees.** Exact: c/n over t/N is c*N over n*t.

    Examples
    --------
    >>> from halfmask.guarantees import Classes
    >>> classes = Classes.from_codes([0, 0, 1, 1], 2, {"ill": ([0, 0, 0, 1], 2)})
    >>> in_class, in_table = share_ratios(classes, "ill")
    >>> (in_class / in_table).round(3).tolist()
    [1.333, 0.667, 2.0]
    """
    histogram, rows = classes.histogram(column), classes.rows
    counts = integers_up_to(rows * rows, histogram.counts)
    sizes = integers_up_to(rows * rows, np.asarray(classes.sizes)[histogram.class_of_entry])
    return counts * rows, sizes * histogram.totals[histogram.codes]
