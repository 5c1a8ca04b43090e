"""Junction trees: cliques of columns in which every measured table has a place."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, Self, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
