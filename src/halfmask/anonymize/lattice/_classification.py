"""Classification: the labels that a majority vote within classes gets wrong."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from halfmask._errors import ParameterError
from halfmask.anonymize.lattice._objective import (
    Factors,
    Objective,
    Scorer,
    factors_of,
    rounded_down,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.anonymize.lattice._lattice import LatticeColumn, Levels
    from halfmask.anonymize.lattice._objective import NodeClasses


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassificationMetric(Objective):
    """The share of the rows whose label isn't the most frequent one of their class.

    A suppressed row counts as wrong. Source: CM of V. S. Iyengar, "Transforming data to satisfy
    privacy constraints", KDD 2002, section 4.

    Parameters
    ----------
    gs_factor
        In [0, 1]. Below 0.5 a suppressed row counts ``2 * gs_factor``. Above 0.5 a wrong label
        of a released row counts ``2 - 2 * gs_factor``.

    Raises
    ------
    ParameterError
        When it is asked about classes without labels.

    Notes
    -----
    **Guarantees.** The bound from a node's classes holds because merged classes have at least as
    many wrong labels. There is no bound without rows other than 0.

    **Edge cases.** Where two labels are equally frequent, the rows of one of them are right; ARX
    counts all of them as wrong. Weights of columns don't change it.

    Examples
    --------
    >>> ClassificationMetric().needs_label
    True
    """

    name: ClassVar[str] = "classification"
    sentence: ClassVar[str] = (
        "The share of the rows whose label isn't the most frequent one of their class."
    )
    needs_label: ClassVar[bool] = True

    gs_factor: float = field(default=0.5, metadata={"ge": 0, "le": 1})

    def __post_init__(self) -> None:
        factors_of(self.gs_factor, owner="ClassificationMetric")

    def scorer(
        self,
        columns: Sequence[LatticeColumn],  # noqa: ARG002 # no column counts
        *,
        n_rows: int,
        min_rows: int = 1,  # noqa: ARG002 # of no use for this bound
    ) -> Scorer:
        """Return the objective for one table."""
        return _ClassificationScorer(
            factors=factors_of(self.gs_factor, owner="ClassificationMetric"), n_rows=n_rows
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _ClassificationScorer(Scorer):
    factors: Factors
    n_rows: int

    def loss(self, classes: NodeClasses) -> float:
        wrong = self.factors.generalization * float(_wrong(classes).sum())
        return (wrong + self.factors.suppression * classes.suppressed) / self.n_rows

    def bound(self, levels: Levels) -> float:  # noqa: ARG002 # of no use
        return 0.0

    def bounds(self, nodes: NDArray[np.intp]) -> NDArray[np.float64]:
        return np.zeros(len(nodes))

    def bound_above(self, classes: NodeClasses) -> float:
        # Above, a class is merged, and has as many wrong labels at least, or is suppressed.
        of_released, of_suppressed = self.factors
        least = np.minimum(of_released * _wrong(classes), of_suppressed * classes.sizes)
        return rounded_down(float(least.sum()) / self.n_rows)


def _wrong(classes: NodeClasses) -> NDArray[np.int64]:
    """Return how many rows of each class don't have its most frequent label."""
    if classes.labels is None:
        raise ParameterError("The objective ClassificationMetric needs the labels of the rows.")
    right: NDArray[np.int64] = classes.labels.max(axis=1, initial=0)
    return classes.sizes - right
