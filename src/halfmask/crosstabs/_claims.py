"""What a release of tables claims, and what it doesn't protect from."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from halfmask.claims import Claim
from halfmask.claims.crosstab_manifest import (
    ADDITIVE,
    CELL_KEY,
    DEVIATIONS,
    EARLIER_TABLES,
    HIDDEN_INTERVALS,
    MINIMUM_COUNT,
    MULTIPLES,
    PROTECTED_CELLS,
    TRUE_VALUES,
)
from halfmask.crosstabs._protections import (
    CellKey,
    PrivateCounts,
    SmallCounts,
    Suppression,
    TableRounding,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from halfmask.claims.claim import Json
    from halfmask.crosstabs._pattern import Audit, PublishedCells
    from halfmask.crosstabs._policy import TablesPolicy
    from halfmask.crosstabs._protections import CellProtection
    from halfmask.crosstabs._rules import CellRule

#: Claimed widths are rounded down to so many digits: two programs differ behind them.
_DIGITS: Final = 4


def tables_claims(
    published: Sequence[PublishedCells], policy: TablesPolicy, n_earlier: int
) -> Iterator[Claim]:
    """Yield what the verifier is to count again."""
    protection = policy.made_protection()
    if isinstance(protection, Suppression):
        yield from _suppression_claims(published, policy, protection)
        if n_earlier:
            yield _claim(EARLIER_TABLES, {"releases": n_earlier})
    elif isinstance(protection, TableRounding):
        reach = {"conventional": 0.5, "random": 1.0}.get(protection.way, 1.0 + protection.steps)
        yield _claim(MULTIPLES, {"base": protection.base})
        yield _claim(DEVIATIONS, {"at_most": protection.base * reach})
        if protection.way == "controlled":
            yield additive_claim(published)
    elif isinstance(protection, SmallCounts):
        yield additive_claim(published)
        yield _claim(MINIMUM_COUNT, {"n": protection.base})
    elif isinstance(protection, CellKey):
        from halfmask.crosstabs._cell_key import transition_table  # noqa: PLC0415 # rare

        stated = {"max_deviation": protection.max_deviation, "variance": protection.variance}
        table = transition_table(protection).tolist()
        yield _claim(CELL_KEY, stated, evidence={"transitions": table}, basis="accounted")
        yield _claim(DEVIATIONS, {"at_most": protection.max_deviation})
        if protection.least_count > 1:
            yield _claim(MINIMUM_COUNT, {"n": protection.least_count})


def _claim(model: str, parameters: Mapping[str, Any] | None = None, **stated: Any) -> Claim:  # noqa: ANN401 # JSON
    """Make a claim, by default one that is counted."""
    given = {"about": {}, "evidence": {}, "basis": "counted", **stated}
    return Claim(model=model, parameters=parameters or {}, **given)


def _suppression_claims(
    published: Sequence[PublishedCells], policy: TablesPolicy, settings: Suppression
) -> Iterator[Claim]:
    shown = sum(int((~each.hidden).sum()) for each in published)
    yield _claim(TRUE_VALUES, evidence={"cells": shown})
    yield additive_claim(published, within=max(each.cells.rounding for each in published))
    for each in published:
        if each.audit is not None and each.hidden.any():
            name, width = _narrowest(each, each.audit)
            yield _claim(
                HIDDEN_INTERVALS,
                {name: width},
                about={"measure": each.cells.measure},
                evidence={"hidden": int(each.hidden.sum()), "narrowest": width},
            )
    if policy.rules:
        yield _claim(
            PROTECTED_CELLS,
            {
                "singletons": settings.singletons,
                "hidden_sums": "on" if settings.hidden_sums else "off",
            },
            about={"rules": [stated_rule(each) for each in policy.made_rules()]},
            # Their number would tell which hidden cells are sensitive, where all of them are.
            evidence={},
        )


def stated_rule(rule: CellRule) -> dict[str, Json]:
    """Return a rule with its parameters, as the manifest states it, without what isn't given."""
    given = ((each.name, getattr(rule, each.name)) for each in fields(rule))
    stated = {name: value for name, value in given if value not in (None, ())}
    lists = {name: list(it) if isinstance(it, tuple) else it for name, it in stated.items()}
    return {"rule": rule.rule, **lists}


