"""What flips the predictions of linear models: exact, in closed form."""

from __future__ import annotations

from itertools import permutations, product
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from halfmask.assess.robustness._budget import numbers
from halfmask.assess.robustness._cells import may_write, unit_of, with_cells

if TYPE_CHECKING:
    import polars as pl

    from halfmask.assess._arrays import Bools, Floats, Ints, Model, Values
    from halfmask.assess.robustness._budget import AttackerBudget
    from halfmask.assess.robustness._features import FeatureMap

#: The rounding of a score, relative to its terms; a found change gains as much more.
_ROUNDED: Final = 1e-12
#: The rounding of sums.
_TINY = 1e-14


class _Goal(NamedTuple):
    """Which rows flip once a score, now below 0, reaches it."""

    rows: Ints
    weights: Floats
    score: Floats


class _Steps(NamedTuple):
    """What each row's columns can gain, and at what cost: a category gains all or nothing."""

    gain: Floats
    cost: Floats
    to: Floats  # the number or the place of the category that gains most
    is_whole: Bools


class LinearSearch:
    """The costs of rows of a linear model."""

    def __init__(
        self, mapped: FeatureMap, rows: pl.DataFrame, goals: list[_Goal], budget: AttackerBudget
    ) -> None:
        self.mapped, self.rows, self.goals, self.budget = mapped, rows, goals, budget
        self.features, self.names = mapped.features(rows), mapped.columns
        self.groups = {it.column: it for it in mapped.categories}
        none = np.full(rows.height, np.nan)
        self.own = np.column_stack(
            [none if it in self.groups else numbers(rows[it]) for it in self.names]
        )
        self.new = self.own.copy()
        self.certified, self.found = np.full((2, rows.height), np.inf)
        solve = {"greatest": _by_greatest, "sum": _by_sum, "columns": _by_count}[budget.norm]
        for at, weights, score in goals:
            steps = self._steps(at, weights)
            rounded = _ROUNDED * (1 + np.abs(self.features[at]) @ np.abs(weights))
            least, _ = solve(steps, np.maximum(-score - rounded, 0.0))
            cost, share = solve(steps, -score + rounded)
            self.certified[at] = np.minimum(self.certified[at], least)
            own, to = self.own[at], np.where(share > 0, steps.to, self.own[at])
            made = np.where(steps.is_whole | (share >= 1), to, own + share * (to - own))
            better = cost < self.found[at]
            self.found[at[better]], self.new[at[better]] = cost[better], made[better]

    @classmethod
    def of(
        cls, model: Model, mapped: FeatureMap, rows: pl.DataFrame, budget: AttackerBudget,
        predicted: Values, difference: float | None,
    ) -> LinearSearch | None:  # fmt: skip
        """Search all rows; ``None`` of other models."""
        if not hasattr(model, "coef_") or not hasattr(model, "intercept_"):
            return None
        features, weights = mapped.features(rows), np.atleast_2d(np.asarray(model.coef_, float))
        scores, every = features @ weights.T + model.intercept_, np.arange(rows.height)
        told = (model.predict if difference is not None else model.decision_function)(features)
        told = np.reshape(told, (rows.height, -1))
        if scores.shape != told.shape or not np.allclose(scores, told, rtol=1e-6, atol=1e-9):
            return None
        if difference is not None:
            far = np.full(rows.height, -difference)
            goals = [_Goal(every, sign * weights[0], far) for sign in (1, -1)]
            return cls(mapped, rows, goals, budget)
        if weights.shape[0] == 1:
            weights, scores = np.vstack([0 * weights, weights]), np.hstack([0 * scores, scores])
        own = predicted[:, None] == model.classes_
        goals = [
            _Goal(
                every[own[:, p]], weights[q] - weights[p], (scores[:, q] - scores[:, p])[own[:, p]]
            )
            for p, q in permutations(range(len(weights)), 2)
        ]
        return cls(mapped, rows, [it for it in goals if len(it.rows)], budget)

    def _steps(self, at: Ints, weights: Floats) -> _Steps:
        gain, cost, to = np.zeros((3, len(at), len(self.names)))
        for c, name in enumerate(self.names):
            unit = unit_of(self.budget, name)
            if name in self.groups:
                gains = self._gains(at, weights, name)
                to[:, c], gain[:, c] = gains.argmax(axis=1), np.maximum(gains.max(axis=1), 0.0)
                cost[:, c] = np.where(gain[:, c] > 0, unit, 0.0)
                continue
            slope, own = self._slope(weights, name), self.own[at, c]
            to[:, c] = self.budget.interval(name, own)[int(slope > 0)]
            far = np.abs(np.nan_to_num(to[:, c] - own))
            gain[:, c], cost[:, c] = abs(slope) * far, unit * far
        return _Steps(gain, cost, to, np.array([name in self.groups for name in self.names]))

    def _slope(self, weights: Floats, name: str) -> float:
        of = [it for it in self.mapped.numbers if it.column == name]
        return float(sum(weights[it.feature] * it.scale for it in of))

    def _gains(self, at: Ints, weights: Floats, name: str) -> Floats:
        """Return what rows' scores gain by each category; minus infinity if it isn't allowed."""
        group, features = self.groups[name], np.array(self.groups[name].features)
        own = self.features[np.ix_(at, features)] @ weights[features]
        gains = group.values @ weights[features] - own[:, None]
        return np.where(may_write(self.budget, group, self.rows[at]), gains, -np.inf)

    def changed(self, at: Ints) -> pl.DataFrame:
        """Return rows with what flips them."""
        return with_cells(self.rows[at], self.names, self.groups, self.own[at], self.new[at])


