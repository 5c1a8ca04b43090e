"""Checks of numbers: multiples of a base, and nothing beyond a bound."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from halfmask._errors import VerificationError
from halfmask.verifier.checks import ClaimCount
from halfmask.verifier.masked._cell_checks import columns_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from halfmask.claims import Claim

#: How many units in the last place a float may lie from a multiple: what arithmetic loses.
ROUNDING_UNITS: Final = 4


def check_multiples(claim: Claim, table: pl.LazyFrame) -> ClaimCount:
    """Count the cells that aren't multiples of a base.

    Notes
    -----
    Whole numbers, decimals and texts are compared exactly. A float counts as a multiple where it
    is one to within 4 units in its last place, and these are less than a quarter of the base.
    """
    base = _number(claim.parameters["base"], "base")
    if base <= 0:
        raise VerificationError("The base must be above 0.")
    other = 0
    for values, counts in _values(claim, table):
        if values.dtype.is_float():
            bad = _float_not_multiples(values.to_numpy(), float(base))
        else:
            bad = _exactly(values, lambda number: number % base != 0)
        other += int(counts[bad].sum())
    return ClaimCount(holds=other == 0, found={"other_cells": other})


def check_tails(claim: Claim, table: pl.LazyFrame) -> ClaimCount:
    """Count the cells below the lower bound or above the upper one."""
    low, high = (
        _number(claim.parameters[name], name) if name in claim.parameters else None
        for name in ("low", "high")
    )
    if low is None and high is None:
        raise VerificationError("The claim must have a bound.")

    def beyond(number: Fraction) -> bool:
        return (low is not None and number < low) or (high is not None and number > high)

    other = 0
    for values, counts in _values(claim, table):
        if values.dtype.is_float():
            numbers = values.to_numpy()
            bad = np.isnan(numbers)
            bad |= False if low is None else numbers < float(low)
            bad |= False if high is None else numbers > float(high)
        else:
            bad = _exactly(values, beyond)
        other += int(counts[bad].sum())
    return ClaimCount(holds=other == 0, found={"other_cells": other})


def _number(value: object, name: str) -> Fraction:
    """Return a parameter as its digits say: 0.1 is a tenth."""
    if isinstance(value, str) or not isinstance(value, int | float):
        raise VerificationError(f"The parameter {name!r} must be a number.")
    return Fraction(str(value))


def _values(claim: Claim, table: pl.LazyFrame) -> list[tuple[pl.Series, NDArray[np.int64]]]:
    """Return the different values of each column of a claim, and how many cells have each."""
    found = []
    for name in columns_of(claim):
        counted = (
            table.select(pl.col(name).alias("value"))
            .drop_nulls()
            .group_by("value")
            .agg(pl.len().cast(pl.Int64).alias("cells"))
            .collect(engine="streaming")
        )
        values = counted["value"]
        if not (values.dtype.is_numeric() or values.dtype == pl.String):
            raise VerificationError("The column must hold numbers.")
        found.append((values, counted["cells"].to_numpy()))
    return found


def _exactly(values: pl.Series, is_bad: Callable[[Fraction], bool]) -> NDArray[np.bool_]:
    return np.array([is_bad(Fraction(str(each))) for each in values], dtype=np.bool_)


def _float_not_multiples(numbers: NDArray[np.float64], base: float) -> NDArray[np.bool_]:
    numbers = numbers.astype(np.float64)
    bad: NDArray[np.bool_] = ~np.isfinite(numbers)
    numbers = np.where(bad, 0.0, numbers)
    nearest = np.rint(numbers / base) * base
    slack = ROUNDING_UNITS * np.spacing(np.maximum(np.abs(numbers), base))
    return bad | (np.abs(numbers - nearest) > slack) | (4 * slack > base)
