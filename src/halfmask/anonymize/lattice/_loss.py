"""Loss: how many other values each released value may stand for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from halfmask.anonymize.lattice._objective import (
    Factors,
    Objective,
    Scorer,
    bounds_of_sums,
    column_means,
    factors_of,
    rounded_down,
    shares_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from halfmask.anonymize.lattice._lattice import LatticeColumn, Levels
    from halfmask.anonymize.lattice._objective import ColumnMeans, NodeClasses


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss(Objective):
    """The share of a column's values that a released value may stand for.

    A value that stands for m of the M values of its column loses ``(m - 1) / (M - 1)``; a
    suppressed one loses 1. The loss is the mean over rows and columns, in [0, 1]. Sources: LM of
    V. S. Iyengar, "Transforming data to satisfy privacy constraints", KDD 2002, section 3; ARX's
    "Loss" with the arithmetic mean.

    Parameters
    ----------
    gs_factor
        In [0, 1]. Below 0.5 a suppressed value loses ``l + 2 * gs_factor * (1 - l)``, where l is
        what it would lose if it were released. Above 0.5 the loss of a released value counts
        ``2 - 2 * gs_factor``.

    Notes
    -----
    **Guarantees.** The bound is exact where nothing is suppressed and ``gs_factor`` is 0.5.

    **Edge cases.** Values are counted, not measured: a node of ages 20 to 29 of 74 ages loses
    9 / 73. A column of one value loses 0 where it is released. Missing is one of the values.

    Examples
    --------
    >>> Loss().gs_factor
    0.5
    """

    name: ClassVar[str] = "loss"
    sentence: ClassVar[str] = (
        "The mean share of a column's values that a released value may stand for."
    )
    weighs_columns: ClassVar[bool] = True

    gs_factor: float = field(default=0.5, metadata={"ge": 0, "le": 1})

    def __post_init__(self) -> None:
        factors_of(self.gs_factor, owner="Loss")

    def scorer(
        self,
        columns: Sequence[LatticeColumn],
        *,
        n_rows: int,
        min_rows: int = 1,  # noqa: ARG002 # of no use for this bound
    ) -> Scorer:
        """Return the loss for one table."""
        return _LossScorer(
            means=column_means(columns, _share),
            shares=shares_of(columns),
            factors=factors_of(self.gs_factor, owner="Loss"),
            n_rows=n_rows,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _LossScorer(Scorer):
    means: tuple[ColumnMeans, ...]
    shares: tuple[float, ...]
    factors: Factors
    n_rows: int

    def loss(self, classes: NodeClasses) -> float:
        of_released, of_suppressed = self.factors
        total = 0.0
        for place, (share, column) in enumerate(zip(self.shares, self.means, strict=True)):
            released = column.released(classes, place)
            own = column.suppressed(classes, place, n_rows=self.n_rows)
            gone = own + of_suppressed * (classes.suppressed - own)
            total += share * (of_released * released + gone)
        return total / self.n_rows

    def bound(self, levels: Levels) -> float:
        means = (column.means[level] for column, level in zip(self.means, levels, strict=True))
        mean = sum(share * each for share, each in zip(self.shares, means, strict=True))
        return rounded_down(self.factors.generalization * mean)

    def bounds(self, nodes: NDArray[np.intp]) -> NDArray[np.float64]:
        lost = [
            [self.factors.generalization * share * mean for mean in column.means]
            for share, column in zip(self.shares, self.means, strict=True)
        ]
        return bounds_of_sums(lost, nodes)


def _share(values: NDArray[np.int64], n_values: int) -> NDArray[np.float64]:
    return (values - 1) / max(n_values - 1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Precision(Objective):
    """The share of a hierarchy's height that a released value was raised: 1 - Prec.

    Level h of a hierarchy with H levels above the raw values loses ``h / H``; a suppressed row
    loses 1. The loss is the mean over rows and columns, in [0, 1]. Source: L. Sweeney, "Achieving
    k-anonymity privacy protection using generalization and suppression", IJUFKS 10(5), 2002,
    section 2.2 (Prec).

    Parameters
    ----------
    gs_factor
        In [0, 1]. Below 0.5 a suppressed row loses ``2 * gs_factor``. Above 0.5 the loss of a
        released row counts ``2 - 2 * gs_factor``.

    Notes
    -----
    **Guarantees.** The bound is exact where nothing is suppressed and ``gs_factor`` is 0.5.

    **Edge cases.** A column with no level above the raw values loses 0 where it is released.
    Levels count the same whatever they join: a tall hierarchy loses little at each level.

    Examples
    --------
    >>> Precision(gs_factor=0.75).name
    'precision'
    """

    name: ClassVar[str] = "precision"
    sentence: ClassVar[str] = (
        "The mean share of its hierarchy's height by which a released value was raised."
    )
    weighs_columns: ClassVar[bool] = True

    gs_factor: float = field(default=0.5, metadata={"ge": 0, "le": 1})

    def __post_init__(self) -> None:
        factors_of(self.gs_factor, owner="Precision")

    def scorer(
        self,
        columns: Sequence[LatticeColumn],
        *,
        n_rows: int,
        min_rows: int = 1,  # noqa: ARG002 # of no use for this bound
    ) -> Scorer:
        """Return the objective for one table."""
        return _PrecisionScorer(
            heights=tuple(column.n_levels - 1 for column in columns),
            shares=shares_of(columns),
            factors=factors_of(self.gs_factor, owner="Precision"),
            n_rows=n_rows,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _PrecisionScorer(Scorer):
    heights: tuple[int, ...]
    shares: tuple[float, ...]
    factors: Factors
    n_rows: int

    def loss(self, classes: NodeClasses) -> float:
        gone = classes.suppressed / self.n_rows
        raised = sum(
            share * each
            for share, each in zip(self.shares, self._raised(classes.levels), strict=True)
        )
        return self.factors.generalization * raised * (1 - gone) + self.factors.suppression * gone

    def bound(self, levels: Levels) -> float:
        # A row of a column loses this much or, suppressed, the factor of suppression.
        of_released, of_suppressed = self.factors
        least = (min(of_released * each, of_suppressed) for each in self._raised(levels))
        bound = sum(share * each for share, each in zip(self.shares, least, strict=True))
        return rounded_down(bound)

    def bounds(self, nodes: NDArray[np.intp]) -> NDArray[np.float64]:
        of_released, of_suppressed = self.factors
        lost = [
            [share * min(of_released * each / max(height, 1), of_suppressed) for each in levels]
            for share, height, levels in zip(self.shares, self.heights, _levels(nodes), strict=True)
        ]
        return bounds_of_sums(lost, nodes)

    def _raised(self, levels: Levels) -> list[float]:
        return [level / max(height, 1) for level, height in zip(levels, self.heights, strict=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Height(Objective):
    """The sum of the levels of all columns.

    Suppressed rows aren't counted. Source: P. Samarati, "Protecting respondents' identities in
    microdata release", IEEE TKDE 13(6), 2001, section 4 (height in the lattice); ARX's "Height".

    Examples
    --------
    >>> Height().weighs_columns
    True
    """

    name: ClassVar[str] = "height"
    sentence: ClassVar[str] = "The sum of the levels of all columns, each times its weight."
    weighs_columns: ClassVar[bool] = True

    def scorer(
        self,
        columns: Sequence[LatticeColumn],
        *,
        n_rows: int,  # noqa: ARG002 # no row counts
        min_rows: int = 1,  # noqa: ARG002 # the same
    ) -> Scorer:
        """Return the objective for one table."""
        return _HeightScorer(tuple(column.weight for column in columns))


@dataclass(frozen=True, slots=True)
class _HeightScorer(Scorer):
    weights: tuple[float, ...]

    def loss(self, classes: NodeClasses) -> float:
        return self._height(classes.levels)

    def bound(self, levels: Levels) -> float:
        return rounded_down(self._height(levels))

    def bounds(self, nodes: NDArray[np.intp]) -> NDArray[np.float64]:
        lost = [
            [weight * each for each in levels]
            for weight, levels in zip(self.weights, _levels(nodes), strict=True)
        ]
        return bounds_of_sums(lost, nodes)

    def _height(self, levels: Levels) -> float:
        return sum(weight * level for weight, level in zip(self.weights, levels, strict=True))


def _levels(nodes: NDArray[np.intp]) -> list[range]:
    """Return the levels of each column from 0 to the highest of some nodes."""
    return [range(int(highest) + 1) for highest in nodes.max(axis=0)]
