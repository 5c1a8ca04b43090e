"""Ambiguity and KL divergence: objectives of the space that a class covers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from halfmask.anonymize.lattice._objective import (
    Objective,
    Scorer,
    all_rounded_down,
    bounds_of_sums,
    column_means,
    of_nodes,
    rounded_down,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.anonymize.lattice._lattice import LatticeColumn, Levels
    from halfmask.anonymize.lattice._objective import ColumnMeans, NodeClasses


@dataclass(frozen=True, slots=True, kw_only=True)
class Ambiguity(Objective):
    """How many combinations of raw values a row could stand for, on average, in bits.

    A released row stands for the product of the values under its nodes; a suppressed row stands
    for all combinations of the table's values. The loss is the log2 of the mean over rows: ARX's
    "Ambiguity" is the sum, which puts nodes in the same order. Source: J. Goldberger and T. Tassa,
    "Efficient anonymizations with enhanced utility", Transactions on Data Privacy 3, 2010,
    section 3 (AM).

    Notes
    -----
    **Guarantees.** Logarithms are added, so that no number of columns overflows. The bound without
    rows is the mean of the logarithms, which is never above the log of the mean.

    **Edge cases.** Weights of columns don't change it.

    Examples
    --------
    >>> Ambiguity().name
    'ambiguity'
    """

    name: ClassVar[str] = "ambiguity"
    sentence: ClassVar[str] = (
        "The log2 of how many combinations of raw values a row could stand for on average."
    )

    def scorer(
        self,
        columns: Sequence[LatticeColumn],
        *,
        n_rows: int,
        min_rows: int = 1,  # noqa: ARG002 # of no use for this bound
    ) -> Scorer:
        """Return the objective for one table."""
        return _AmbiguityScorer(
            areas=column_means(columns, _bits), whole=_whole(columns), n_rows=n_rows
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _AreaScorer(Scorer):
    """Knows the log2 of the area of each node and of the whole space."""

    areas: tuple[ColumnMeans, ...]
    whole: float
    n_rows: int

    def _of_classes(self, classes: NodeClasses) -> NDArray[np.float64]:
        """Return the log2 of the area of each class."""
        area = np.zeros(len(classes.sizes))
        for place, (column, level) in enumerate(zip(self.areas, classes.levels, strict=True)):
            area += column.numbers[level][classes.nodes[:, place]]
        return area

    def _mean(self, levels: Levels) -> float:
        """Return the mean over all rows, none suppressed."""
        return sum(column.means[level] for column, level in zip(self.areas, levels, strict=True))


class _AmbiguityScorer(_AreaScorer):
    __slots__ = ()

    def loss(self, classes: NodeClasses) -> float:
        return self._mean_area(classes, of_suppressed=self.whole)

    def bound(self, levels: Levels) -> float:
        return rounded_down(self._mean(levels))

    def bounds(self, nodes: NDArray[np.intp]) -> NDArray[np.float64]:
        return bounds_of_sums([column.means for column in self.areas], nodes)

    def bound_above(self, classes: NodeClasses) -> float:
        counted = rounded_down(self._mean_area(classes, of_suppressed=0.0))
        return max(counted, self.bound(classes.levels))

    def _mean_area(self, classes: NodeClasses, *, of_suppressed: float) -> float:
        """Return the log2 of the mean area, that of suppressed rows given."""
        areas = np.append(self._of_classes(classes), of_suppressed)
        rows = np.append(classes.sizes, classes.suppressed).astype(np.float64)
        areas, rows = areas[rows > 0], rows[rows > 0]
        largest = areas.max(initial=0.0)
        return float(largest + np.log2(np.exp2(areas - largest) @ rows / self.n_rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class KLDivergence(Objective):
    """How far rows spread evenly over their nodes are from the raw ones, in bits.

    The divergence ``sum p * log2(p / q)`` of the raw rows' distribution p and the release's q. A
    class spreads its rows evenly over the combinations of raw values that its nodes cover; the
    suppressed rows are spread over all combinations of the table's values. The term of p alone is
    the same at every node and left out: the loss is the cross entropy ``-sum p * log2(q)``.
    Source: A. Machanavajjhala et al., "l-diversity: privacy beyond k-anonymity", ACM TKDD 1(1),
    2007, section 6.

    Notes
    -----
    **Guarantees.** No q that is even within the classes of a node has a lower cross entropy than
    theirs (Gibbs), and all nodes above have such a q: so this is a bound, suppression included.

    **Edge cases.** Weights of columns don't change it. ARX counts a combination once for each of
    its rows instead of once, so its values differ.

    Examples
    --------
    >>> KLDivergence().name
    'kl-divergence'
    """

    name: ClassVar[str] = "kl-divergence"
    sentence: ClassVar[str] = (
        "The cross entropy of the raw rows and the release, its rows spread over their nodes."
    )

    def scorer(
        self,
        columns: Sequence[LatticeColumn],
        *,
        n_rows: int,
        min_rows: int = 1,  # noqa: ARG002 # of no use for this bound
    ) -> Scorer:
        """Return the objective for one table."""
        return _DivergenceScorer(
            areas=column_means(columns, _bits),
            whole=_whole(columns),
            n_rows=n_rows,
            entropies=tuple(
                tuple(_entropy(column.rows_below(level)) for level in range(column.n_levels))
                for column in columns
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _DivergenceScorer(_AreaScorer):
    entropies: tuple[tuple[float, ...], ...]

    def loss(self, classes: NodeClasses) -> float:
        gone = classes.suppressed / self.n_rows
        with np.errstate(divide="ignore"):  # nothing suppressed: log2(0) is no share at all
            everywhere = np.log2(gone) - self.whole
        share = classes.sizes / self.n_rows
        density = np.logaddexp2(np.log2(share) - self._of_classes(classes), everywhere)
        return float(-(share @ density) - (gone * everywhere if gone else 0.0))

    def bound(self, levels: Levels) -> float:
        # The entropy of a node's classes is at least that of any one column.
        entropies = (column[level] for column, level in zip(self.entropies, levels, strict=True))
        return rounded_down(max(entropies, default=0.0) + self._mean(levels))

    def bounds(self, nodes: NDArray[np.intp]) -> NDArray[np.float64]:
        entropy = np.zeros(len(nodes))
        for of_column in of_nodes(self.entropies, nodes):
            entropy = np.maximum(entropy, of_column)
        for bits in of_nodes([column.means for column in self.areas], nodes):
            entropy += bits
        return all_rounded_down(entropy)

    def bound_above(self, classes: NodeClasses) -> float:
        share = classes.sizes / self.n_rows
        gone = classes.suppressed / self.n_rows
        # One class of all suppressed rows has no more entropy than theirs.
        entropy = -float(share @ np.log2(share)) - (gone * float(np.log2(gone)) if gone else 0.0)
        return max(rounded_down(entropy + self._mean(classes.levels)), self.bound(classes.levels))


def _bits(values: NDArray[np.int64], n_values: int) -> NDArray[np.float64]:  # noqa: ARG001 # as asked
    return np.log2(values)


def _whole(columns: Sequence[LatticeColumn]) -> float:
    """Return the log2 of the number of combinations of the table's values."""
    return float(sum(np.log2(max(len(column.rows), 1)) for column in columns))


def _entropy(rows: NDArray[np.int64]) -> float:
    share = rows[rows > 0] / max(int(rows.sum()), 1)
    return float(-(share @ np.log2(share)))
