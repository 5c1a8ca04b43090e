"""The lattice of full-domain generalizations, and what a level makes of a column's codes."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

#: One level for each column, in the order of the columns: a node of the lattice.
Levels: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lattice:
    """All nodes between a least and a greatest level of each column.

    Parameters
    ----------
    least, greatest
        The lowest and the highest level of each column that a search may choose, both included.

    Examples
    --------
    >>> lattice = Lattice(least=(0, 0), greatest=(1, 2))
    >>> lattice.n_nodes, list(lattice.above((1, 1))), list(lattice.below((1, 1)))
    (6, [(1, 2)], [(0, 1), (1, 0)])
    """

    least: Levels
    greatest: Levels

    @property
    def n_nodes(self) -> int:
        """The number of nodes, exact at any size."""
        return prod(self.shape)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of levels of each column."""
        return tuple(high - low + 1 for low, high in zip(self.least, self.greatest, strict=True))

    def above(self, levels: Levels) -> Iterator[Levels]:
        """Yield the nodes with one column a level higher.

        Parameters
        ----------
        levels
            The node.
        """
        for place, level in enumerate(levels):
            if level < self.greatest[place]:
                yield (*levels[:place], level + 1, *levels[place + 1 :])

    def below(self, levels: Levels) -> Iterator[Levels]:
        """Yield the nodes with one column a level lower.

        Parameters
        ----------
        levels
            The node.
        """
        for place, level in enumerate(levels):
            if level > self.least[place]:
                yield (*levels[:place], level - 1, *levels[place + 1 :])

    def exchanged(self, levels: Levels) -> Iterator[Levels]:
        """Yield the nodes with one column a level lower and another a level higher.

        Parameters
        ----------
        levels
            The node.
        """
        for lower in self.below(levels):
            for higher in self.above(lower):
                if higher != levels:
                    yield higher


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LatticeColumn:
    """A quasi-identifier in the lattice.

    Parameters
    ----------
    name
        The column.
    nodes
        For each level, lowest first, the node of each code, numbered from 0: (codes,). Level 0 is
        the codes themselves; the top level needn't be a single node.
    rows
        How many rows of the table have each code, (codes,).
    weight
        How much the column's loss counts.
    """

    name: str
    nodes: tuple[NDArray[np.int32], ...]
    rows: NDArray[np.int64]
    weight: float = 1.0

    def __repr__(self) -> str:
        return f"LatticeColumn({self.name!r}, {len(self.nodes)} levels)"

    @property
    def n_levels(self) -> int:
        """The number of levels, level 0 included."""
        return len(self.nodes)

    def codes_below(self, level: int) -> NDArray[np.int64]:
        """Return how many codes each node of a level stands for.

        Parameters
        ----------
        level
            The level.
        """
        return np.bincount(self.nodes[level]).astype(np.int64)

    def rows_below(self, level: int) -> NDArray[np.int64]:
        """Return how many rows of the table each node of a level stands for.

        Parameters
        ----------
        level
            The level.
        """
        return np.bincount(self.nodes[level], weights=self.rows).astype(np.int64)
