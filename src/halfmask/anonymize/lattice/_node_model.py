"""What a search expects of a node that it hasn't judged: whether it holds, and its loss.

Two sums over the columns of what each level adds, by ridge regression on the nodes judged so far,
the last ones counting most: the logarithm of the suppressed rows, and the loss above the bound. A
node is expected to hold if its suppressed rows are fewer than at the border between the judged
nodes that hold and those that fail.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.anonymize.lattice._lattice import Lattice
    from halfmask.anonymize.lattice._node_score import NodeScore

#: What an older node counts of one that is judged a step later.
_FORGETTING = 0.995
#: What a residual counts in their mean square, and the first and greatest value of that.
_NEW_RESIDUAL, _MOST_VARIANCE = 0.03, 1.0
#: How much the chance to hold counts where no node is expected to be better.
_LIKELY = 1e-6


class NodeModel:
    """Expects suppressed rows and loss from the levels of a node."""

    def __init__(self, lattice: Lattice) -> None:
        steps = np.subtract(lattice.greatest, lattice.least)
        self._columns = np.repeat(np.arange(len(steps)), steps)
        self._levels = np.concatenate(
            [
                np.arange(low, high)
                for low, high in zip(lattice.least, lattice.greatest, strict=True)
            ]
        )
        n_terms = len(self._levels) + 1
        self._rows, self._excess = _Regression(n_terms), _Regression(n_terms)
        self._variance = _MOST_VARIANCE
        self._most_holding, self._least_failing = 0.0, float("inf")

    def add(self, score: NodeScore, bound: float) -> None:
        """Learn from a node."""
        terms = self._terms(np.array([score.levels]))
        rows = float(np.log1p(score.suppressed))
        residual = rows - float(self._rows.expected(terms)[0])
        self._variance += _NEW_RESIDUAL * (min(residual**2, _MOST_VARIANCE) - self._variance)
        self._rows.add(terms[0], rows)
        if score.holds:
            self._most_holding = max(self._most_holding, rows)
            self._excess.add(terms[0], score.loss - (bound if np.isfinite(bound) else 0.0))
        else:
            self._least_failing = min(self._least_failing, rows)

    def improvements(
        self, nodes: NDArray[np.int64], bounds: NDArray[np.float64], least_loss: float
    ) -> NDArray[np.float64]:
        """Return by how much each node is expected to lose less than the least loss."""
        terms = self._terms(nodes)
        border = self._most_holding
        if np.isfinite(self._least_failing):
            border = (border + self._least_failing) / 2
        from scipy.special import ndtr  # noqa: PLC0415 # a policy must not load scipy

        holds = ndtr((border - self._rows.expected(terms)) / np.sqrt(self._variance))
        if not np.isfinite(least_loss):
            return np.asarray(holds, np.float64)
        finite = np.isfinite(bounds)
        excess = self._excess.expected(terms)
        losses = np.where(finite, bounds + np.maximum(excess, 0.0), excess)
        better = np.maximum(least_loss - losses, _LIKELY * abs(least_loss))
        return np.asarray(holds * better, np.float64)

    def _terms(self, nodes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return a term for each step of each column, 1 where the node is above it, and a 1."""
        above = nodes[:, self._columns] > self._levels
        return np.column_stack([above, np.ones(len(nodes))]).astype(np.float64)


class _Regression:
    """Ridge regression that forgets; the last term isn't penalized."""

    def __init__(self, n_terms: int) -> None:
        self._ridge = np.diag(np.r_[np.ones(n_terms - 1), 1e-6])
        self._squares, self._products = np.zeros((n_terms, n_terms)), np.zeros(n_terms)
        self._weights: NDArray[np.float64] | None = np.zeros(n_terms)

    def add(self, terms: NDArray[np.float64], value: float) -> None:
        self._squares = _FORGETTING * self._squares + np.outer(terms, terms)
        self._products = _FORGETTING * self._products + value * terms
        self._weights = None

    def expected(self, terms: NDArray[np.float64]) -> NDArray[np.float64]:
        if self._weights is None:
            self._weights = np.linalg.solve(self._squares + self._ridge, self._products)
        return terms @ self._weights
