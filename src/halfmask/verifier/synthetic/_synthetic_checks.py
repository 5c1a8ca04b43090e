"""SYNTHETIC_CHECKS: the check of each model that a release of synthetic rows claims."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

import polars as pl

from halfmask._errors import VerificationError
from halfmask.verifier.checks import ClaimCount
from halfmask.verifier.masked._cell_checks import check_columns, columns_of
from halfmask.verifier.synthetic._exact_numbers import as_comparable, as_exact, as_floats
from halfmask.verifier.synthetic._privacy_loss import check_privacy

if TYPE_CHECKING:
    from halfmask.claims import Claim
    from halfmask.claims.claim import Basis

#: A check takes a claim and the released table; the claim's columns are there.
SyntheticCheck: TypeAlias = "Callable[[Claim, pl.LazyFrame], ClaimCount]"

#: Sums of fractions may differ by this much, as a share of their size.
TOLERANCE: Final = 1e-9


def check_at_most(claim: Claim, table: pl.LazyFrame) -> ClaimCount:
    """Count rows whose lesser value is above the greater; a missing cell breaks no rule."""
    low, high = as_comparable(columns_of(claim), table)
    kinds = table.select(low, high).collect_schema().dtypes()
    if kinds[0].is_float() != kinds[1].is_float():  # polars would round the whole number
        rows = table.select(low, high).drop_nulls().collect(engine="streaming").iter_rows()
        return _counted(sum(more < less for less, more in rows))
    return _broken(table, high < low)


def check_sum(claim: Claim, table: pl.LazyFrame) -> ClaimCount:
    """Count rows whose first column isn't the sum of the others: exactly, except fractions."""
    names = columns_of(claim)
    exact = as_exact(names, table)
    total, *parts = as_floats(names) if exact is None else exact
    whole = pl.sum_horizontal(parts, ignore_nulls=False)
    if exact is not None:
        return _broken(table, total != whole)
    size = pl.max_horizontal([each.abs() for each in parts])
    return _broken(table, (total - whole).abs() > TOLERANCE * (1 + size) * len(parts))


def check_combinations(claim: Claim, table: pl.LazyFrame) -> ClaimCount:
    """Count different combinations: no more than the original table has."""
    most = _number(claim, "combinations")
    found = table.select(columns_of(claim)).unique().select(pl.len()).collect().item()
    return ClaimCount(holds=found <= most, found={"combinations": int(found)})


def check_hybrid_groups(claim: Claim, table: pl.LazyFrame) -> ClaimCount:
    """Look for a contradiction: the smallest group has k rows, and together they have all.

    Files can't show which rows were one group, so that nothing bears the claim out.
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


#: All checks by model, each with the basis of what it finds; of ``"stated"`` it only refutes.
SYNTHETIC_CHECKS: Final[dict[str, tuple[Basis, SyntheticCheck]]] = {
    "released-columns": ("counted", check_columns),
    "at-most": ("counted", check_at_most),
    "sum-of": ("counted", check_sum),
    "fixed-combinations": ("counted", check_combinations),
    "hybrid-groups": ("stated", check_hybrid_groups),
    "differential-privacy": ("accounted", check_privacy),
}


def rules_lacking(rules: object, made: list[tuple[str, list[str]]]) -> list[str]:
    """Say which rules the manifest states without their claim."""
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
    return _counted(int(table.select(broken.fill_null(value=False).sum()).collect().item()))


def _counted(n_breaking: int) -> ClaimCount:
    return ClaimCount(holds=n_breaking == 0, found={"rows_breaking": n_breaking})


def _number(claim: Claim, name: str) -> float:
    value = claim.evidence.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise VerificationError(f"The claim lacks the evidence {name!r}.")
    return value
