"""What flips the predictions of linear models: exact, in closed form."""

from __future__ import annotations

from itertools import permutations, product
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import polars as pl

from halfmask.assess.robustness._budget import is_whole, numbers
from halfmask.assess.robustness._cells import may_write, unit_of
from halfmask.assess.robustness._cost_to_flip import with_cells

if TYPE_CHECKING:
    from halfmask.assess._arrays import Floats, Ints, Model, Values
    from halfmask.assess.robustness._budget import AttackerBudget
    from halfmask.assess.robustness._features import FeatureMap

#: The rounding of a score, relative to its terms; a found change gains as much more.
_ROUNDED: Final = 1e-12
#: The rounding of sums.
_TINY = 1e-14
#: So many steps are real numbers; halvings that find one of them.
_REAL, _HALVINGS = 2.0**52, 60
#: So many numbers of columns at each price are combined: the rest is bounded by real numbers.
_COMBINED: Final = 5_000


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
    n: Floats  # of equal steps of it, that of a category is one

    @property
    def kinds(self) -> list[Ints]:
        """The columns of one step that cost the same; none where too many would be combined."""
        single = np.flatnonzero((self.n == 1).all(axis=0))
        price = self.cost[:, single].max(axis=0, initial=0.0)
        kinds = [single[price == each] for each in np.unique(price)]
        return kinds if np.prod([len(it) + 1.0 for it in kinds]) <= _COMBINED else []

    def shares(self, spent: Floats) -> Floats:
        """Return how far each column gets for what is spent on each, in whole steps."""
        full = np.full_like(self.cost, np.inf)
        part = np.divide(spent[:, None], self.cost, out=full, where=self.cost > 0)
        return np.asarray(np.floor(np.minimum(part, 1.0) * self.n) / self.n)


def search_linear(
    model: Model, mapped: FeatureMap, rows: pl.DataFrame, budget: AttackerBudget,
    predicted: Values, difference: float | None,
) -> tuple[Floats, pl.DataFrame] | None:  # fmt: skip
    """Return what rows are certified to cost, and changed rows; ``None`` of other models."""
    needed = ["coef_", "intercept_", *["decision_function"] * (difference is None)]
    if not all(hasattr(model, it) for it in needed):
        return None
    weights = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_
    features, weights = mapped.features(rows), np.atleast_2d(np.asarray(weights, float))
    scores = features @ weights.T + model.intercept_
    own = (model.predict if difference is not None else model.decision_function)(features)
    own = np.reshape(own, (rows.height, -1))
    if scores.shape != own.shape or not np.allclose(scores, own, rtol=1e-6, atol=1e-9):
        return None
    if difference is not None:
        far, every = np.full(rows.height, -difference), np.arange(rows.height)
        goals = [_Goal(every, sign * weights[0], far) for sign in (1, -1)]
    else:
        if weights.shape[0] == 1:
            weights, scores = np.vstack([0 * weights, weights]), np.hstack([0 * scores, scores])
        own = [np.flatnonzero(predicted == label) for label in model.classes_]
        goals = [
            _Goal(own[p], weights[q] - weights[p], scores[own[p], q] - scores[own[p], p])
            for p, q in permutations(range(len(weights)), 2)
        ]
    groups = {it.column: it for it in mapped.categories}
    cells = np.full((rows.height, len(mapped.columns)), np.nan)
    for c, name in enumerate(mapped.columns):
        if name not in groups:
            cells[:, c] = numbers(rows[name])
    new, (certified, found) = cells.copy(), np.full((2, rows.height), np.inf)
    solve = {"greatest": _by_greatest, "sum": _by_sum, "columns": _by_count}[budget.norm]
    for at, slopes, score in [it for it in goals if len(it.rows)]:
        steps = relaxed = _steps(mapped, rows[at], features[at], slopes, budget)
        if budget.norm == "sum":  # whole numbers are a knapsack: bounded by real ones
            relaxed = steps._replace(n=np.full_like(steps.n, _REAL))
            for kind in steps.kinds:
                relaxed.n[:, kind] = 1.0
        rounded = _ROUNDED * (1 + np.abs(features[at]) @ np.abs(slopes))
        least, _ = solve(relaxed, np.maximum(-score - rounded, 0.0))
        cost, share = solve(steps, -score + rounded)
        certified[at] = np.minimum(certified[at], least)
        to = np.where(share > 0, steps.to, cells[at])
        made = np.where(share >= 1, to, cells[at] + share * (to - cells[at]))
        made = np.where(steps.n < _REAL, np.rint(made), made)
        better = cost < found[at]
        found[at[better]], new[at[better]] = cost[better], made[better]
    texts = {name: pl.Series(it.categories) for name, it in groups.items()}
    return certified, with_cells(rows, mapped.columns, texts, cells, new)


