"""SYNTHETIC_CHECKS: the check of each model that a release of synthetic rows claims."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import TYPE_CHECKING, Final, TypeAlias

import polars as pl

from halfmask._errors import VerificationError
from halfmask.verifier._checks import ClaimCount
from halfmask.verifier.masked._cell_checks import check_columns, columns_of

if TYPE_CHECKING:
    from halfmask.claims import Claim
    from halfmask.claims._claim import Basis

__all__ = ["SYNTHETIC_CHECKS", "rules_lacking"]

#: A check takes a claim and the released table; the claim's columns are there.
SyntheticCheck: TypeAlias = "Callable[[Claim, pl.LazyFrame], ClaimCount]"

#: How many standard errors copied rows may be above chance.
SURE: Final = 5.0
#: Sums of fractions may differ by this much, as a share of their size.
TOLERANCE: Final = 1e-9


def check_at_most(claim: Claim, table: pl.LazyFrame) -> ClaimCount:
    """Count rows whose lesser value is above the greater; a missing cell breaks no rule.

    Parameters
    ----------
    claim
        ``"at-most"``, about two columns.
    table
        The released table.
    """
    low, high = (_as_comparable(pl.col(name), table) for name in columns_of(claim))
    return _broken(table, high < low)


def check_sum(claim: Claim, table: pl.LazyFrame) -> ClaimCount:
    """Count rows whose first column isn't the sum of the others.

    Parameters
    ----------
    claim
        ``"sum-of"``, about the column of the sum and its parts.
    table
        The released table.
    """
    total, *parts = (pl.col(name).cast(pl.Float64) for name in columns_of(claim))
    whole = pl.sum_horizontal(parts, ignore_nulls=False)
    size = pl.max_horizontal([each.abs() for each in parts])
    return _broken(table, (total - whole).abs() > TOLERANCE * (1 + size) * len(parts))


def check_combinations(claim: Claim, table: pl.LazyFrame) -> ClaimCount:
    """Count different combinations: no more than the original table has.

    Parameters
    ----------
    claim
        ``"fixed-combinations"``, with the number of the original's combinations as evidence.
    table
        The released table.
    """
    most = _number(claim, "combinations")
    found = table.select(columns_of(claim)).unique().select(pl.len()).collect().item()
    return ClaimCount(holds=found <= most, found={"combinations": int(found)})


def check_copies(claim: Claim, table: pl.LazyFrame) -> ClaimCount:
    """Compare copied rows with chance: as often as other people's rows equal an original row.

    Parameters
    ----------
    claim
        ``"copied-rows"``, with evidence of both.
    table
        The released table. It doesn't have the originals, so nothing is counted in it.
    """
    del table
    rows, copied = _number(claim, "rows"), _number(claim, "copied")
    control, by_chance = _number(claim, "control_rows"), _number(claim, "control_copied")
    if not (0 <= copied <= rows and 0 <= by_chance <= control and rows and control):
        raise VerificationError("The evidence of copied rows contradicts itself.")
    share = (copied + by_chance) / (rows + control)
    error = sqrt(share * (1 - share) * (1 / rows + 1 / control))
    excess = copied / rows - by_chance / control
    return ClaimCount(holds=excess <= SURE * error, found={"excess": excess, "error": error})


def check_hybrid_groups(claim: Claim, table: pl.LazyFrame) -> ClaimCount:
    """Repeat the arithmetic of groups: the smallest has k rows, and together they have all.

    Parameters
    ----------
    claim
        ``"hybrid-groups"``, with the parameter k, and groups, smallest and rows as evidence.
    table
        The released table.
    """
    k, smallest = claim.parameters.get("k"), _number(claim, "smallest")
    groups, rows = _number(claim, "groups"), _number(claim, "rows")
    n_rows = int(table.select(pl.len()).collect().item())
    holds = (
        isinstance(k, int)
        and k >= 2
        and smallest >= k
        and groups >= 1
        and groups * smallest <= rows
        and n_rows % rows == 0
    )
    return ClaimCount(holds=holds, found={"smallest": smallest, "rows": n_rows})


#: All checks by model, each with the basis of what it finds.
SYNTHETIC_CHECKS: Final[dict[str, tuple[Basis, SyntheticCheck]]] = {
    "released-columns": ("counted", check_columns),
    "at-most": ("counted", check_at_most),
    "sum-of": ("counted", check_sum),
    "fixed-combinations": ("counted", check_combinations),
    "copied-rows": ("measured", check_copies),
    "hybrid-groups": ("accounted", check_hybrid_groups),
}


def rules_lacking(rules: object, made: list[tuple[str, list[str]]]) -> list[str]:
    """Say which rules the manifest states without their claim.

    Parameters
    ----------
    rules
        As the manifest's parameters have them.
    made
        The models of its claims, with their columns.
    """
    problems = []
    for rule in rules if isinstance(rules, list) else []:
        names = {
            "at-most": lambda it: [it["low"], it["high"]],
            "sum-of": lambda it: [it["total"], *it["parts"]],
            "fixed-combinations": lambda it: list(it["columns"]),
        }
        columns = names.get(str(rule.get("rule"))) if isinstance(rule, dict) else None
        try:
            due = None if columns is None else (rule["rule"], columns(rule))
        except (KeyError, TypeError):
            due = None
        if due is None or due not in made:
            problems.append("The manifest states a rule without its claim.")
    return problems


def _broken(table: pl.LazyFrame, broken: pl.Expr) -> ClaimCount:
    count = table.select(broken.fill_null(value=False).sum()).collect().item()
    return ClaimCount(holds=count == 0, found={"rows_breaking": int(count)})


def _as_comparable(column: pl.Expr, table: pl.LazyFrame) -> pl.Expr:
    """Return numbers as numbers; files without types hold them, and ISO dates, as text."""
    name = column.meta.output_name()
    if table.collect_schema()[name] != pl.String:
        return column
    numbers = table.select(column.cast(pl.Float64, strict=False).is_null() & column.is_not_null())
    return column if numbers.collect().to_series().any() else column.cast(pl.Float64)


def _number(claim: Claim, name: str) -> float:
    value = claim.evidence.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise VerificationError(f"The claim lacks the evidence {name!r}.")
    return value
