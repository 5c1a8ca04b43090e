"""The lattice of full-domain generalizations, and the levels of a coded column."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from halfmask.anonymize.coding import Coding

#: One level for each column, in the order of the columns: a node of the lattice.
Levels: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lattice:
    """All nodes between a least and a greatest level of each column.

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
        """Yield the nodes with one column a level higher."""
        for place, level in enumerate(levels):
            if level < self.greatest[place]:
                yield (*levels[:place], level + 1, *levels[place + 1 :])

    def below(self, levels: Levels) -> Iterator[Levels]:
        """Yield the nodes with one column a level lower."""
        for place, level in enumerate(levels):
            if level > self.least[place]:
                yield (*levels[:place], level - 1, *levels[place + 1 :])

    def exchanged(self, levels: Levels) -> Iterator[Levels]:
        """Yield the nodes with one column a level lower and another a level higher."""
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


#: What is written for the root of a column that has no hierarchy.
ROOT_LABEL = "*"


def lattice_column(coding: Coding, codes: NDArray[np.integer]) -> LatticeColumn:
    """Return a coded column as the lattice has it."""
    rows = np.bincount(codes, minlength=coding.n_codes).astype(np.int64)
    raw = np.arange(coding.n_codes, dtype=np.int32)
    nodes = [raw, *(_nodes(coding, level) for level in range(1, _root(coding)))]
    if _root(coding):
        nodes.append(np.zeros(coding.n_codes, dtype=np.int32))
    return LatticeColumn(
        name=coding.column.name, nodes=tuple(nodes), rows=rows, weight=coding.column.weight
    )


def root_label(coding: Coding, level: int) -> str | None:
    """Return what is written for all cells of a column, if the level is its root."""
    if not level or level != _root(coding):
        return None
    hierarchy = coding.hierarchy
    if hierarchy is None or level >= hierarchy.height:
        return ROOT_LABEL
    return hierarchy.labels(level)[0]


def spans_at_level(
    coding: Coding, level: int, low: NDArray[np.int64], high: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the least and greatest value below the node of each span of values.

    -1 stands for classes whose cells are all missing, which stay so below the root.
    """
    if not coding.n_values:
        return low, high
    if level and level == _root(coding):
        return np.zeros_like(low), np.full_like(high, coding.n_values - 1)
    nodes = _nodes(coding, level)[: coding.n_values] if level else np.arange(coding.n_values)
    found = low >= 0
    first, last = low.copy(), high.copy()
    first[found] = np.searchsorted(nodes, nodes[low[found]], side="left")
    last[found] = np.searchsorted(nodes, nodes[high[found]], side="right") - 1
    return first, last


def _root(coding: Coding) -> int:
    """Return the level at which all cells of a column are one; 0 if there is but one value."""
    if coding.hierarchy is None:
        return 1
    height = coding.hierarchy.height
    return height - 1 if height > 1 or not coding.missing else 1


def _nodes(coding: Coding, level: int) -> NDArray[np.int32]:
    """Return the node of each code at a level of a hierarchy below the root, ascending."""
    apart = coding.boundaries > level
    return np.concatenate([[0], np.cumsum(apart)]).astype(np.int32)
