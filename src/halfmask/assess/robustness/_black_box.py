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
from halfmask.assess.robustness._budget import SLACK, as_columns, combined, is_number, numbers
from halfmask.assess.robustness._cost_to_flip import CostToFlip
from halfmask.assess.robustness._features import as_rows

if TYPE_CHECKING:
    from halfmask.assess._arrays import Bools, Floats, Ints, Model, Rows, Values
    from halfmask.assess.robustness._budget import AttackerBudget

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
    """Find what it costs to flip each row, by asking for labels alone.

    Parameters
    ----------
    model
        A model with ``predict``, or a function from rows to labels.
    rows
        The rows to be changed, as the model takes them.
    budget
        What may be changed, and at what cost. Costs above its `most` are found, too.
    seen
        Rows whose values the attacker writes; by default `rows`.
    difference
        By how much a number that is predicted must change; regressors need it.
    only_seen
        Whether only values that occur are written, or any number within the limits.
    effort
        How many rounds look for shorter ways; more never costs more.
    random_state
        The seed of what is tried.

    Raises
    ------
    DataError
        If the model fails, or predicts NaN.
    ParameterError
        If a regressor's `difference` is missing.
    """
    integer_at_least(0, owner="flip_by_labels", effort=effort)
    table, known, budget, base = asked_of(model, rows, budget, seen, difference)
    search = _Search(model, _Moves(table, known, budget, only_seen=only_seen), base, difference)
    rng = np.random.default_rng(random_state)
    with np.errstate(invalid="ignore", divide="ignore"):  # of missing and infinite cells
        search.move_to_known(rng)
        for _ in range(effort):
            if budget.norm != "greatest":
                search.put_back()
            search.move_columns(rng)
        search.put_back()
        return search.result()


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


class _Moves:
    """What may be written into rows: numbers, and texts by their place in ``words``."""

    def __init__(
        self, rows: pl.DataFrame, known: pl.DataFrame, budget: AttackerBudget, *, only_seen: bool
    ) -> None:
        self.only_seen = only_seen
        self.rows, self.seen, self.budget = rows, known, budget
        self.columns = [name for name, it in budget.columns.items() if it.change != "no"]
        self.words = {
            name: pl.concat([rows[name], known[name]]).drop_nulls().unique().sort()
            for name in self.columns
            if not is_number(rows[name])
        }
        each = [budget.columns[name] for name in self.columns]
        self.units = np.array([it.cost or 1.0 for it in each])
        self.own, self.known = self._coded(rows), self._coded(known)
        self.values = [np.unique(column[~np.isnan(column)]) for column in self.known.T]
        self.low, self.high = self.own.copy(), self.own.copy()
        for j, name in enumerate(self.columns):
            if name in self.words:
                chosen = self.words[name].is_in(each[j].categories or ()).to_numpy()
                self.values[j] = np.flatnonzero(chosen).astype(float)
            else:
                self.low[:, j], self.high[:, j] = budget.interval(rows[name])
        tied = {name for it in budget.relations for name in it.terms}
        self.tied = [j for j, name in enumerate(self.columns) if name in tied]

    def _coded(self, rows: pl.DataFrame) -> Floats:
        cells = [
            rows[it].cast(pl.Enum(self.words[it])).to_physical() if it in self.words else rows[it]
            for it in self.columns
        ]
        return np.column_stack([numbers(it) for it in cells])

    def decoded(self, index: Ints, cells: Floats) -> pl.DataFrame:
        """Return rows with other cells."""
        made = []
        for name, column in zip(self.columns, cells.T, strict=True):
            series = pl.Series(name, column, nan_to_null=True)
            if name in self.words:
                series = self.words[name].gather(series.cast(pl.UInt32)).alias(name)
            made.append(series.cast(self.rows.schema[name]))
        return self.rows[index].with_columns(made)

    def costs(self, own: Floats, cells: Floats) -> Floats:
        """Return the cost of each changed cell, whether the limits allow it or not."""
        by = np.abs(cells - own)
        counts = self.budget.norm == "columns"
        is_whole = np.array([counts or name in self.words for name in self.columns])
        units = np.ones(len(self.units)) if counts else self.units
        return np.nan_to_num(units * np.where(is_whole, by > 0, by))

    def total(self, index: Ints, cells: Floats) -> Floats:
        """Return the cost of each changed row."""
        return combined(self.costs(self.own[index], cells), self.budget.norm)

    def fitted(self, index: Ints, wanted: Floats, level: Floats) -> Floats:
        """Return cells as near to those wanted as limits and a cost of each column allow."""
        own, reach = self.own[index], level[:, None] / self.units
        low = np.maximum(self.low[index], own - reach)
        made = np.clip(wanted, low, np.minimum(self.high[index], own + reach))
        for j, (name, values) in enumerate(zip(self.columns, self.values, strict=True)):
            if name in self.words:
                is_allowed = np.isin(wanted[:, j], values) & (reach[:, j] >= 1)
                made[:, j] = np.where(is_allowed, wanted[:, j], own[:, j])
            elif self.only_seen and j not in self.tied and len(values):
                made[:, j] = _occurring(own[:, j], made[:, j], values)
        if self.tied:  # rows on the way between two that have a relation have it
            shares = (made - own)[:, self.tied] / (wanted - own)[:, self.tied]
            share = np.nanmin(np.column_stack([shares, np.ones(len(own))]), axis=1)[:, None]
            made[:, self.tied] = own[:, self.tied] + share * (wanted - own)[:, self.tied]
        kinds = [self.rows.schema[name] for name in self.columns]
        whole = np.array([it.is_integer() or it == pl.Boolean for it in kinds])
        made = np.where(whole, own + np.trunc((made - own) * (1 + SLACK)), made)
        return np.where(np.isnan(own) | np.isnan(made), own, made)


