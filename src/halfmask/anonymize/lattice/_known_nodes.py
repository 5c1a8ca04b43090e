"""What a search that isn't exhaustive remembers of the nodes that it met."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from halfmask.anonymize.lattice._judged_nodes import JudgedNodes
    from halfmask.anonymize.lattice._lattice import Lattice, Levels
    from halfmask.anonymize.lattice._node_score import NodeScore

__all__ = ["KnownNodes"]


class KnownNodes:
    """Judges each node at most once, and none that is below a failing one where that settles it.

    Parameters
    ----------
    lattice
        The nodes.
    nodes
        Judges them.
    """

    def __init__(self, lattice: Lattice, nodes: JudgedNodes) -> None:
        self.lattice = lattice
        self._nodes = nodes
        self._scores: dict[Levels, NodeScore] = {}
        self._highest_failing = np.empty((0, len(lattice.least)), np.int16)

    @property
    def n_judged(self) -> int:
        """How many nodes were judged."""
        return len(self._scores)

    @property
    def monotone(self) -> bool:
        """Whether all nodes above one that holds hold too."""
        return self._nodes.monotone

    def bound(self, levels: Levels) -> float:
        """Return a loss that no node at or above this one falls below.

        Parameters
        ----------
        levels
            The node.
        """
        return self._nodes.judge.bound(levels)

    def score(self, levels: Levels) -> NodeScore | None:
        """Return the score of a node; ``None`` where it is known to fail without being judged.

        Parameters
        ----------
        levels
            The node.
        """
        score = self._scores.get(levels)
        if score is None and not self._is_below_failing(levels):
            score = self._scores[levels] = self._nodes.score(levels)
            if not score.holds:
                self._note_failing(levels)
        return score

    def holds(self, levels: Levels) -> bool:
        """Return whether a node holds.

        Parameters
        ----------
        levels
            The node.
        """
        score = self.score(levels)
        return score is not None and score.holds

    def first_holding(self, path: list[Levels]) -> NodeScore | None:
        """Find a node that holds on a path upward, by bisection.

        Parameters
        ----------
        path
            Nodes, each above the one before; the last holds.
        """
        low, high = 0, len(path) - 1
        while low < high:
            middle = (low + high) // 2
            if self.holds(path[middle]):
                high = middle
            else:
                low = middle + 1
        return self.score(path[high])

    def _is_below_failing(self, levels: Levels) -> bool:
        return bool((np.array(levels, np.int16) <= self._highest_failing).all(axis=1).any())

    def _note_failing(self, levels: Levels) -> None:
        if self.monotone:
            node = np.array(levels, np.int16)
            rest = self._highest_failing[~(self._highest_failing <= node).all(axis=1)]
            self._highest_failing = np.vstack([rest, node])
