"""Checks of single cells: multiples, bounds, units of dates, one value, tokens, and the columns."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from halfmask._errors import VerificationError
from halfmask.verifier.checks import ClaimCount

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from halfmask.claims import Claim


#: Units of time, as `Expr.dt.truncate` writes them; weeks begin on Monday.
UNITS: Final = {
    "year": "1y",
    "quarter": "1q",
    "month": "1mo",
    "week": "1w",
    "day": "1d",
    "hour": "1h",
    "minute": "1m",
}


def columns_of(claim: Claim) -> list[str]:
    """Return the columns that a claim is about."""
    columns = claim.about.get("columns")
    if (
        not isinstance(columns, list)
        or not columns
        or not all(isinstance(name, str) for name in columns)
        or len(set(map(str, columns))) < len(columns)
    ):
        raise VerificationError("The claim must name different columns.")
    return [str(name) for name in columns]


def check_columns(claim: Claim, table: pl.LazyFrame) -> ClaimCount:
    """Count the rows and columns of the table."""
    names = table.collect_schema().names()
    rows = int(table.select(pl.len()).collect(engine="streaming").item())
    stated = claim.parameters["rows"], claim.parameters["columns"]
    return ClaimCount(
        holds=columns_of(claim) == names and stated == (rows, len(names)),
        found={"rows": rows, "columns": len(names)},
    )


def check_unit(claim: Claim, table: pl.LazyFrame) -> ClaimCount:
    """Count the times that aren't the first moment of their year, month or other unit."""
    every = UNITS[str(claim.parameters["unit"])]
    found = 0
    for name in columns_of(claim):
        cell = pl.col(name)
        if table.collect_schema()[name] == pl.String:
            # "2024-02-01" and "2024-02-01T00:00:00+0100" read as times on the clock of their zone.
            cell = cell.str.replace(" ", "T").str.replace(r"(T.*)(?:Z|[+-]\d{2}:?\d{2})$", "${1}")
            cell = cell.str.to_datetime(strict=True)
        found += _count(table, cell.dt.truncate(every) != cell)
    return ClaimCount(holds=found == 0, found={"other_cells": found})


def check_one_value(claim: Claim, table: pl.LazyFrame) -> ClaimCount:
    """Count the different values of redacted columns: each may have one, or be missing."""
    columns = columns_of(claim)
    text = claim.parameters.get("text")
    most = other = 0
    for name in columns:
        cell = pl.col(name)
        most = max(most, _total(table, cell.drop_nulls().n_unique()))
        if text is not None:
            other += _count(table, cell.cast(pl.String) != pl.lit(text))
    return ClaimCount(holds=most <= 1 and not other, found={"values": most, "other_cells": other})


def check_tokens(claim: Claim, table: pl.LazyFrame) -> ClaimCount:
    """Count the cells that aren't tokens of the stated number of hexadecimal digits."""
    digits = claim.parameters["digits"]
    if not isinstance(digits, int) or digits < 1:
        raise VerificationError("The number of digits must be a whole number above 0.")
    pattern = rf"^[0-9a-f]{{{digits}}}\z"
    other = sum(
        _count(table, ~pl.col(name).cast(pl.String).str.contains(pattern))
        for name in columns_of(claim)
    )
    return ClaimCount(holds=other == 0, found={"other_cells": other})


def _count(table: pl.LazyFrame, cells: pl.Expr) -> int:
    """Count the cells for which an expression is true; missing cells aren't."""
    return _total(table, cells.sum())


def _total(table: pl.LazyFrame, number: pl.Expr) -> int:
    return int(table.select(number).collect(engine="streaming").item() or 0)


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
