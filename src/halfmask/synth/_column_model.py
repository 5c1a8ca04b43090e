"""How a column is drawn given the columns before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from halfmask.synth._column_codes import Donors, Drawn
from halfmask.synth._features import FeatureTables, target_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.synth._column_codes import ColumnCodes


#: Trees are grown on so many rows at most, drawn at random. Cells are drawn from all rows.
GROWN_ROWS = 250_000


class ColumnModel(Protocol):
    """A column given others, fitted."""

    def drawn(self, codes: Sequence[NDArray[np.int32]], n: int, rng: np.random.Generator) -> Drawn:
        """Return a code for each row."""


class MarginalModel:
    """A column that depends on no other."""

    def __init__(self, codes: NDArray[np.int32]) -> None:
        self._donors = Donors.of(np.zeros(len(codes), dtype=np.int64), codes, 1)

    def drawn(
        self,
        codes: Sequence[NDArray[np.int32]],  # noqa: ARG002 # there are none
        n: int,
        rng: np.random.Generator,
    ) -> Drawn:
        """Return the codes of rows drawn at random."""
        return self._donors.drawn(np.zeros(n, dtype=np.int64), rng)


class TreeModel:
    """A regression tree; a cell is that of a row drawn from the leaf, or from a node above it.

    Of more than 250,000 rows the tree is grown on a random part; its leaves have all rows.

    Reiter, "Using CART to generate partially synthetic, public use microdata" (2005).
    """

    #: Of a cut's gain, so many times what noise gains is distrusted. 1 would be the unbiased
    #: estimate of the true gain; half of it keeps tables of three columns closer.
    distrust = 0.5

    def __init__(
        self,
        columns: Sequence[ColumnCodes],
        codes: Sequence[NDArray[np.int32]],
        target: ColumnCodes,
        own: NDArray[np.int32],
        *,
        min_leaf: int,
        seed: int,
    ) -> None:
        outputs = target_columns(target, own)
        self._features = FeatureTables.of(columns, codes, outputs)
        matrix = self._features.matrix(codes)
        outputs = outputs[:, 0] if outputs.shape[1] == 1 else outputs
        some: slice | NDArray[np.int64] = slice(None)
        if len(matrix) > GROWN_ROWS:
            some = np.random.default_rng(seed).choice(len(matrix), GROWN_ROWS, replace=False)
        trees = self._trees(min_leaf, seed).fit(matrix[some], outputs[some])
        self._estimator = trees
        grown = getattr(trees, "estimators_", [trees])
        nodes = [TreeNodes.of(each.tree_, distrust=self.distrust) for each in grown]
        self._nodes = nodes
        self._donors = [
            Donors.of(leaf, own, len(each.parents), ends=each.ends)
            for leaf, each in zip(self._leaves(matrix), nodes, strict=True)
        ]

    def _trees(self, min_leaf: int, seed: int) -> Any:  # noqa: ANN401 # scikit-learn ships no types
        from sklearn.tree import DecisionTreeRegressor  # noqa: PLC0415 # loads late

        return DecisionTreeRegressor(min_samples_leaf=min_leaf, random_state=seed)

    def _leaves(self, matrix: NDArray[np.float32]) -> list[NDArray[np.int64]]:
        """Return the leaf of each row in each tree."""
        found = np.asarray(self._estimator.apply(matrix), dtype=np.int64)
        return list(found.reshape(len(matrix), -1).T)

    def drawn(self, codes: Sequence[NDArray[np.int32]], n: int, rng: np.random.Generator) -> Drawn:
        """Return the code of a row of the node that is reached, of one tree drawn for each row."""
        leaves = self._leaves(self._features.matrix(codes))
        which = rng.integers(len(leaves), size=n)
        found = Drawn(codes=np.empty(n, dtype=np.int32), neighbour=np.empty(n, dtype=np.int32))
        for number, leaf in enumerate(leaves):
            own = which == number
            drawn = self._donors[number].drawn(self._nodes[number].reached(leaf[own], rng), rng)
            found.codes[own], found.neighbour[own] = drawn.codes, drawn.neighbour
        return found


class ForestModel(TreeModel):
    """Ten trees of bootstrap samples; a cell is from a leaf of one of them."""

    # Noise differs between trees, so drawing one of them already averages it out.
    distrust = 0.0

    def _trees(self, min_leaf: int, seed: int) -> Any:  # noqa: ANN401 # scikit-learn ships no types
        from sklearn.ensemble import RandomForestRegressor  # noqa: PLC0415 # loads late

        return RandomForestRegressor(
            n_estimators=10, min_samples_leaf=min_leaf, max_features=0.7, random_state=seed
        )


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
