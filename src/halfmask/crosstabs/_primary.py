"""Primary rules at work: which cells are sensitive, why, and which interval each needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import DataError, ParameterError, PolicyError
from halfmask.crosstabs._cells import LARGEST, row_keys
from halfmask.crosstabs._pattern import Sensitivity
from halfmask.crosstabs._rules import (
    ClassDisclosure,
    Dominance,
    MinimumFrequency,
    PPercent,
    PriorPosterior,
    SensitiveZeros,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.crosstabs._arrays import Bools, Floats, Ints
    from halfmask.crosstabs._cells import CellSystem
    from halfmask.crosstabs._rules import CellRule

#: Rules that look at the largest contributions to a sum.
Concentration = Dominance | PPercent | PriorPosterior
#: Which cells a rule calls sensitive, and how far below and above their values each needs.
Found = tuple["Bools", "Floats", "Floats"]


def check_rules(measures: Sequence[CellSystem], rules: Sequence[CellRule]) -> None:
    """Raise if a rule fits no table or a measure has no rule: it would seem protected."""
    names = {name for cells in measures for name in cells.tables}
    for rule in rules:
        if unknown := set(rule.tables) - names:
            raise PolicyError(
                f"Rule {rule.rule!r} names {len(unknown)} tables that the policy lacks.",
                hint="Write the names of [[tables]] under its key tables.",
            )
        if not any(_fits(cells, rule) for cells in measures):
            raise PolicyError(f"Rule {rule.rule!r} fits no table.", hint=_needs(rule))
    for cells in measures:
        if rules and not any(rule.tables or _fits(cells, rule) for rule in rules):
            raise PolicyError(
                f"No rule fits the tables of {_named(cells)}.",
                hint='Add a rule that does, such as rule = "minimum-frequency".',
            )


def find_sensitive(
    cells: CellSystem, rules: Sequence[CellRule], *, weights: str | None
) -> Sensitivity:
    """Find the cells that break a rule, and the interval that each needs."""
    mask = np.zeros(cells.n, dtype=np.int64)
    below, above = np.zeros(cells.n), np.zeros(cells.n)
    names = list(dict.fromkeys(rule.rule for rule in rules))
    for rule in rules:
        if not _fits(cells, rule):
            if set(rule.tables) & set(cells.tables):
                raise PolicyError(
                    f"Rule {rule.rule!r} doesn't fit the tables of {_named(cells)}.",
                    hint=_needs(rule),
                )
            continue
        found, down, up = _apply(cells, rule, where=in_tables(cells, rule), weights=weights)
        mask[found] |= 1 << names.index(rule.rule)
        below[found] = np.maximum(below[found], down[found])
        above[found] = np.maximum(above[found], up[found])
    reasons = {
        int(each): tuple(name for at, name in enumerate(names) if each >> at & 1)
        for each in np.unique(mask)
    }
    return Sensitivity(
        reasons=tuple(reasons[each] for each in mask.tolist()), below=below, above=above
    )


def in_tables(cells: CellSystem, rule: CellRule) -> Bools:
    """Return which cells stand in a table that a rule is for."""
    inside = np.full(cells.n, not rule.tables)
    for name in set(rule.tables) & set(cells.tables):
        inside[cells.tables[name]] = True
    return inside


@dataclass(frozen=True, slots=True)
class Shares:
    """What rules of concentration see of each of n cells: absolute contributions."""

    #: The sum of all absolute contributions, weighted; shape (n,).
    total: Floats
    #: The sum of the j + 1 largest, for each j; shape (n, LARGEST).
    top: Floats

    def excess(self, rule: Concentration) -> Floats:
        """Return the upper protection level of each cell, exactly: above 0 it breaks the rule."""
        if isinstance(rule, Dominance):
            return (100 * self.top[:, rule.n - 1] - rule.k * self.total) / rule.k
        rest = self.total - self.top[:, 1]
        percent = rule.q if isinstance(rule, PriorPosterior) else 100.0
        return (rule.p * self.top[:, 0] - percent * rest) / percent


def sum_largest(largest: Floats, weights: Floats | None, count: Floats, how: str | None) -> Floats:
    """Return the sum of the j + 1 largest contributions of each cell, for each j.

    With "replicated", weight w stands for w contributors; unknown units count as the last one.
    """
    if weights is None or how != "replicated":
        return np.cumsum(largest, axis=1)
    ends = np.cumsum(weights, axis=1)
    units = np.arange(1, LARGEST + 1)
    up_to = np.minimum(ends[:, :, None], units)
    taken = np.diff(up_to, axis=1, prepend=0.0)
    known = np.einsum("ij,ijk->ik", largest, taken)
    missing = np.where((count > LARGEST)[:, None], units - up_to[:, -1], 0.0)
    found: Floats = known + missing * largest[:, -1:]
    return found


def fill_largest(cells: CellSystem) -> Floats:
    """Return the largest absolute contributions, the greatest possible ones where unknown."""
    who = cells.contributors
    if who is None:
        return np.full((cells.n, LARGEST), np.nan)
    filled, left = np.abs(who.largest), absolute_sums(cells)
    before = np.where(who.count <= 1, left, np.nan)  # a single contributor's is the sum
    for rank in range(LARGEST):
        unknown = np.isnan(filled[:, rank])
        at_most = np.where(rank >= who.count, 0.0, np.minimum(before, left))
        filled[unknown, rank] = at_most[unknown]
        before, left = filled[:, rank], np.maximum(left - filled[:, rank], 0.0)
    return filled


def _fits(cells: CellSystem, rule: CellRule) -> bool:
    if rule.tables and not set(rule.tables) & set(cells.tables):
        return False
    if isinstance(rule, ClassDisclosure):
        numbers = {each.name: at for at, each in enumerate(cells.dimensions)}
        if not cells.is_count or rule.dimension not in numbers:
            return False
        at = numbers[rule.dimension]
        inside = cells.codes[in_tables(cells, rule), at]
        return bool((inside != _total(cells, at)).any())
    return not (isinstance(rule, Concentration) and cells.is_count)


def _apply(cells: CellSystem, rule: CellRule, *, where: Bools, weights: str | None) -> Found:
    if isinstance(rule, MinimumFrequency):
        found, below, above = _find_few(cells, rule, where)
    elif isinstance(rule, ClassDisclosure):
        return _find_classes(cells, rule, where)
    elif isinstance(rule, SensitiveZeros):
        found = where & (_numbers(cells, "contributors", cells.value == 0) == 0)
        below, above = np.zeros(cells.n), np.full(cells.n, _least(cells))
    elif isinstance(rule, Concentration):
        excess = _see_shares(cells, rule, where, weights).excess(rule)
        found, below, above = where & (excess > 0), excess, excess
    else:
        raise TypeError(rule.rule)
    if is_nonnegative(cells):
        below = np.minimum(below, cells.value)
    return found, below, above


def _find_few(cells: CellSystem, rule: MinimumFrequency, where: Bools) -> Found:
    """Find cells with few contributors: counts must be possible up to n, sums within a margin."""
    number = _numbers(cells, rule.of, where)
    found = where & (number >= 1) & (number < rule.n)
    if not cells.is_count and rule.margin is None:
        raise PolicyError(
            f"Rule {rule.rule!r} has no margin for the sums of {_named(cells)}.",
            hint="Write margin, in percent of the sum, or name tables of counts under tables.",
        )
    level = np.maximum(absolute_sums(cells), _least(cells)) * (rule.margin or 0.0) / 100
    if not cells.is_count:
        return found, level, level
    return found, np.maximum(level, 1.0), np.maximum(np.maximum(rule.n - cells.value, 1.0), level)


def _find_classes(cells: CellSystem, rule: ClassDisclosure, where: Bools) -> Found:
    """Find groups of which all are in one category, and one cell each that nobody is in.

    The count must be possible 1 lower; the empty cell, of the most common category, 1 higher: this
    holds even where the group's own count is hidden.
    """
    at = next(n for n, each in enumerate(cells.dimensions) if each.name == rule.dimension)
    dimension, total = cells.dimensions[at], _total(cells, at)
    others = [other for other in range(len(cells.dimensions)) if other != at]
    sizes = [len(cells.dimensions[other].codes) for other in others]
    own = cells.codes[:, at].astype(np.int64)
    group = np.unique(row_keys(cells.codes[:, others], sizes), return_inverse=True)[1].ravel()
    keys = group * len(dimension.codes) + own
    order = np.argsort(keys)

    def lookup(wanted: Ints) -> Ints:
        spots = np.minimum(np.searchsorted(keys[order], wanted), cells.n - 1)
        return np.where(keys[order[spots]] == wanted, order[spots], -1)

    whole = lookup(keys + total - own)
    covers = [dimension.covers[code] for code in dimension.codes]
    partial = np.array([len(each) < len(dimension.leaves) for each in covers])
    everybody = np.where(whole >= 0, cells.value[whole], np.nan)
    found = where & partial[own] & (cells.value > 0) & (everybody - cells.value <= 1e-9 * everybody)
    below, above = np.where(found, 1.0, 0.0), np.zeros(cells.n)
    waiting = np.flatnonzero(found)
    marginal = np.zeros(len(dimension.codes))
    np.add.at(marginal, own, np.maximum(cells.value, 0))
    leaves = [dimension.position[leaf] for leaf in dimension.leaves]
    for leaf in sorted(leaves, key=lambda leaf: -marginal[leaf]):
        outside = np.array([dimension.codes[leaf] not in each for each in covers])[own[waiting]]
        empty = lookup(keys[waiting] + leaf - own[waiting])
        fits = outside & (empty >= 0)
        above[empty[fits]], found[empty[fits]] = 1.0, True
        waiting = waiting[~fits]
    if len(waiting):
        raise PolicyError(
            f"Rule {rule.rule!r} can't be kept for {len(waiting)} cells of the tables of "
            f"{_named(cells)}: their groups have no other cells that could be hidden.",
            hint='Write zeros = "suppressible", so that cells that nobody is in can be hidden.',
        )
    return found, below, above


def _see_shares(cells: CellSystem, rule: CellRule, where: Bools, weights: str | None) -> Shares:
    """Return what a rule of concentration sees of each cell; refuse what can't be decided."""
    who, largest, total = cells.contributors, fill_largest(cells), absolute_sums(cells)
    unknown = where & np.isnan(largest).any(axis=1) & (total > 0)
    if who is None or unknown.any():
        raise DataError(
            f"Rule {rule.rule!r} can't be decided for {int(unknown.sum())} of {cells.n} cells of "
            f"{_named(cells)}: their largest contribution isn't known.",
            hint="Name the columns of the largest contributions and of the contributors of each "
            "ready table, or take another rule.",
        )
    if who.weights is not None and weights is None:
        raise ParameterError(
            "Contributions are weighted, and weights isn't given.",
            hint='Choose "replicated" or "sample".',
        )
    if weights == "replicated" and (who.rows > who.count).any():
        raise PolicyError(
            f"Owners of {_named(cells)} have several rows, and weights = 'replicated'.",
            hint='It isn\'t known which owner a replicated unit has. Write weights = "sample".',
        )
    top = sum_largest(np.nan_to_num(largest), who.weights, who.count, weights)
    return Shares(total=total, top=top)


