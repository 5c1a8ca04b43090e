"""Checks of single cells: dates of a unit, one value, tokens, and the columns themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from halfmask._errors import VerificationError
from halfmask.verifier.checks import ClaimCount

if TYPE_CHECKING:
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
