"""Rows, budgets and trees in cells of columns: what all cuts of a column make of its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import numpy as np
import polars as pl

from halfmask.assess.robustness._budget import is_whole, numbers
from halfmask.assess.robustness._cost_to_flip import with_cells
from halfmask.assess.robustness._features import CategoryFeatures, NumberFeature
from halfmask.kernels.attacks.flips import Forest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.assess._arrays import Bools, Floats, Ints
    from halfmask.assess.robustness._budget import AttackerBudget
    from halfmask.assess.robustness._features import FeatureMap
    from halfmask.assess.robustness._trees import ScoredTree

    Cells = NDArray[np.int32]

_WORD: Final = 64
#: Roundings that a number is past an edge, as a pipeline rounds otherwise, and their doublings.
_ROUNDINGS, _NUDGES = 64, 60
_NORMS: Final = ("greatest", "sum", "columns")


class NumberCells:
    """The cells of one column: a cell ends where a feature of it passes a threshold."""

    def __init__(self, features: list[NumberFeature], table: CellTable, mapped: FeatureMap) -> None:
        self.features, trees = features, table.trees
        self.trees, kind = trees, table.rows.schema.get(features[0].column, pl.Float64())
        self.kind, self.is_whole = kind, is_whole(kind)
        self.far = max(abs(it.shift / it.scale) for it in features)
        inner = trees.left >= 0
        self.nodes = [np.flatnonzero(inner & (trees.feature == it.feature)) for it in features]
        cuts = (np.unique(trees.threshold[it]) for it in self.nodes)
        self.cuts = [it[np.isfinite(it)] for it in cuts]  # missing cells alone pass infinite ones
        pairs = list(zip(features, self.cuts, strict=True))
        self._own = [(trees.edges(cuts) - it.shift) / it.scale for it, cuts in pairs]
        self._every = self.edges = np.sort(np.concatenate(self._own))
        self.index = np.arange(len(self.edges) + 1)
        self.own = self.of_features([table.features[:, it.feature] for it in features])
        # Cells narrower than what a pipeline rounds, or without a whole number where cells are
        # whole, can't be written: they end with the one below.
        near = 2 * _ROUNDINGS * np.spacing(np.abs(self.edges[1:]) + self.far)
        ends, narrow = np.stack([self.edges, self.edges]), np.diff(self.edges) <= near
        if self.is_whole and len(self.edges):  # the last number on the left, the next on the right
            last = np.rint(self.edges)
            asked = pl.Series(features[0].column, last).cast(kind, strict=False)
            made = mapped.features(table.rows[[0] * len(last)].with_columns(asked))
            last -= self.of_features([made[:, it.feature] for it in features]) > self.index[:-1]
            ends, narrow = np.stack([last, last + 1]), np.diff(last) <= 0
        kept = np.ones(len(self.index), dtype=bool)
        kept[1:-1] = ~narrow | np.isin(self.index[1:-1], self.own) if len(narrow) else True
        self.index, self.ends = np.cumsum(kept) - 1, ends[:, kept[1:]]
        self.own = np.where(self.own < 0, -1, self.index[self.own]).astype(np.int32)

    def of_features(self, values: list[Floats]) -> Cells:
        """Return how many cuts numbers are past; -1 where one is missing."""
        past = np.zeros(len(values[0]), dtype=np.int64)
        side: Literal["left", "right"] = "right" if self.trees.is_strict else "left"
        for cuts, value in zip(self.cuts, values, strict=True):
            over = np.searchsorted(cuts, value.astype(self.trees.precision), side)
            past += over
        return np.where(np.isnan(values[0]), -1, self.index[past]).astype(np.int32)

    def of_numbers(self, cells: Floats) -> Cells:
        """Return the cells of what is in the column."""
        return self.of_features([cells * it.scale + it.shift for it in self.features])

    def place(self, cut: Cells) -> None:
        """Write the last cell on the left of each node."""
        for nodes, cuts, edges in zip(self.nodes, self.cuts, self._own, strict=True):
            at = np.searchsorted(cuts, self.trees.threshold[nodes])
            cut[nodes] = self.index[np.searchsorted(self._every, np.append(edges, np.inf)[at])]

    def nearest(self, cell: Cells, own: Cells) -> Floats:
        """Return the number in each cell that is nearest to another cell; infinite at the end."""
        up, ends = cell > own, np.pad(self.ends, ((0, 0), (1, 1)), constant_values=np.inf)
        edge = ends[up.astype(np.int64), np.where(up, cell, cell + 1)]
        if self.is_whole:
            return edge
        inside = np.isfinite(edge)
        size = np.spacing(np.abs(np.where(inside, edge, 0.0)) + self.far)
        step = np.where(up, _ROUNDINGS, -_ROUNDINGS) * size
        number = edge + step
        for _ in range(_NUDGES):
            number = numbers(pl.Series(number).cast(self.kind, strict=False))  # what it can hold
            here = self.of_numbers(number)
            short = inside & np.where(up, here < cell, here > cell)
            if not short.any():
                break
            step *= 2
            number = np.where(short, edge + step, number)
        return np.where(inside & (self.of_numbers(number) != cell), edge, number)


class CategoryCodes:
    """The codes of one column: its categories, then what rows have that is none of them."""

    def __init__(self, features: CategoryFeatures, rows: Floats) -> None:
        self.features = features
        codes: dict[bytes, int] = {}
        every = [*features.values, *rows[:, np.array(features.features)]]
        found = [codes.setdefault((each + 0.0).tobytes(), i) for i, each in enumerate(every)]
        known = len(features.values)
        place = {it: i for i, it in enumerate(dict.fromkeys([*range(known), *found]))}
        self.values = np.array([every[it] for it in place])
        self.own = np.array([place[it] for it in found[known:]], dtype=np.int32)


class CellTable:
    """All columns of a model in cells and codes, and what a budget lets of them be changed."""

    def __init__(
        self, mapped: FeatureMap, trees: ScoredTree, rows: pl.DataFrame, budget: AttackerBudget
    ) -> None:
        self.rows, self.trees, self.budget = rows, trees, budget
        self.features = mapped.features(rows)
        read = {it.feature for it in mapped.numbers}.union(
            *(it.features for it in mapped.categories)
        )
        by_sets = {int(trees.feature[node]) for node in trees.on_left} - read
        constant = [
            NumberFeature(f"\0{it}", it) for it in set(range(mapped.n_features)) - read - by_sets
        ]
        by_set = [CategoryFeatures(f"\0{it}", (it,), (), np.empty((0, 1))) for it in by_sets]
        by_name: dict[str, list[NumberFeature]] = {}
        for number in (*mapped.numbers, *constant):
            by_name.setdefault(number.column, []).append(number)
        self.numbers = {name: NumberCells(it, self, mapped) for name, it in by_name.items()}
        self.codes = {
            it.column: CategoryCodes(it, self.features) for it in (*mapped.categories, *by_set)
        }
        self.names = (*self.numbers, *self.codes)
        n, shape = len(self.names), (rows.height, len(self.names))
        self.own, self.x, self.unit = np.zeros(shape, dtype=np.int32), np.zeros(shape), np.ones(n)
        words = max([2, *((len(it.values) - 1) // _WORD + 1 for it in self.codes.values())])
        self.allowed = np.zeros((*shape, words), dtype=np.int64)
        self.is_category = np.arange(n) >= len(self.numbers)
        for c, name in enumerate(self.names):
            self.unit[c] = unit_of(budget, name)
            if name in self.numbers:
                self._fill(c, budget)
                continue
            codes = self.codes[name]
            self.own[:, c] = codes.own
            free = np.zeros((shape[0], words * _WORD), dtype=bool)
            if codes.features.categories:
                free[:, : len(codes.features.categories)] = may_write(budget, codes.features, rows)
            free[np.arange(shape[0]), codes.own] = True
            self.allowed[:, c] = _bits(free)

    def _fill(self, c: int, budget: AttackerBudget) -> None:
        cells, ends = self.numbers[self.names[c]], self.allowed[:, c]
        own = self.own[:, c] = ends[:, 0] = ends[:, 1] = cells.own
        if self.names[c] in self.rows.columns:
            self.x[:, c] = numbers(self.rows[self.names[c]])
            low, high = budget.interval(self.rows[self.names[c]])
            there = ~np.isnan(self.x[:, c])  # an infinite number may be changed: one column
            ends[there, 0] = np.minimum(own, cells.of_numbers(low))[there]
            ends[there, 1] = np.maximum(own, cells.of_numbers(high))[there]

    def forest(self, norm: str) -> Forest:
        """Return the trees in cells and codes; what their leaves gain is to be filled in."""
        trees, inner = self.trees, self.trees.left >= 0
        column, cut = np.zeros((2, len(inner)), dtype=np.int32)
        left, right = trees.left.astype(np.int32), trees.right.astype(np.int32)
        sets: list[Bools] = []
        for c, name in enumerate(self.names):
            if name in self.numbers:
                for nodes in self.numbers[name].nodes:
                    column[nodes] = c
                self.numbers[name].place(cut)
                continue
            codes = self.codes[name]
            for place, feature in enumerate(codes.features.features):
                nodes = np.flatnonzero(inner & (trees.feature == feature))
                asked = np.stack([trees.threshold[nodes], trees.missing_left[nodes]])
                _, first, which = np.unique(asked, axis=1, return_index=True, return_inverse=True)
                column[nodes], cut[nodes] = c, which + len(sets)
                for node in nodes[first]:
                    on_left = np.zeros(self.allowed.shape[2] * _WORD, dtype=bool)
                    on_left[: len(codes.values)] = trees.goes_left(node, codes.values[:, place])
                    sets.append(on_left)
        parent = np.full(len(inner), -1, dtype=np.int32)
        parent[left[inner]] = parent[right[inner]] = np.flatnonzero(inner)
        ends = [*(it.ends for it in self.numbers.values()), np.zeros((2, 1))]
        starts = np.cumsum([0, *[it.shape[1] for it in ends[:-1]], *[0] * len(self.codes)])
        sets.append(np.zeros(self.allowed.shape[2] * _WORD, dtype=bool))
        return Forest(
            column, cut, left, right, parent, trees.missing_left,
            np.zeros(len(inner)), trees.roots.astype(np.int32),
            self.is_category, starts, np.ascontiguousarray(np.hstack(ends)),  # or compiled again
            _bits(np.array(sets)), self.unit, _NORMS.index(norm),
        )  # fmt: skip

    def changed(self, cells: Cells) -> pl.DataFrame:
        """Return the rows with the nearest value of each cell that isn't their own."""
        own = np.where(self.is_category, self.own, self.x)
        new, moved = np.where(self.is_category, cells, own), cells != self.own
        for c in np.flatnonzero(moved.any(axis=0) & ~self.is_category):
            here = np.flatnonzero(moved[:, c])
            nearest = self.numbers[self.names[c]].nearest(cells[here, c], self.own[here, c])
            new[here, c] = np.clip(nearest, *self.budget.interval(self.rows[self.names[c]][here]))
        texts = {name: pl.Series(it.features.categories) for name, it in self.codes.items()}
        return with_cells(self.rows, self.names, texts, own, new)


def may_write(budget: AttackerBudget, group: CategoryFeatures, rows: pl.DataFrame) -> Bools:
    """Return which categories may be written into which rows."""
    allowed = budget.columns.get(group.column)
    chosen = () if allowed is None or allowed.change == "no" else allowed.categories or ()
    free = np.array([it in chosen for it in group.categories])
    return np.outer(rows[group.column].is_not_null().to_numpy(), free)


def unit_of(budget: AttackerBudget, column: str) -> float:
    """Return the cost of a unit of a number, or of another category."""
    allowed = budget.columns.get(column)
    return 1.0 if allowed is None else allowed.cost or 1.0


def _bits(flags: Bools) -> Ints:
    packed = np.packbits(flags, axis=-1, bitorder="little")
    return np.ascontiguousarray(packed).view(np.dtype("<i8")).astype(np.int64)
