"""SYNTHETIC_CHECKS: the check of each model that a release of synthetic rows claims."""

from __future__ import annotations

from math import isfinite, log, log1p
from typing import TYPE_CHECKING, Final, TypeAlias

import polars as pl

from halfmask._errors import VerificationError
from halfmask.verifier.checks import ClaimCount
from halfmask.verifier.masked._cell_checks import check_columns, columns_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from halfmask.claims import Claim
    from halfmask.claims.claim import Basis


#: Orders at which the loss is bounded; each gives an epsilon, and the least of them holds.
ORDERS: Final = tuple(1 + 1.05**step for step in range(-200, 250))


def check_privacy(claim: Claim, table: pl.LazyFrame) -> ClaimCount:
    """Add up what the stated mechanisms cost: no more than the claimed epsilon at its delta.

    Notes
    -----
    Gaussian noise of a multiplier m costs 1 / (2 m^2) in zero-concentrated differential privacy
    (Bun and Steinke 2016, proposition 1.6), a choice by the exponential mechanism epsilon^2 / 8
    (Cesar and Rogers 2021, lemma 3.4). Epsilon is that of Canonne, Kamath and Steinke (2020),
    corollary 13.
    """
    del table
    epsilon, delta = (_positive(claim.parameters.get(name)) for name in ("epsilon", "delta"))
    events = claim.evidence.get("events")
    if delta >= 1 or not isinstance(events, list) or not events:
        raise VerificationError("The claim lacks its events.")
    rho = sum(map(_cost, events))
    spent = min(
        order * rho + (log(1 / delta) - log(order - 1) + order * log1p(-1 / order)) / (order - 1)
        for order in ORDERS
    )
    # Orders lie on a grid: an epsilon that fits exactly is missed by less than this.
    return ClaimCount(holds=spent <= epsilon * (1 + 1e-3), found={"rho": rho, "epsilon": spent})


def _cost(event: object) -> float:
    if not isinstance(event, dict):
        raise VerificationError("An event of the claim is none.")
    times = _positive(event.get("times"))
    if event.get("mechanism") == "gaussian":
        return times / (2 * _positive(event.get("noise_multiplier")) ** 2)
    if event.get("mechanism") == "exponential":
        return times * _positive(event.get("epsilon")) ** 2 / 8
    raise VerificationError("The claim has an event of a mechanism that isn't known.")


def _positive(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise VerificationError("The claim lacks a number above 0.")
    if not isfinite(value):
        raise VerificationError("The claim has a number that isn't finite.")
    return float(value)


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


#: Texts of whole numbers; files without types hold numbers as text.
WHOLE: Final = r"^-?\d{1,38}$"
#: What a decimal has at most.
DIGITS: Final = 38


def as_exact(names: Sequence[str], table: pl.LazyFrame) -> list[pl.Expr] | None:
    """Return columns of whole numbers or decimals as such; ``None`` where one holds fractions."""
    schema = table.collect_schema()
    dtypes = [schema[name] for name in names]
    if all(
        dtype.is_integer() or (dtype == pl.String and _all_match(name, WHOLE, table))
        for name, dtype in zip(names, dtypes, strict=True)
    ):
        return [pl.col(name).cast(pl.Int128) for name in names]
    if all(dtype.is_integer() or dtype.is_decimal() for dtype in dtypes):
        scale = max(dtype.scale for dtype in dtypes if isinstance(dtype, pl.Decimal))
        return [pl.col(name).cast(pl.Decimal(DIGITS, scale)) for name in names]
    return None


def as_floats(names: Sequence[str]) -> list[pl.Expr]:
    """Return columns as floating-point numbers."""
    return [pl.col(name).cast(pl.Float64) for name in names]


def as_comparable(names: Sequence[str], table: pl.LazyFrame) -> list[pl.Expr]:
    """Return columns that can be compared: exact numbers, fractions, or times."""
    exact = as_exact(names, table)
    if exact is not None:
        return exact
    schema = table.collect_schema()
    texts = [name for name in names if schema[name] == pl.String]
    if not texts:
        return [pl.col(name) for name in names]
    decimals = [_decimals(name, table) for name in texts]
    if len(texts) == len(names) and None not in decimals:
        scale = max(each for each in decimals if each is not None)
        return [pl.col(name).cast(pl.Decimal(DIGITS, scale)) for name in names]
    numbers = table.select(
        (pl.col(name).cast(pl.Float64, strict=False).is_null() & pl.col(name).is_not_null()).any()
        for name in texts
    )
    is_text = any(numbers.collect(engine="streaming").row(0))
    return [pl.col(name) for name in names] if is_text else as_floats(names)


def _decimals(name: str, table: pl.LazyFrame) -> int | None:
    """Return the digits behind the point that a column of texts has; ``None`` if it isn't exact."""
    if not _all_match(name, r"^-?\d+(?:\.\d+)?$", table):
        return None
    cell = pl.col(name)
    before = cell.str.extract(r"^-?(\d+)").str.len_bytes().max()
    behind = cell.str.extract(r"\.(\d+)$").str.len_bytes().max()
    row = table.select(before.alias("before"), behind.alias("behind")).collect(engine="streaming")
    most, scale = (int(count or 0) for count in row.row(0))
    # The other column may have more digits on either side of the point.
    return scale if most <= DIGITS // 2 and scale <= DIGITS // 2 else None


def _all_match(name: str, pattern: str, table: pl.LazyFrame) -> bool:
    every = table.select(pl.col(name).str.contains(pattern).all(ignore_nulls=True))
    return bool(every.collect(engine="streaming").item())
