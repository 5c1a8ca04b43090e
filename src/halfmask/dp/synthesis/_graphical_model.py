"""A graphical model on a junction tree that fits noisy tables of counts, and rows drawn from it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, Self, TypeAlias

import numpy as np
from scipy.special import logsumexp

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

#: Places of columns, ascending.
Columns: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JunctionTree:
    """Cliques in an order in which each but the first hangs on an earlier one."""

    cliques: tuple[Columns, ...]
    parents: tuple[int, ...]
    separators: tuple[Columns, ...]

    @classmethod
    def of(cls, tables: Iterable[Columns], shape: Sequence[int]) -> Self:
        """Return a tree in which each table lies in a clique, and each column in one at least.

        Notes
        -----
        Columns are eliminated by the least clique that this makes (Koller and Friedman,
        "Probabilistic Graphical Models" (2009), section 9.4.3.2); cliques are joined by a spanning
        tree of the largest separators.
        """
        cliques = _maximal(_eliminated(tables, shape))
        chosen, parents = [0], [-1]
        separators: list[Columns] = [()]
        best = {i: (len(set(cliques[0]) & set(cliques[i])), 0) for i in range(1, len(cliques))}
        while best:
            here = max(best, key=lambda i: (best[i][0], -i))
            parent = best.pop(here)[1]
            shared = set(cliques[here]) & set(cliques[chosen[parent]])
            parents.append(parent)
            separators.append(tuple(sorted(shared)))
            chosen.append(here)
            for i, (size, _) in list(best.items()):
                more = len(set(cliques[here]) & set(cliques[i]))
                if more > size:
                    best[i] = more, len(chosen) - 1
        return cls(
            cliques=tuple(cliques[i] for i in chosen),
            parents=tuple(parents),
            separators=tuple(separators),
        )

    def home(self, columns: Columns) -> int:
        """Return the place of the smallest clique that holds all of some columns."""
        wanted = set(columns)
        return min(
            (i for i, clique in enumerate(self.cliques) if wanted <= set(clique)),
            key=lambda i: len(self.cliques[i]),
        )


def cells_needed(tables: Iterable[Columns], shape: Sequence[int]) -> int:
    """Return how many cells the cliques of a tree for these tables have together."""
    return sum(prod(shape[i] for i in clique) for clique in _maximal(_eliminated(tables, shape)))


def _eliminated(tables: Iterable[Columns], shape: Sequence[int]) -> list[Columns]:
    """Return the clique that the elimination of each column makes."""
    near: dict[int, set[int]] = {i: set() for i in range(len(shape))}
    for table in tables:
        for i, j in combinations(table, 2):
            near[i].add(j)
            near[j].add(i)
    costs = {i: _cost(i, near, shape) for i in near}
    cliques = []
    while near:
        here = min(costs, key=lambda i: (costs[i], i))
        others = near.pop(here)
        del costs[here]
        cliques.append(tuple(sorted((here, *others))))
        for i in others:
            near[i] |= others
            near[i] -= {i, here}
        for i in others:
            costs[i] = _cost(i, near, shape)
    return cliques


def _cost(column: int, near: dict[int, set[int]], shape: Sequence[int]) -> int:
    return shape[column] * prod(shape[i] for i in near[column])


def _maximal(cliques: list[Columns]) -> list[Columns]:
    """Return cliques without those that lie in another."""
    kept: list[Columns] = []
    for clique in sorted(set(cliques), key=lambda it: (-len(it), it)):
        if not any(set(clique) <= set(other) for other in kept):
            kept.append(clique)
    return kept


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoisyTable:
    """Counts of some columns with noise."""

    columns: Columns
    counts: NDArray[np.float64]
    scale: float

    def joined(self, other: NoisyTable) -> NoisyTable:
        """Return what two measurements of the same columns say together."""
        weights = self.scale**-2, other.scale**-2
        total = sum(weights)
        return NoisyTable(
            columns=self.columns,
            counts=(self.counts * weights[0] + other.counts * weights[1]) / total,
            scale=total**-0.5,
        )


class GraphicalModel:
    """The distribution of largest entropy that is nearest to noisy tables.

    McKenna, Sheldon and Miklau, "Graphical-model based estimation and inference for differential
    privacy" (2019): entropic mirror descent, with marginals by belief propagation.
    """

    def __init__(self, shape: Sequence[int]) -> None:
        self.shape = tuple(shape)
        self.total = 1.0
        self.tree = JunctionTree.of([], shape)
        self._potentials: dict[Columns, NDArray[np.float64]] = {}
        self._marginals = self._propagated({})

    def fit(self, tables: Mapping[Columns, NoisyTable], *, steps: int) -> Self:
        """Fit the model to tables, beginning with what it has learnt before."""
        self.tree = JunctionTree.of(tables, self.shape)
        self.total = _total(tables)
        homes = {columns: self.tree.home(columns) for columns in tables}
        potentials = {
            columns: self._potentials.get(columns, np.zeros(table.counts.shape))
            for columns, table in tables.items()
        }
        marginals = self._propagated(potentials)
        loss, slopes = self._loss(marginals, tables, homes)
        pace = 2.0 / sum((self.total / table.scale) ** 2 for table in tables.values())
        for _ in range(steps):
            trial = {columns: potentials[columns] - pace * slopes[columns] for columns in tables}
            found = self._propagated(trial)
            new_loss, new_slopes = self._loss(found, tables, homes)
            if new_loss <= loss:
                potentials, marginals, slopes = trial, found, new_slopes
                done = loss - new_loss <= 1e-7 * loss
                loss, pace = new_loss, pace * 1.3
                if done:
                    break
            else:
                pace *= 0.5
        self._potentials, self._marginals = potentials, marginals
        return self

    def marginal(self, columns: Columns) -> NDArray[np.float64] | None:
        """Return the expected counts of some columns; ``None`` where no clique holds them all."""
        wanted = set(columns)
        for clique, marginal in zip(self.tree.cliques, self._marginals, strict=True):
            if wanted <= set(clique):
                return _summed(marginal, clique, columns) * self.total
        return None

    def sample(self, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return rows as codes, (columns, rows); counts in a clique are rounded expectations."""
        codes = np.zeros((len(self.shape), n), dtype=np.int64)
        for clique, separator, marginal in zip(
            self.tree.cliques, self.tree.separators, self._marginals, strict=True
        ):
            rest = tuple(i for i in clique if i not in separator)
            if not rest:
                continue
            table = np.moveaxis(
                marginal, [clique.index(i) for i in separator], range(len(separator))
            ).reshape(prod(self.shape[i] for i in separator), -1)
            groups = _places(codes, separator, self.shape)
            drawn = _drawn(table, groups, rng)
            codes[list(rest)] = np.unravel_index(drawn, [self.shape[i] for i in rest])
        return codes

    def _propagated(
        self, potentials: Mapping[Columns, NDArray[np.float64]]
    ) -> list[NDArray[np.float64]]:
        """Return the probabilities of each clique, by two passes of messages over the tree."""
        tree = self.tree
        beliefs = [np.zeros([self.shape[i] for i in clique]) for clique in tree.cliques]
        for columns, potential in potentials.items():
            home = tree.home(columns)
            beliefs[home] += _spread(potential, columns, tree.cliques[home])
        messages = [np.zeros(()) for _ in tree.cliques]
        for i in range(len(tree.cliques) - 1, 0, -1):
            messages[i] = _log_summed(beliefs[i], tree.cliques[i], tree.separators[i])
            parent = tree.parents[i]
            beliefs[parent] += _spread(messages[i], tree.separators[i], tree.cliques[parent])
        for i in range(1, len(tree.cliques)):
            parent, separator = tree.parents[i], tree.separators[i]
            above = _log_summed(beliefs[parent], tree.cliques[parent], separator)
            beliefs[i] += _spread(above - messages[i], separator, tree.cliques[i])
        constant = logsumexp(beliefs[0])
        return [np.exp(belief - constant) for belief in beliefs]

    def _loss(
        self,
        marginals: Sequence[NDArray[np.float64]],
        tables: Mapping[Columns, NoisyTable],
        homes: Mapping[Columns, int],
    ) -> tuple[float, dict[Columns, NDArray[np.float64]]]:
        """Return half the squared distance in standard deviations, and its slope for each table."""
        loss, slopes = 0.0, {}
        for columns, table in tables.items():
            home = homes[columns]
            expected = _summed(marginals[home], self.tree.cliques[home], columns)
            apart = (expected * self.total - table.counts) / table.scale
            loss += float((apart * apart).sum()) / 2
            slopes[columns] = apart * (self.total / table.scale)
        return loss, slopes


