"""What a search of the lattice minimizes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.anonymize.lattice._lattice import LatticeColumn, Levels


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NodeClasses:
    """The classes of one node: those that are released, and how many rows are not.

    Parameters
    ----------
    levels
        The node.
    sizes
        The rows of each released class, (classes,).
    nodes
        The node of each released class in each column's hierarchy, (classes, columns).
    suppressed
        The rows that are suppressed.
    labels
        The rows of each label in each released class, (classes, labels), for an objective that
        needs a label.
    population
        The rows of the population in each released class, (classes,), where there is one.
    """

    levels: Levels
    sizes: NDArray[np.int64]
    nodes: NDArray[np.int32]
    suppressed: int
    labels: NDArray[np.int64] | None = None
    population: NDArray[np.int64] | None = None

    def __repr__(self) -> str:
        return f"NodeClasses({self.levels}, {len(self.sizes)} classes)"


class Scorer(Protocol):
    """An objective that knows the table."""

    def loss(self, classes: NodeClasses) -> float:
        """Return the loss of a node's release: smaller is better.

        Parameters
        ----------
        classes
            The classes of the node.
        """

    def bound(self, levels: Levels) -> float:
        """Return a loss that no node at or above this one falls below.

        Whatever whole classes are suppressed there. ``-inf`` where none is known.

        Parameters
        ----------
        levels
            The node.
        """

    def bounds(self, nodes: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the bound of each of many nodes, as `bound` does.

        Parameters
        ----------
        nodes
            The levels of the nodes, (nodes, columns).
        """
        return np.array([self.bound(tuple(levels)) for levels in nodes.tolist()], np.float64)

    def bound_above(self, classes: NodeClasses) -> float:
        """Return a loss that no node at or above a counted one falls below.

        At least as high as `bound`: the classes of a node only grow above it.

        Parameters
        ----------
        classes
            The classes of the node, as for `loss`.
        """
        return self.bound(classes.levels)


class Objective(ABC):
    """How much a release loses, as one number."""

    name: ClassVar[str]
    """The name in policies."""
    sentence: ClassVar[str]
    """What it measures, in one sentence."""
    needs_label: ClassVar[bool] = False
    weighs_columns: ClassVar[bool] = False
    """Whether the weights of the columns change it."""

    @abstractmethod
    def scorer(self, columns: Sequence[LatticeColumn], *, n_rows: int, min_rows: int = 1) -> Scorer:
        """Return the objective for one table.

        Parameters
        ----------
        columns
            The quasi-identifiers.
        n_rows
            The rows of the table, suppressed ones included.
        min_rows
            The rows that every released class has at least, as the guarantees say; it makes
            bounds higher.
        """
