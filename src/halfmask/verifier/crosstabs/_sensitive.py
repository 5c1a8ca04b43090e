"""Which cells are sensitive by the rules that a release states, and the intervals that they need.

Written from the handbook's formulas (Handbook on Statistical Disclosure Control, 2nd edition,
sections 4.2.1 and 4.2.2).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from halfmask._errors import VerificationError
from halfmask.verifier.crosstabs._tabulation import LARGEST

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halfmask.claims.crosstab_manifest import StatedRule, StatedTable, TablesDetails
    from halfmask.verifier.crosstabs._opened import Opened
    from halfmask.verifier.crosstabs._system import Bools, CodeTree, Floats, Ints
    from halfmask.verifier.crosstabs._tabulation import CellTally, Contributions

#: What a share of a sum may be off by rounding.
_ROUNDING: Final = 1e-9
#: The parameters of each rule, and those that it may lack.
_PARAMETERS: Final[Mapping[str, tuple[set[str], set[str]]]] = {
    "minimum-frequency": ({"n"}, {"of", "margin"}),
    "dominance": ({"n", "k"}, set()),
    "p-percent": ({"p"}, set()),
    "prior-posterior": ({"p", "q"}, set()),
    "class-disclosure": ({"dimension"}, set()),
    "zeros": (set(), set()),
}
#: Rules about the largest contributions to a sum.
CONCENTRATION: Final = {"dominance", "p-percent", "prior-posterior"}


@dataclass(frozen=True, kw_only=True)
class CellNeeds:
    """The cells that must be hidden, and how far below and above an attacker's interval must go.

    `classes` has for each group of one category its cell, the cell of the whole group, and the
    group's empty cells of other categories: one of them must be possible.
    """

    sensitive: Bools
    below: Floats
    above: Floats
    classes: list[tuple[int, int, Ints]] = field(default_factory=list)


def check_rules(rules: Sequence[StatedRule], details: TablesDetails) -> None:
    """Refuse rules that lack a parameter or have one of another rule, and those of no table."""
    names = {each.name for each in details.tables}
    for rule in rules:
        needed, more = _PARAMETERS[rule.rule]
        listed = ("n", "of", "margin", "k", "p", "q", "dimension")
        given = {name for name in listed if getattr(rule, name) is not None}
        numbers = [getattr(rule, name) for name in given - {"of", "dimension"}]
        fits = needed <= given <= needed | more and all(each > 0 for each in numbers)
        if not fits or not {*rule.tables} <= names:
            raise VerificationError("A rule of the claim isn't one that can be applied.")
        if rule.rule == "dominance" and not 1 <= (rule.n or 0) <= LARGEST:
            raise VerificationError("A rule asks for more contributions than are known.")


def find_needs(
    measure: str | None,
    tally: CellTally,
    rules: Sequence[StatedRule],
    opened: Opened,
) -> CellNeeds:
    """Apply the rules to all cells of a measure."""
    n, who = len(tally.codes), tally.of_cells()
    needs = CellNeeds(
        sensitive=np.zeros(n, dtype=np.bool_), below=np.zeros(n), above=np.zeros(n), classes=[]
    )
    for rule in rules:
        inside = in_tables(measure, tally, rule, opened)
        if not inside.any():
            continue
        if rule.rule == "class-disclosure":
            needs.classes.extend(_classes(tally, who, rule, inside, opened.trees))
            continue
        found, below, above = _applied(measure, who, rule, opened.details)
        found &= inside
        needs.sensitive[found] = True
        needs.below[found] = np.maximum(needs.below, below)[found]
        needs.above[found] = np.maximum(needs.above, above)[found]
    if (who.absolute <= who.value * (1 + _ROUNDING)).all():  # everybody knows: none is below 0
        needs.below[:] = np.minimum(needs.below, who.value)
    return needs


def in_tables(measure: str | None, tally: CellTally, rule: StatedRule, opened: Opened) -> Bools:
    """Return which cells are in a table that a rule is for, and that it fits."""
    details, trees = opened.details, opened.trees
    totals = np.array([tree.total for tree in trees.values()])
    inside: Bools = np.zeros(len(tally.codes), dtype=np.bool_)
    for table in details.tables:
        named = not rule.tables or table.name in rule.tables
        if table.measure != measure or not named or not _fits(rule, table):
            continue
        others = [at for at, name in enumerate(trees) if name not in table.dimensions]
        inside |= (tally.codes[:, others] == totals[others]).all(axis=1)
    return inside


def _fits(rule: StatedRule, table: StatedTable) -> bool:
    if rule.rule == "class-disclosure":
        return table.measure is None and rule.dimension in table.dimensions
    return table.measure is not None or rule.rule not in CONCENTRATION


def _applied(
    measure: str | None, who: Contributions, rule: StatedRule, details: TablesDetails
) -> tuple[Bools, Floats, Floats]:
    positive = who.absolute[who.absolute > 0]
    least = float(positive.min()) if measure is not None and len(positive) else 1.0
    if rule.rule == "zeros":
        return who.count == 0, np.zeros_like(who.value), np.full_like(who.value, least)
    if rule.rule == "minimum-frequency":
        number, n = who.rows if rule.of == "rows" else who.count, rule.n or 0
        margin = np.maximum(who.absolute, least) * (rule.margin or 0.0) / 100
        found = (number > 0) & (number < n)
        if measure is None:
            missing = np.maximum(n - who.value, 1.0)
            return found, np.maximum(margin, 1.0), np.maximum(missing, margin)
        if rule.margin is None:
            raise VerificationError("A rule of sums states no margin.")
        return found, margin, margin
    excess = excess_of(who, rule, details)
    return excess > _ROUNDING * who.absolute, excess, excess


def excess_of(who: Contributions, rule: StatedRule, details: TablesDetails) -> Floats:
    """Return the protection level of each sum: how much more there would have to be of others."""
    largest, total = _units(who, details), who.absolute
    if rule.rule == "dominance":
        top: Floats = largest[:, : rule.n].sum(axis=1)
        return 100.0 / (rule.k or 100.0) * top - total
    rest = total - largest[:, 0] - largest[:, 1]
    known = 100.0 if rule.rule == "p-percent" else (rule.q or 100.0)
    excess: Floats = (rule.p or 0.0) / known * largest[:, 0] - rest
    return excess


def _units(who: Contributions, details: TablesDetails) -> Floats:
    """Return the largest contributions as rules see them: with weights, those of equal units."""
    if details.weights != "replicated":
        return who.largest
    if (who.rows > who.count).any():
        raise VerificationError("Owners of several rows can't be replicated by their weights.")
    left, units = who.weights.copy(), np.zeros_like(who.largest)
    for unit in range(LARGEST):
        open_part = np.ones(len(left))
        for rank in range(LARGEST):
            taken = np.minimum(left[:, rank], open_part)
            units[:, unit] += taken * who.largest[:, rank]
            left[:, rank] -= taken
            open_part -= taken
        more = (who.count > LARGEST) & (open_part > 0)  # others are at most as large as the last
        units[more, unit] += (open_part * who.largest[:, -1])[more]
    return units


def _classes(
    tally: CellTally,
    who: Contributions,
    rule: StatedRule,
    inside: Bools,
    trees: Mapping[str, CodeTree],
) -> list[tuple[int, int, Ints]]:
    """Return the groups that are all in one category of a dimension."""
    at = [*trees].index(str(rule.dimension))
    tree = trees[str(rule.dimension)]
    groups: dict[tuple[int, ...], list[int]] = {}
    for cell in np.flatnonzero(inside).tolist():
        others = np.delete(tally.codes[cell], at)
        groups.setdefault(tuple(others.tolist()), []).append(cell)
    found = []
    for members in groups.values():
        codes = {int(tally.codes[cell, at]): cell for cell in members}
        whole = codes.get(tree.total)
        if whole is None or who.value[whole] <= 0:
            continue
        leaves = {code for code in codes if code in tree.leaves}
        for code, cell in codes.items():
            if tree.covers[code] == tree.covers[tree.total] or who.value[cell] < who.value[
                whole
            ] * (1 - _ROUNDING):
                continue
            empty = [codes[leaf] for leaf in sorted(leaves - tree.covers[code])]
            found.append((cell, whole, np.array(empty, dtype=np.int64)))
    return found
