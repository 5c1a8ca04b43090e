"""Loss: how many other values each released value may stand for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from halfmask.anonymize.lattice._column_means import bounds_of_sums, column_means, rounded_down
from halfmask.anonymize.lattice._column_weights import shares_of
from halfmask.anonymize.lattice._factors import Factors, factors_of
from halfmask.anonymize.lattice._objective import Objective, Scorer

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from halfmask.anonymize.lattice._column_means import ColumnMeans
    from halfmask.anonymize.lattice._lattice import LatticeColumn, Levels
    from halfmask.anonymize.lattice._objective import NodeClasses


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
