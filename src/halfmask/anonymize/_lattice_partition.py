"""A partition of rows by one level for each column: full-domain generalization."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask.anonymize._partition import Partition, balanced_tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.anonymize.lattice import Levels, NodeScore


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFacts:
    """How a node was found.

    Parameters
    ----------
    nodes
        How many nodes the lattice has.
    judged
        How many of them were grouped and judged.
    optimal
        Whether it is proven that no node that keeps the guarantees has less loss.
    near
        The nodes with the least loss, the best first, as many as were asked for.
    """

    nodes: int
    judged: int
    optimal: bool
    near: tuple[NodeScore, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LatticePartition(Partition):
    """The classes of a node: rows that share a node in every column.

    The tree is one over the classes' numbers, as if they were the only column: so classes are
    dropped as in any other partition. A row is found by the nodes of its codes.

    Parameters
    ----------
    feature, cut, left, right, low, high, sizes
        As of :class:`Partition`.
    levels
        The level of each column.
    heights
        The highest level of each column.
    node_of_code
        The node of each code of each column.
    nodes
        The node of each class in each column, (classes, columns).
    facts
        How the levels were found.
    """

    levels: Levels
    heights: Levels
    node_of_code: tuple[NDArray[np.int32], ...]
    nodes: NDArray[np.int32]
    facts: SearchFacts

    @property
    def rounds(self) -> tuple[LatticePartition, ...]:
        """The partition of each round: this one alone."""
        return (self,)

    def __repr__(self) -> str:
        return f"LatticePartition({self.n_cells} cells of {int(self.sizes.sum())} rows)"

    def levels_of(self, place: int) -> NDArray[np.int64]:
        """Return the level of a column in each cell, the same in all.

        Parameters
        ----------
        place
            The place of the column.
        """
        return np.full(self.n_cells, self.levels[place], dtype=np.int64)

    def details(self, columns: Sequence[str]) -> dict[str, Any]:
        """Return the level of each column, and how they were found.

        Parameters
        ----------
        columns
            The names of the columns.
        """
        return {
            "levels": dict(zip(columns, self.levels, strict=True)),
            "heights": dict(zip(columns, self.heights, strict=True)),
            "nodes": self.facts.nodes,
            "nodes_judged": self.facts.judged,
            "optimal": self.facts.optimal,
        }

    def cells_of(self, codes: Sequence[NDArray[np.int64]]) -> NDArray[np.int32]:
        """Return the cell of each row; -1 where none has its nodes.

        It is -1 where a code is negative, too.

        Parameters
        ----------
        codes
            For each column, in the order of the fit, the codes of the rows.
        """
        from halfmask.kernels.lattice.grouping import same_groups  # noqa: PLC0415 # the compiler loads late

        placed = np.logical_and.reduce([column >= 0 for column in codes])
        rows = np.empty((len(codes), int(placed.sum())), dtype=np.int32)
        for place, (nodes, column) in enumerate(zip(self.node_of_code, codes, strict=True)):
            rows[place] = nodes[column[placed]]
        widths = np.array([int(nodes.max(initial=0)) + 1 for nodes in self.node_of_code])
        found = np.full(len(placed), -1, dtype=np.int64)
        found[placed] = same_groups(np.ascontiguousarray(self.nodes.T), rows, widths)
        cells = np.full(len(placed), -1, dtype=np.int32)
        held = found >= 0
        cells[held] = Partition.cells_of(self, [found[held]])
        return cells

    def renumbered(self, target: NDArray[np.int64], *, sizes: NDArray[np.int64]) -> Partition:
        """Return the partition with classes dropped.

        Parameters
        ----------
        target
            The new number of each old class; -1 for one whose rows are suppressed.
        sizes
            How many rows each new class has.
        """
        fewer = Partition.renumbered(self, target, sizes=sizes)
        assert isinstance(fewer, LatticePartition)  # noqa: S101 # `replace` keeps the class
        feature, cut, left, right = balanced_tree(len(sizes))
        nodes = self.nodes[target >= 0]
        return replace(fewer, feature=feature, cut=cut, left=left, right=right, nodes=nodes)
