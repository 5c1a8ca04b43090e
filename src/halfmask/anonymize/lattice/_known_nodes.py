"""What a search that isn't exact remembers of the nodes that it met."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from halfmask.anonymize.lattice._judged_nodes import JudgedNodes
    from halfmask.anonymize.lattice._lattice import Lattice, Levels
    from halfmask.anonymize.lattice._node_score import NodeScore


class KnownNodes:
    """Judges each node at most once, and none that is below a failing one where that settles it."""

    def __init__(self, lattice: Lattice, nodes: JudgedNodes) -> None:
        self._nodes = nodes
        self._scores: dict[Levels, NodeScore] = {}
        self._highest_failing = np.empty((0, len(lattice.least)), np.int16)

    @property
    def n_judged(self) -> int:
        """How many nodes were judged."""
        return len(self._scores)

    def is_settled(self, levels: Levels) -> bool:
        """Return whether a node was judged, or is known to fail without that."""
        if levels in self._scores:
            return True
        return bool((np.array(levels, np.int16) <= self._highest_failing).all(axis=1).any())

    def score(self, levels: Levels) -> NodeScore | None:
        """Return the score of a node; ``None`` where it is known to fail without being judged."""
        if not self.is_settled(levels):
            score = self._scores[levels] = self._nodes.score(levels)
            if not score.holds and self._nodes.monotone:
                self._note_failing(levels)
        return self._scores.get(levels)

    def holds(self, levels: Levels) -> bool:
        """Return whether a node holds."""
        score = self.score(levels)
        return score is not None and score.holds

    def _note_failing(self, levels: Levels) -> None:
        node = np.array(levels, np.int16)
        rest = self._highest_failing[~(self._highest_failing <= node).all(axis=1)]
        self._highest_failing = np.vstack([rest, node])