def _steps(
    mapped: FeatureMap, rows: pl.DataFrame, features: Floats, weights: Floats,
    budget: AttackerBudget,
) -> _Steps:  # fmt: skip
    """Return what each column gains a score of such weights."""
    gain, cost, to = np.zeros((3, rows.height, len(mapped.columns)))
    count, place = np.full_like(to, _REAL), {it: c for c, it in enumerate(mapped.columns)}
    slopes = dict.fromkeys([it.column for it in mapped.numbers], 0.0)
    for it in mapped.numbers:
        slopes[it.column] += weights[it.feature] * it.scale
    for name, slope in slopes.items():
        c, own = place[name], numbers(rows[name])
        to[:, c] = budget.interval(rows[name])[int(slope > 0)] if slope else own
        far = np.abs(np.nan_to_num(to[:, c] - own))
        gain[:, c], cost[:, c] = abs(slope) * far, unit_of(budget, name) * far
        if is_whole(rows[name].dtype):
            count[:, c] = np.maximum(far, 1.0)
    for group in mapped.categories:
        c, at = place[group.column], np.array(group.features)
        gains = group.values @ weights[at] - (features[:, at] @ weights[at])[:, None]
        gains = np.where(may_write(budget, group, rows), gains, -np.inf)
        gain[:, c] = np.maximum(gains.max(axis=1), 0.0)
        to[:, c] = np.where(gain[:, c] > 0, gains.argmax(axis=1), np.nan)  # else it stays
        cost[:, c] = np.where(gain[:, c] > 0, unit_of(budget, group.column), 0.0)
        count[:, c] = 1.0
    return _Steps(gain, cost, to, count)


def _by_greatest(steps: _Steps, need: Floats) -> tuple[Floats, Floats]:
    """Bisect what is spent on each column: more never gains less."""
    low, high = np.zeros(len(need)), steps.cost.max(axis=1, initial=0.0)
    for _ in range(_HALVINGS):
        spent = (low + high) / 2
        reached = (steps.shares(spent) * steps.gain).sum(axis=1) >= need
        low, high = np.where(reached, low, spent), np.where(reached, spent, high)
    cost = np.where(steps.gain.sum(axis=1) >= need, np.where(need > 0, high, 0.0), np.inf)
    return cost, np.where(np.isfinite(cost)[:, None], steps.shares(cost), 0.0)


def _by_sum(steps: _Steps, need: Floats) -> tuple[Floats, Floats]:
    """Change each number of categories that cost the same, then the numbers that gain most."""
    n, columns = steps.gain.shape
    kinds, every = steps.kinds, np.arange(n)
    ranks = [np.argsort(-steps.gain[:, it], axis=1, kind="stable") for it in kinds]
    cost, taken = np.full(n, np.inf), np.zeros((n, columns))
    per_cost = np.divide(
        steps.gain, steps.cost, out=np.zeros_like(steps.gain), where=steps.cost > 0
    )
    for kind in kinds:
        per_cost[:, kind] = -1.0
    best_first = np.argsort(-per_cost, axis=1)[:, : columns - sum(map(len, kinds))]
    for counts in product(*(range(len(it) + 1) for it in kinds)):
        share = np.zeros((n, columns))
        for kind, rank, count in zip(kinds, ranks, counts, strict=True):
            share[every[:, None], kind[rank[:, :count]]] = 1.0
        share *= steps.gain > 0
        for c in best_first.T:
            missing = need - (share * steps.gain).sum(axis=1)
            gain, count = steps.gain[every, c], steps.n[every, c]
            part = np.divide(missing, gain, out=np.zeros(n), where=gain > 0)
            share[every, c] = np.ceil(np.clip(part, 0, 1) * count) / count
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