def additive_claim(published: Sequence[PublishedCells], *, within: float = 0.0) -> Claim:
    """Claim that equations without a hidden cell hold: ready ones within half a unit a cell."""
    whole = 0
    for each in published:
        n_hidden = abs(each.cells.equations) @ each.hidden.astype(np.float64)
        whole += int((n_hidden == 0).sum())
    parameters = {"within": within} if within else {}
    return _claim(ADDITIVE, parameters, evidence={"equations": whole})


def _narrowest(published: PublishedCells, found: Audit) -> tuple[str, float]:
    """Return the least width of a hidden cell's interval: of sums, as a share of the far end."""
    hidden = published.hidden
    lower, upper = found.lower[hidden], found.upper[hidden]
    with np.errstate(invalid="ignore"):
        width = upper - lower
        if published.cells.is_count:
            finite = width[np.isfinite(width)]
            return "least_width", _rounded_down(float(finite.min()) if len(finite) else 1.0)
        far = np.maximum(np.abs(lower), np.abs(upper))
        share = np.where(np.isfinite(far), width / np.where(far > 0, far, 1.0), 1.0)
    return "least_share", _rounded_down(float(share.min()))


def _rounded_down(width: float) -> float:
    """Return a width rounded down, but for the noise of linear programs."""
    if width <= 0:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(width)) + 1 - _DIGITS)
    return float(f"{math.floor(width * (1 + 1e-8) / step) * step:.{_DIGITS}g}")


def tables_weaknesses(policy: TablesPolicy, *, is_later: bool) -> list[str]:
    """Name what a release of tables doesn't protect from."""
    protection = policy.made_protection()
    found = _OF_METHOD[type(protection)].splitlines()
    if isinstance(protection, Suppression):
        found += [_ZEROS] if policy.zeros == "published" else []
        found += [_LONE] if protection.singletons == "off" else []
        found += [_MEASURES] if len({it.value for it in policy.tables if it.value}) > 1 else []
        found += [_LATER if is_later else _SECOND]
    return found


_ZEROS: Final = (
    "zeros-published: a combination that nobody is in is shown as 0, so everybody learns it."
)
_LONE: Final = (
    "singletons: an owner who is alone in a hidden cell knows it, and may compute other hidden "
    "cells."
)
_MEASURES: Final = (
    "several-measures: each measure is protected by itself; where one is the sum of others, as "
    "turnover is of cost and profit, they tell of each other."
)
_SECOND: Final = (
    "one-release: a second release of tables of the same data can be subtracted from this one, "
    "unless it is protected with this one as an earlier release."
)
_LATER: Final = (
    "one-release: tables were protected with the named earlier releases; others of the same data "
    "can be subtracted from this one."
)
_OF_METHOD: Final[Mapping[type[CellProtection], str]] = {
    Suppression: """\
intervals: anybody can compute an interval for each hidden cell. Its width is claimed; within it, \
some values can be likelier than others (approximate disclosure).
coalitions: owners who tell each other what they contributed compute more than each of them alone.
outside-knowledge: intervals are those of attackers who know the tables, and what they contributed \
themselves. Who knows more cells computes more.
minimality: an attacker who has the policy and the method can learn something from the cells that \
weren't hidden.""",
    TableRounding: """\
bounded-noise: the true value of each cell lies within a stated distance of the published one.
many-tables: sums of many rounded cells bound the true values more closely than each cell does.
one-release: the same cell, rounded again in another release, has narrower bounds.""",
    SmallCounts: """\
large-counts-kept: only small inner counts are changed; larger ones can be true.
zeros-ambiguous: a published 0 can be a small count.
one-release: a second release of the same data can be subtracted from this one.""",
    CellKey: """\
not-additive: parts don't add up to their totals; the differences tell something of the noise.
averaging: many cells that hold nearly the same people reduce the noise.
one-key: only tables that are made with the same key show the same people with the same count.""",
    PrivateCounts: """\
noise-unseen: no file can show that the noise was drawn at random, as the claim states it.
one-release: the epsilons of releases of the same data add up.""",
}