def _occurring(own: Floats, wanted: Floats, values: Floats) -> Floats:
    """Return the values that occur next to those wanted, on the way from the row's own."""
    goes_up = wanted > own
    place = np.searchsorted(values, wanted, side="right") - 1
    place = np.where(goes_up, place, np.searchsorted(values, wanted, side="left"))
    found = values[np.clip(place, 0, len(values) - 1)]
    is_between = np.where(
        goes_up, (own < found) & (found <= wanted), (wanted <= found) & (found < own)
    )
    return np.where(is_between, found, own)


class _Search:
    """The cheapest change of each row so far."""

    def __init__(self, model: Model, moves: _Moves, base: Values, difference: float | None) -> None:
        self.model, self.moves, self.base, self.difference = model, moves, base, difference
        self.every = np.arange(moves.rows.height)
        self.best, self.cost = moves.own.copy(), np.full(len(self.every), np.inf)

    def _differ(self, base: Values, other: Values) -> Bools:
        if self.difference is None:
            return np.asarray(base != other)
        return np.asarray(np.abs(np.subtract(other, base, dtype=np.float64)) >= self.difference)

    def _flips(self, index: Ints, cells: Floats) -> Bools:
        found = np.zeros(len(index), dtype=bool)
        for first in range(0, len(index), _ASKED):
            part = slice(first, first + _ASKED)
            changed = self.moves.decoded(index[part], cells[part])
            flips = self._differ(self.base[index[part]], predictions(self.model, changed))
            for it in self.moves.budget.relations:
                flips &= ~it.holds(self.moves.rows[index[part]]) | it.holds(changed)
            found[part] = flips
        return found

    def _offer(self, index: Ints, cells: Floats) -> Ints:
        """Take what flips and is cheaper than the row's best; return which those are."""
        cost = self.moves.total(index, cells)
        tried = np.flatnonzero((cost > 0) & (cost < self.cost[index] * (1 - SLACK)))
        hits = tried[self._flips(index[tried], cells[tried])]
        self._take(index[hits], cells[hits], cost[hits])
        return hits

    def _take(self, index: Ints, cells: Floats, cost: Floats) -> None:
        order = np.argsort(-cost, kind="stable")  # the cheapest of a row is last
        self.best[index[order]], self.cost[index[order]] = cells[order], cost[order]

    def _shorten(self, index: Ints, cells: Floats) -> None:
        """Bisect how far each column moves."""
        high = self.moves.costs(self.moves.own[index], cells).max(axis=1, initial=0.0)
        low = np.zeros(len(index))
        for _ in range(_HALVINGS if self.moves.budget.norm != "columns" else 0):
            level = (low + high) / 2
            made = self.moves.fitted(index, cells, level)
            flips = self._flips(index, made)
            self._offer(index[flips], made[flips])
            low, high = np.where(flips, low, level), np.where(flips, level, high)

    def move_to_known(self, rng: np.random.Generator) -> None:
        """Move rows towards the nearest known rows that are predicted otherwise."""
        drawn = rng.permutation(len(self.moves.known))[: 10 * _POOL]
        labels = predictions(self.model, self.moves.seen[drawn])
        kinds = np.unique(labels) if self.difference is None else [labels]
        each = [np.flatnonzero(labels == kind) for kind in kinds]
        pool = np.concatenate([it[: max(_NEAR, _POOL // len(kinds))] for it in each])
        others, labels = self.moves.known[drawn[pool]], labels[pool]
        near = []
        for part in np.array_split(self.every, 1 + len(self.every) // 500):
            there = self.moves.costs(self.moves.own[part][:, None], others)
            far = np.where(self._differ(self.base[part][:, None], labels), 0.0, np.inf)
            far += combined(there, self.moves.budget.norm)
            near.append(np.argsort(far, axis=1, kind="stable")[:, :_NEAR])
        chosen = np.concatenate(near).T  # the nearest of each row, the next one of each row, ...
        self.others, self.near, chosen = others, chosen, chosen[:_TRIED]
        index = np.tile(self.every, len(chosen))
        made = self.moves.fitted(index, others[chosen.ravel()], np.full(len(index), np.inf))
        cost = np.where(self._flips(index, made), self.moves.total(index, made), np.inf)
        ranks = np.argsort(cost.reshape(chosen.shape), axis=0, kind="stable")[:_KEPT]
        best = (ranks * len(self.every) + self.every).ravel()
        best = best[np.isfinite(cost[best])]
        self._take(index[best], made[best], cost[best])
        self._shorten(index[best], made[best])

    def move_columns(self, rng: np.random.Generator) -> None:
        """Look for cheaper changes: of one column, to corners, and towards near known rows."""
        for rows in np.array_split(self.every, 1 + len(self.every) // _BLOCK):
            made, level = self._changed(rows, rng)
            steps, _, d = made.shape
            index = np.tile(rows, steps)
            made = self.moves.fitted(index, made.reshape(-1, d), np.tile(level, steps))
            better = np.unique(index[self._offer(index, made)])
            self._shorten(better, self.best[better])

    def _changed(self, rows: Ints, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Return what is tried next, (steps, rows, columns), and the level of each row."""
        moves, best = self.moves, self.best[rows]
        n, d = best.shape
        known = moves.known[rng.integers(len(moves.known), size=(n, d)), np.arange(d)]
        sides = (moves.low[rows], moves.high[rows], known)
        corners = np.choose(rng.integers(4, size=(_CORNERS, n, d)), (*sides[:2], best, best))
        drawn = self.near[rng.integers(len(self.near), size=(2 * _CORNERS, n)), rows]
        made = np.concatenate([np.tile(best, (3 * d, 1, 1)), corners, self.others[drawn]])
        if moves.budget.norm != "greatest":  # few columns cost less, from one to all
            is_back = rng.random(made.shape) < rng.random((len(made), n, 1))
            made = np.where(is_back, moves.own[rows], made)
        for step in range(3 * d):
            made[step, :, step // 3] = sides[step % 3][:, step // 3]
        share = np.inf if moves.budget.norm == "columns" else rng.uniform(0.5, 0.98, n)
        return made, self.cost[rows] * share

    def put_back(self) -> None:
        """Put back the columns that aren't needed, the costliest first."""
        costs = self.moves.costs(self.moves.own, self.best)
        for j in np.argsort(-costs.mean(axis=0), kind="stable"):
            index = np.flatnonzero(costs[:, j] > 0)
            made = self.best[index]
            made[:, j] = self.moves.own[index, j]
            flips = self._flips(index, made)
            self.best[index[flips]] = made[flips]
        self.cost = np.where(
            np.isfinite(self.cost), self.moves.total(self.every, self.best), np.inf
        )

    def result(self) -> CostToFlip:
        """Return the costs as the budget itself counts them."""
        changed = self.moves.decoded(self.every, self.best)
        cost = self.moves.budget.cost_of(self.moves.rows, changed)
        n = len(self.every)
        return CostToFlip(
            certified=np.full(n, np.nan),
            found=np.where(np.isfinite(self.cost), cost, np.inf),
            exact=np.zeros(n, dtype=bool),
            changed=self.moves.costs(self.moves.own, self.best) > 0,
            columns=tuple(self.moves.columns),
            most=self.moves.budget.most,
            flipped=changed,
        )
