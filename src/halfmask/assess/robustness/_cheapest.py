"""The cheapest change of numbers and switches under linear constraints, by mixed programming."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from scipy.optimize import Bounds, LinearConstraint, milp

from halfmask.assess.robustness._cells import unit_of
from halfmask.assess.robustness.budget import numbers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halfmask.assess._arrays import Bools, Floats
    from halfmask.assess.robustness.budget import AttackerBudget, Norm

_NEAR = 1e-9


class Switch(NamedTuple):
    """Another category of a column, and what a score gains by it."""

    column: str
    category: Any
    gain: float


class Constraints(NamedTuple):
    """Sums of numbers and switches, and between what they must be; groups take one switch."""

    numbers: Floats
    switches: Floats
    least: Floats
    most: Floats


def _cheapest(
    x: Floats, ends: tuple[Floats, Floats], unit: Floats, price: Floats, held: Constraints,
    norm: Norm,
) -> tuple[Floats, Bools] | None:  # fmt: skip
    """Return the numbers and switches of the least cost; ``None`` where there are none.

    The variables are numbers, their costs, whether they change, switches, and the greatest cost.
    """
    n, s = len(x), len(price)
    one, none, by = np.eye(n), np.zeros((n, n)), np.diag(unit)
    apart, greatest, unused = np.zeros((n, s)), np.zeros((n, 1)), np.zeros((len(held.least), 1))
    far = np.diag(unit * np.maximum(ends[1] - x, x - ends[0]) + 1e-9)
    rows = [
        np.block([by, -one, none, apart, greatest]),  # costs are at least the changes
        np.block([-by, -one, none, apart, greatest]),
        np.block([none, one, -far, apart, greatest]),  # that cost anything are changed
        np.block([none, one, none, apart, greatest - 1.0]),
        np.block([np.zeros((s, 3 * n)), np.diag(price), np.zeros((s, 1)) - 1.0]),
        np.hstack([held.numbers, 0 * held.numbers, 0 * held.numbers, held.switches, unused]),
    ]
    most = [unit * x, -unit * x, np.zeros(2 * n + s), held.most]
    least = [np.full(4 * n + s, -np.inf), held.least]
    counts, sums, greatest_of = (float(norm == it) for it in ("columns", "sum", "greatest"))
    little = 1e-7 / (n + s + 1)  # of changes that cost nothing, the fewest
    goal = [np.zeros(n), np.full(n, sums + little), np.full(n, counts)]
    goal += [sums * price + counts + little, np.array([greatest_of])]
    found = milp(
        np.concatenate(goal),
        integrality=np.concatenate([np.zeros(2 * n), np.full(n, counts), np.ones(s), [0]]),
        bounds=Bounds(
            np.concatenate([ends[0], np.zeros(2 * n + s + 1)]),
            np.concatenate([ends[1], np.full(n, np.inf), np.ones(n + s), [np.inf]]),
        ),
        constraints=LinearConstraint(
            np.concatenate(rows), np.concatenate(least), np.concatenate(most)
        ),
    )
    if found.x is None:
        return None
    return found.x[:n], found.x[3 * n : 3 * n + s] > 1 / 2


def change_related(
    budget: AttackerBudget,
    row: pl.DataFrame,
    ends: Mapping[str, tuple[float, float]],
    slopes: Mapping[str, float] | None = None,
    need: float = 0.0,
    switches: Sequence[Switch] = (),
) -> pl.DataFrame | None:
    """Return the cheapest change of a row that keeps its relations, within ends of numbers.

    With slopes, a score must gain what is needed by numbers and categories.
    """
    kept = [it for it in budget.relations if it.holds(row)[0]]
    names = list(dict.fromkeys([*ends, *(name for it in kept for name in it.terms)]))
    x = np.array([numbers(row[name])[0] for name in names])
    pairs = [budget.interval(name, x[j : j + 1]) for j, name in enumerate(names)]
    low, high = np.array(pairs).reshape(len(names), 2).T
    box = np.array([ends.get(name, (-np.inf, np.inf)) for name in names])
    low, high = np.maximum(low, box[:, 0]), np.minimum(high, box[:, 1])
    if (low > high).any():
        return None
    columns = list(dict.fromkeys(it.column for it in switches))
    of = np.array([[it.column == name for it in switches] for name in columns])
    terms = [[it.terms.get(name, 0.0) for name in names] for it in kept]
    most = [it.most for it in kept] + [1.0] * len(columns)
    least = [it.most if it.is_equal else -np.inf for it in kept] + [-np.inf] * len(columns)
    gains = np.array([(slopes or {}).get(name, 0.0) for name in names])
    held = Constraints(
        np.array([*terms, *[[0.0] * len(names)] * len(columns), gains]),
        np.array([*[[0.0] * len(switches)] * len(kept), *of, [it.gain for it in switches]]).reshape(
            len(least) + 1, len(switches)
        ),
        np.array([*least, gains @ x + need]),
        np.array([*most, np.inf]),
    )
    unit = np.array([unit_of(budget, name) for name in names])
    price = np.array([unit_of(budget, it.column) for it in switches])
    found = _cheapest(x, (low, high), unit, price, held, budget.norm)
    if found is None:
        return None
    new = np.where(np.abs(found[0] - x) <= _NEAR * (np.abs(x) + 1), x, np.clip(found[0], low, high))
    made = [
        pl.Series(name, [value])
        for name, value, old in zip(names, new, x, strict=True)
        if value != old
    ]
    made += [
        pl.Series(it.column, [it.category], dtype=row.schema[it.column])
        for it, on in zip(switches, found[1], strict=True)
        if on
    ]
    return row.with_columns(made)
