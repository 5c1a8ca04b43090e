"""A search for lattices that are too large for the exact one.

It climbs from the lowest node by the least bounds until a node holds, as Lightning does (Prasser,
Bild, Eicher, Spengler, Kohlmayer and Kuhn 2016, *Lightning: utility-driven anonymization of
high-dimensional data*). From there it judges, of many random nodes around the best ones, that with
the greatest expected improvement (Jones, Schonlau and Welch 1998, *Efficient global optimization of
expensive black-box functions*). Where that no longer helps, every other node is a neighbour of the
best one.

What a search expects of a node that it hasn't judged: whether it holds, and its loss.

Two sums over the columns of what each level adds, by ridge regression on the nodes judged so far,
the last ones counting most: the logarithm of the suppressed rows, and the loss above the bound. A
node is expected to hold if its suppressed rows are fewer than at the border between the judged
nodes that hold and those that fail.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.anonymize.lattice._judged_nodes import KnownNodes, rank

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.anonymize.lattice._judged_nodes import JudgedNodes, NodeScore
    from halfmask.anonymize.lattice._lattice import Lattice, Levels

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


#: How many of the best nodes are the start of random ones, and how many of these are drawn.
_BEST, _DRAWN = 5, 200
#: How many columns of a drawn node are moved at most, and the share of those moved by two levels.
_MOVED_COLUMNS, _BY_TWO = 8, 0.2
#: After this many nodes without a better one, every other node is a neighbour of the best.
_PATIENCE = 50
#: The search ends after this many draws in a row that had no new node.
_DRAWS_WITHOUT_NEWS = 200


def search_best_effort(lattice: Lattice, nodes: JudgedNodes, *, seed: int) -> bool:
    """Judge nodes until the limit; return whether the best is proven to be the best."""
    effort = _BestEffort(lattice, nodes, seed)
    if not effort.judge(lattice.greatest) and nodes.monotone:
        return True
    effort.bisect_to_top()
    effort.improve()
    return effort.known.n_judged == lattice.n_nodes


class _BestEffort:
    """The best nodes so far, and what is expected of others."""

    def __init__(self, lattice: Lattice, nodes: JudgedNodes, seed: int) -> None:
        self.known = KnownNodes(lattice, nodes)
        self._lattice, self._nodes = lattice, nodes
        self._rng = np.random.default_rng(seed)
        self._model = NodeModel(lattice)
        self._best: list[NodeScore] = []
        self._since_better = 0

    def judge(self, levels: Levels) -> bool:
        """Judge a node, learn from it, and return whether it holds."""
        settled, before = self.known.is_settled(levels), self._nodes.least_loss
        score = self.known.score(levels)
        if score is None:
            return False
        if not settled:
            self._model.add(score, self._nodes.judge.bound(levels))
            self._best = sorted([*self._best, score], key=rank)[:_BEST]
            self._since_better = 0 if score.loss < before else self._since_better + 1
        return score.holds

    def bisect_to_top(self) -> None:
        """Find a first node that holds, on the path from the bottom by the least bounds."""
        path, bound = [self._lattice.least], self._nodes.judge.bound
        while above := list(self._lattice.above(path[-1])):
            path.append(min(above, key=lambda node: (bound(node), max(node))))
        low, high = 0, len(path) - 1
        while low < high:
            middle = (low + high) // 2
            if self.judge(path[middle]):
                high = middle
            else:
                low = middle + 1

    def improve(self) -> None:
        """Judge nodes that may be better until no new one is drawn any more."""
        draws_without_news = 0
        while draws_without_news < _DRAWS_WITHOUT_NEWS:
            chosen = None
            if self._since_better > _PATIENCE and self._since_better % 2:
                chosen = self._neighbour()
            if chosen is None:
                chosen = self._best_expected()
            if chosen is None:
                draws_without_news += 1
                self._since_better += 1
            else:
                draws_without_news = 0
                self.judge(chosen)

    def _neighbour(self) -> Levels | None:
        """Return a random node a step below the best one, or a step down and a step up."""
        best = self._best[0].levels
        near = [*self._lattice.below(best), *self._lattice.exchanged(best)]
        nodes, _ = self._open(np.array(near, np.int64).reshape(-1, len(best)))
        return self._first_unsettled(nodes, self._rng.permutation(len(nodes)))

    def _best_expected(self) -> Levels | None:
        """Return the node with the greatest expected improvement of many that are drawn."""
        lattice, rng = self._lattice, self._rng
        start = np.array(self._best[rng.integers(len(self._best))].levels)
        shape = (_DRAWN, len(start))
        n_moved = rng.integers(1, _MOVED_COLUMNS, _DRAWN, endpoint=True)
        is_moved = rng.random(shape).argsort(axis=1) < n_moved[:, None]
        steps = rng.choice([-1, 1], shape) * np.where(rng.random(shape) < _BY_TWO, 2, 1)
        drawn = np.clip(start + is_moved * steps, lattice.least, lattice.greatest)
        nodes, bounds = self._open(drawn)
        expected = self._model.improvements(nodes, bounds, self._nodes.least_loss)
        return self._first_unsettled(nodes, np.argsort(-expected, kind="stable"))

    def _open(self, nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return nodes that may be better than the best, and their bounds."""
        bounds = self._nodes.judge.bounds(nodes)
        still = bounds < self._nodes.least_loss
        return nodes[still], bounds[still]

    def _first_unsettled(self, nodes: NDArray[np.int64], order: NDArray[np.intp]) -> Levels | None:
        """Return the first node, in an order, that isn't judged or known to fail."""
        in_order = (tuple(nodes[place].tolist()) for place in order)
        return next((levels for levels in in_order if not self.known.is_settled(levels)), None)