def _by_greatest(steps: _Steps, need: Floats) -> tuple[Floats, Floats]:
    """Spend the same on each column, up to the end of the column, until the gain is enough."""
    n, columns = steps.gain.shape
    order = np.argsort(steps.cost, axis=1)
    ends = np.take_along_axis(steps.cost, order, axis=1)
    gain = np.take_along_axis(steps.gain, order, axis=1)
    whole = steps.is_whole[order]
    rate = np.divide(gain, ends, out=np.zeros_like(gain), where=~whole & (ends > 0))
    cost, left, spent = np.full(n, np.inf), rate.sum(axis=1), np.zeros(n)
    gained = np.zeros(n)
    cost[need <= 0] = 0.0
    for j in range(columns):
        ahead = np.divide(need - gained, left, out=np.full(n, np.inf), where=left > _TINY)
        hit = ~np.isfinite(cost) & (spent + ahead <= ends[:, j])
        cost[hit] = (spent + ahead)[hit]
        gained += left * (ends[:, j] - spent) + np.where(whole[:, j], gain[:, j], 0.0)
        spent, left = ends[:, j], left - rate[:, j]
        hit = ~np.isfinite(cost) & (gained >= need)
        cost[hit] = spent[hit]
    share = np.divide(cost[:, None], steps.cost, out=np.zeros_like(gain), where=steps.cost > 0)
    share = np.where(steps.is_whole, share >= 1, np.minimum(share, 1.0))
    return cost, np.asarray(np.where(np.isfinite(cost)[:, None], share, 0.0))


def _by_sum(steps: _Steps, need: Floats) -> tuple[Floats, Floats]:
    """Change each number of categories that cost the same, then the numbers that gain most."""
    n, columns = steps.gain.shape
    wholes, parts = np.flatnonzero(steps.is_whole), np.flatnonzero(~steps.is_whole)
    price = steps.cost[:, wholes].max(axis=0, initial=0.0)
    kinds = [wholes[price == each] for each in np.unique(price)]
    ranks = [np.argsort(-steps.gain[:, it], axis=1, kind="stable") for it in kinds]
    cost, taken = np.full(n, np.inf), np.zeros((n, columns))
    per_cost = np.divide(
        steps.gain, steps.cost, out=np.zeros_like(steps.gain), where=steps.cost > 0
    )
    best_first = parts[np.argsort(-per_cost[:, parts].max(axis=0, initial=0.0))]
    for counts in product(*(range(len(it) + 1) for it in kinds)):
        share = np.zeros((n, columns))
        for kind, rank, count in zip(kinds, ranks, counts, strict=True):
            share[np.arange(n)[:, None], kind[rank[:, :count]]] = 1.0
        share *= steps.gain > 0
        for c in best_first:
            missing = need - (share * steps.gain).sum(axis=1)
            gain = steps.gain[:, c]
            share[:, c] = np.clip(np.divide(missing, gain, out=np.zeros(n), where=gain > 0), 0, 1)
        reached = (share * steps.gain).sum(axis=1) >= need * (1 - _TINY)
        spent = np.where(reached, (share * steps.cost).sum(axis=1), np.inf)
        better = spent < cost
        cost[better], taken[better] = spent[better], share[better]
    return cost, taken


def _by_count(steps: _Steps, need: Floats) -> tuple[Floats, Floats]:
    """Change the columns that gain most."""
    rank = np.argsort(-steps.gain, axis=1, kind="stable")
    gained = np.take_along_axis(steps.gain, rank, axis=1).cumsum(axis=1)
    count = np.where(need > 0, (gained < need[:, None]).sum(axis=1) + 1.0, 0.0)
    cost = np.where(count <= steps.gain.shape[1], count, np.inf)
    taken = np.argsort(rank, axis=1) < np.where(np.isfinite(cost), cost, 0)[:, None]
    return np.asarray(cost), np.asarray(taken * 1.0)
