"""Flips of predictions by an attacker who only asks for labels, with values that occur.

A row moves towards rows that are predicted otherwise. The move is cut short by bisection, single
columns are moved further for a shorter way, and those that aren't needed are put back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from halfmask._errors import DataError, ParameterError
from halfmask._foreign import foreign
from halfmask._validation import integer_at_least, number_between
from halfmask.assess.robustness._budget import (
    SLACK,
    as_columns,
    combined,
    is_number,
    is_whole,
    numbers,
)
from halfmask.assess.robustness._cost_to_flip import costs_of, with_cells
from halfmask.assess.robustness._features import as_rows

if TYPE_CHECKING:
    from halfmask.assess._arrays import Bools, Floats, Ints, Model, Rows, Values
    from halfmask.assess.robustness._budget import AttackerBudget
    from halfmask.assess.robustness._cost_to_flip import CostToFlip

#: So many rows are asked at a time, and so many are changed at a time.
_ASKED: Final = 200_000
_BLOCK: Final = 4_000
#: So many rows that occur are looked at; of the nearest ones so many are tried, at once and later.
_POOL: Final = 1500
_TRIED: Final = 12
_NEAR: Final = 100
#: So many moves of a row are bisected at once, and so many corners are tried in a round.
_KEPT: Final = 3
_CORNERS: Final = 12
_HALVINGS: Final = 8


def flip_by_labels(
    model: Model,
    rows: Rows,
    budget: AttackerBudget,
    *,
    seen: Rows | None = None,
    difference: float | None = None,
    only_seen: bool = True,
    effort: int = 10,
    random_state: int = 0,
) -> CostToFlip:
    """Flip rows by asking for labels alone; with `only_seen` by no number that doesn't occur.

    Effort is how many rounds look for shorter ways.
    """
    integer_at_least(0, owner="flip_by_labels", effort=effort)
    table, known, budget, base = asked_of(model, rows, budget, seen, difference)
    search = _Search(model, table, known, budget, base, difference, only_seen=only_seen)
    rng = np.random.default_rng(random_state)
    with np.errstate(invalid="ignore", divide="ignore"):  # of missing and infinite cells
        search.move_to_known(rng)
        for _ in range(effort):
            if budget.norm != "greatest":
                search.put_back()
            search.move_columns(rng)
        search.put_back()
        changed, flips = search.decoded(search.every, search.best), np.isfinite(search.cost)
        return costs_of(table, changed, budget, flips, np.full(len(flips), np.nan))


def asked_of(
    model: Model, rows: Rows, budget: AttackerBudget, seen: Rows | None, difference: float | None
) -> tuple[pl.DataFrame, pl.DataFrame, AttackerBudget, Values]:
    """Return rows and seen ones as tables, the budget of both, and what is predicted; checked."""
    table = as_columns(rows)
    known = table if seen is None else as_columns(seen)
    if not table.height:
        raise DataError("There are no rows to change.")
    budget = budget.for_rows(known)
    budget.for_rows(table)  # the same columns, of the same kinds
    if difference is not None:
        number_between(0, np.inf, owner="cost_to_flip", low_open=True, difference=difference)
    base = predictions(model, table)
    is_class = base.dtype.kind not in "iuf" or hasattr(model, "classes_")
    if is_class != (difference is None) and (is_class or base.dtype.kind == "f"):
        raise ParameterError(
            "A model of numbers needs difference=, and one of classes can't have it.",
            hint="Say by how much a predicted number must change, in its unit.",
        )
    return table, known, budget, base


def predictions(model: Model, rows: pl.DataFrame) -> Values:
    """Return what a model with ``predict``, or a function, predicts of rows; checked."""
    ask: Any = getattr(model, "predict", model)
    with foreign(f"The model failed to predict {rows.height:,} rows"):
        found = np.asarray(ask(rows if ask is model else as_rows(model, rows)))
        found = found[:, 0] if found.ndim == 2 and found.shape[1] == 1 else found
        labels = np.unique(found) if found.dtype.kind == "O" else found  # None and mixed types fail
        is_missing = (labels != labels).any()  # noqa: PLR0124 # NaN alone isn't itself
    if found.shape != (rows.height,) or is_missing:
        raise DataError(
            f"The model must predict one value, not NaN, for each of {rows.height:,} rows."
        )
    return found


def differ(base: Values, other: Values, difference: float | None) -> Bools:
    """Return which predictions are others, or by at least a difference."""
    if difference is None:
        return np.asarray(base != other)
    return np.asarray(np.abs(np.subtract(other, base, dtype=np.float64)) >= difference)


class _Search:
    """The cheapest change of each row so far; texts go by their place in ``words``."""

    def __init__(
        self, model: Model, rows: pl.DataFrame, seen: pl.DataFrame, budget: AttackerBudget,
        base: Values, difference: float | None, *, only_seen: bool,
    ) -> None:  # fmt: skip
        self.model, self.rows, self.seen, self.budget = model, rows, seen, budget
        self.difference, self.only_seen = difference, only_seen
        self.base, self.every = base, np.arange(rows.height)
        free = {name: it for name, it in budget.columns.items() if it.change != "no"}
        self.columns, self.counts = list(free), budget.norm == "columns"
        self.words = {
            name: pl.concat([rows[name], seen[name]]).drop_nulls().unique().sort()
            for name in free
            if not is_number(rows[name])
        }
        self.units = np.array([1.0 if self.counts else it.cost or 1.0 for it in free.values()])
        self.own, self.known = self._coded(rows), self._coded(seen)
        self.values = [np.unique(column[~np.isnan(column)]) for column in self.known.T]
        self.low, self.high = self.own.copy(), self.own.copy()
        for j, (name, it) in enumerate(free.items()):
            if name in self.words:
                chosen = self.words[name].is_in(it.categories or ()).to_numpy()
                self.values[j] = np.flatnonzero(chosen).astype(float)
            else:
                self.low[:, j], self.high[:, j] = budget.interval(rows[name])
        tied = {name for it in budget.relations for name in it.terms}
        self.tied = [j for j, name in enumerate(free) if name in tied]
        self.best, self.cost = self.own.copy(), np.full(rows.height, np.inf)

    def _coded(self, rows: pl.DataFrame) -> Floats:
        cells = [
            rows[it].cast(pl.Enum(self.words[it])).to_physical() if it in self.words else rows[it]
            for it in self.columns
        ]
        return np.column_stack([numbers(it) for it in cells])

    def decoded(self, index: Ints, cells: Floats) -> pl.DataFrame:
        """Return rows with other cells."""
        return with_cells(self.rows[index], self.columns, self.words, self.own[index], cells)

    def _costs(self, own: Floats, cells: Floats) -> Floats:
        """Return the cost of each changed cell, whether the limits allow it or not."""
        by = np.abs(cells - own)
        is_unit = np.array([self.counts or name in self.words for name in self.columns])
        return np.asarray(np.nan_to_num(self.units * np.where(is_unit, by > 0, by)))

    def _total(self, index: Ints, cells: Floats) -> Floats:
        return combined(self._costs(self.own[index], cells), self.budget.norm)

    def _fitted(self, index: Ints, wanted: Floats, level: Floats) -> Floats:
        """Return cells as near to those wanted as limits and a cost of each column allow."""
        own, reach = self.own[index], level[:, None] / self.units
        low = np.maximum(self.low[index], own - reach)
        made = np.clip(wanted, low, np.minimum(self.high[index], own + reach))
        for j, (name, values) in enumerate(zip(self.columns, self.values, strict=True)):
            if name in self.words:
                is_allowed = np.isin(wanted[:, j], values) & (reach[:, j] >= 1)
                made[:, j] = np.where(is_allowed, wanted[:, j], own[:, j])
            elif self.only_seen and j not in self.tied:  # values that occur, on the way
                ends = np.concatenate([[-np.inf], values, [np.inf]])
                below = ends[np.searchsorted(values, made[:, j], "right")]
                above = ends[np.searchsorted(values, made[:, j], "left") + 1]
                up = made[:, j] > own[:, j]
                made[:, j] = np.where(
                    up, np.maximum(own[:, j], below), np.minimum(own[:, j], above)
                )
        if self.tied:  # rows on the way between two that have a relation have it
            shares = (made - own)[:, self.tied] / (wanted - own)[:, self.tied]
            share = np.nanmin(np.column_stack([shares, np.ones(len(own))]), axis=1)[:, None]
            made[:, self.tied] = own[:, self.tied] + share * (wanted - own)[:, self.tied]
        whole = np.array([is_whole(self.rows.schema[name]) for name in self.columns])
        made = np.where(whole, own + np.trunc((made - own) * (1 + SLACK)), made)
        return np.where(np.isnan(own) | np.isnan(made), own, made)

    def _flips(self, index: Ints, cells: Floats) -> Bools:
        found = np.zeros(len(index), dtype=bool)
        for first in range(0, len(index), _ASKED):
            part = slice(first, first + _ASKED)
            changed = self.decoded(index[part], cells[part])
            made = predictions(self.model, changed)
            found[part] = differ(self.base[index[part]], made, self.difference)
            for it in self.budget.relations:
                found[part] &= ~it.holds(self.rows[index[part]]) | it.holds(changed)
        return found

    def _take(self, index: Ints, cells: Floats, *, is_flip: bool = True) -> Ints:
        """Take what flips and is cheaper than the row's best; return which those are."""
        cost = self._total(index, cells)
        tried = np.flatnonzero((cost > 0) & (cost < self.cost[index] * (1 - SLACK)))
        hits = tried if is_flip else tried[self._flips(index[tried], cells[tried])]
        order = hits[np.argsort(-cost[hits], kind="stable")]  # the cheapest of a row is last
        self.best[index[order]], self.cost[index[order]] = cells[order], cost[order]
        return hits

    def _shorten(self, index: Ints, cells: Floats) -> None:
        """Bisect how far each column moves."""
        high = self._costs(self.own[index], cells).max(axis=1, initial=0.0)
        low = np.zeros(len(index))
        for _ in range(0 if self.counts else _HALVINGS):
            level = (low + high) / 2
            made = self._fitted(index, cells, level)
            flips = self._flips(index, made)
            self._take(index[flips], made[flips])
            low, high = np.where(flips, low, level), np.where(flips, level, high)

    def move_to_known(self, rng: np.random.Generator) -> None:
        """Move rows towards the nearest known rows that are predicted otherwise."""
        drawn = rng.permutation(len(self.known))[: 10 * _POOL]
        labels = predictions(self.model, self.seen[drawn])
        kinds = np.unique(labels) if self.difference is None else [labels]
        each = [np.flatnonzero(labels == kind) for kind in kinds]
        pool = np.concatenate([it[: max(_NEAR, _POOL // len(kinds))] for it in each])
        self.others, near = self.known[drawn[pool]], []
        for part in np.array_split(self.every, 1 + len(self.every) // 500):
            there = self._costs(self.own[part][:, None], self.others)
            flips = differ(self.base[part][:, None], labels[pool], self.difference)
            far = np.where(flips, combined(there, self.budget.norm), np.inf)
            near.append(np.argsort(far, axis=1, kind="stable")[:, :_NEAR])
        self.near = np.concatenate(near).T  # the nearest of each row, the next one of each row, ...
        chosen = self.near[:_TRIED]
        index = np.tile(self.every, len(chosen))
        made = self._fitted(index, self.others[chosen.ravel()], np.full(len(index), np.inf))
        cost = np.where(self._flips(index, made), self._total(index, made), np.inf)
        ranks = np.argsort(cost.reshape(chosen.shape), axis=0, kind="stable")[:_KEPT]
        best = (ranks * len(self.every) + self.every).ravel()
        best = best[np.isfinite(cost[best])]
        self._take(index[best], made[best])
        self._shorten(index[best], made[best])

    def move_columns(self, rng: np.random.Generator) -> None:
        """Look for cheaper changes: of one column, to corners, and towards near known rows."""
        for rows in np.array_split(self.every, 1 + len(self.every) // _BLOCK):
            made, level = self._changed(rows, rng)
            steps, _, d = made.shape
            index = np.tile(rows, steps)
            made = self._fitted(index, made.reshape(-1, d), np.tile(level, steps))
            better = np.unique(index[self._take(index, made, is_flip=False)])
            self._shorten(better, self.best[better])

    def _changed(self, rows: Ints, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Return what is tried next, (steps, rows, columns), and the level of each row."""
        best = self.best[rows]
        n, d = best.shape
        known = self.known[rng.integers(len(self.known), size=(n, d)), np.arange(d)]
        sides = (self.low[rows], self.high[rows], known)
        corners = np.choose(rng.integers(4, size=(_CORNERS, n, d)), (*sides[:2], best, best))
        drawn = self.near[rng.integers(len(self.near), size=(2 * _CORNERS, n)), rows]
        made = np.concatenate([np.tile(best, (3 * d, 1, 1)), corners, self.others[drawn]])
        if self.budget.norm != "greatest":  # few columns cost less, from one to all
            is_back = rng.random(made.shape) < rng.random((len(made), n, 1))
            made = np.where(is_back, self.own[rows], made)
        for step in range(3 * d):
            made[step, :, step // 3] = sides[step % 3][:, step // 3]
        return made, self.cost[rows] * (np.inf if self.counts else rng.uniform(0.5, 0.98, n))

    def put_back(self) -> None:
        """Put back the columns that aren't needed, the costliest first."""
        costs = self._costs(self.own, self.best)
        for j in np.argsort(-costs.mean(axis=0), kind="stable"):
            index = np.flatnonzero(costs[:, j] > 0)
            made = self.best[index]
            made[:, j] = self.own[index, j]
            flips = self._flips(index, made)
            self.best[index[flips]] = made[flips]
        there = np.isfinite(self.cost)
        self.cost[there] = self._total(self.every, self.best)[there]