def _numbers(cells: CellSystem, of: str, where: Bools) -> Floats:
    """Return how many contributors or rows each cell has; of counts, at worst the counts."""
    who = cells.contributors
    if who is None:
        known = np.full(cells.n, np.nan)
    else:
        rows = np.where(who.rows < 0, np.nan, who.rows)  # of a ready table nobody may know them
        known = who.count if of == "contributors" else rows
    number = np.where(np.isnan(known) & (cells.is_count | (cells.value == 0)), cells.value, known)
    if (unknown := np.isnan(number) & where).any():
        raise DataError(
            f"{int(unknown.sum())} of {cells.n} cells of {_named(cells)} don't say how many "
            f"{of} they have.",
            hint="Name the column of contributors of each ready table.",
        )
    return number


def absolute_sums(cells: CellSystem) -> Floats:
    """Return the sums of absolute contributions; the absolute value where nobody knows."""
    value = np.abs(cells.value)
    if cells.contributors is None:
        return value
    known = cells.contributors.absolute
    return np.where(np.isnan(known), value, known)


def is_nonnegative(cells: CellSystem) -> bool:
    """Whether no contribution is negative: everybody knows then that no cell is below 0."""
    return bool((absolute_sums(cells) <= cells.value * (1 + 1e-9)).all())


def _least(cells: CellSystem) -> float:
    """Return what a cell of 0 counts as where a level is a share of it: the least other cell."""
    absolute = absolute_sums(cells)
    others = absolute[absolute > 0]
    return 1.0 if cells.is_count or not len(others) else float(others.min())


def _total(cells: CellSystem, at: int) -> int:
    dimension = cells.dimensions[at]
    return dimension.position[dimension.total]


def _named(cells: CellSystem) -> str:
    return "counts" if cells.measure is None else f"column {cells.measure!r}"


def _needs(rule: CellRule) -> str:
    if isinstance(rule, ClassDisclosure):
        return f"It is for tables of counts that cross the dimension {rule.dimension!r}."
    return "It is for tables of sums: name the column under the key value of a table."