def _total(tables: Mapping[Columns, NoisyTable]) -> float:
    """Return the number of rows that all tables say together, 1 at least."""
    weights = [1 / (table.counts.size * table.scale**2) for table in tables.values()]
    sums = [float(table.counts.sum()) for table in tables.values()]
    return max(1.0, float(np.average(sums, weights=weights)))


def _spread(table: NDArray[np.float64], columns: Columns, clique: Columns) -> NDArray[np.float64]:
    """Return a table with an axis for each column of a clique."""
    sizes = iter(table.shape)
    return table.reshape([next(sizes) if i in columns else 1 for i in clique])


def _summed(table: NDArray[np.float64], clique: Columns, columns: Columns) -> NDArray[np.float64]:
    axes = tuple(axis for axis, i in enumerate(clique) if i not in columns)
    return np.asarray(table.sum(axis=axes))


def _log_summed(
    table: NDArray[np.float64], clique: Columns, columns: Columns
) -> NDArray[np.float64]:
    axes = tuple(axis for axis, i in enumerate(clique) if i not in columns)
    if not axes:
        return table
    most = table.max(axis=axes, keepdims=True)
    with np.errstate(divide="ignore"):
        total = np.log(np.exp(table - most).sum(axis=axes))
    return np.asarray(total + most.reshape(total.shape))


def _places(codes: NDArray[np.int64], columns: Columns, shape: Sequence[int]) -> NDArray[np.int64]:
    """Return the place of each row in a table of some columns."""
    found = np.zeros(codes.shape[1], dtype=np.int64)
    for i in columns:
        found = found * shape[i] + codes[i]
    return found


def _drawn(
    table: NDArray[np.float64], groups: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return a column of the table for each row; a group's counts are its rounded shares."""
    order = rng.permutation(len(groups))
    order = order[np.argsort(groups[order], kind="stable")]
    sizes = np.bincount(groups, minlength=len(table))
    found, start = np.empty(len(groups), dtype=np.int64), 0
    for group in np.flatnonzero(sizes):
        size = int(sizes[group])
        shares = table[group]
        total = shares.sum()
        shares = shares / total if total > 0 else np.full(len(shares), 1 / len(shares))
        # Systematic sampling: each count is its expectation, rounded down or up.
        ends = np.cumsum(shares) * size
        points = np.arange(size) + rng.random()
        drawn = np.minimum(np.searchsorted(ends, points, side="right"), len(shares) - 1)
        found[order[start : start + size]] = drawn
        start += size
    return found
