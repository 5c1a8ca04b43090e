"""How far down a tree a draw goes: past cuts that show more than noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TreeNodes:
    """The nodes of a regression tree, each before those below it."""

    parents: NDArray[np.int64]
    ends: NDArray[np.int64]
    reach: NDArray[np.float64]

    def __repr__(self) -> str:
        return f"TreeNodes({len(self.parents)} nodes)"

    @classmethod
    def of(cls, tree: Any, *, distrust: float) -> Self:  # noqa: ANN401 # an untyped library
        """Return the nodes of a tree, and how likely a draw gets past their cuts.

        A cut that is noise makes the sum of squares less by the variance of one row, on average. So
        of the gain of a cut only the rest is believed, and a draw goes on with that probability:
        the positive part of James and Stein, "Estimation with quadratic loss" (1961), which Agarwal
        et al., "Hierarchical shrinkage" (ICML 2022), apply to trees. Cuts into parts of one value
        each have no noise, and every draw passes them.
        """
        left, right = tree.children_left, tree.children_right
        squares = tree.weighted_n_node_samples * tree.impurity
        n = len(left)
        cuts = np.flatnonzero(left >= 0)
        within = squares[left[cuts]] + squares[right[cuts]]
        noise = within / np.maximum(tree.weighted_n_node_samples[cuts] - 2, 1)
        gain = np.maximum(squares[cuts] - within, np.finfo(np.float64).tiny)
        passed = np.ones(n)
        passed[cuts] = np.maximum(0.0, 1 - distrust * noise / gain)
        parents = np.zeros(n, dtype=np.int64)
        parents[left[cuts]] = parents[right[cuts]] = cuts
        ends, reach = np.arange(1, n + 1), np.ones(n)
        for node in range(1, n):
            reach[node] = reach[parents[node]] * passed[parents[node]]
        for node in range(n - 1, 0, -1):
            ends[parents[node]] = max(ends[parents[node]], ends[node])
        return cls(parents=parents, ends=ends, reach=reach)

    def reached(self, leaves: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Return for each row the node at which its draw stops: its leaf, or one above it."""
        nodes, luck = leaves.copy(), rng.random(len(leaves))
        above = np.flatnonzero(luck >= self.reach[nodes])
        while len(above):
            nodes[above] = self.parents[nodes[above]]
            above = above[luck[above] >= self.reach[nodes[above]]]
        return nodes
