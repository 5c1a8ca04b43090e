"""Objectives that know a class by its size alone: discernibility and average class size."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from halfmask.anonymize.lattice._objective import (
    Objective,
    Scorer,
    all_rounded_down,
    of_nodes,
    rounded_down,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.anonymize.lattice._lattice import LatticeColumn, Levels
    from halfmask.anonymize.lattice._objective import NodeClasses


@dataclass(frozen=True, slots=True, kw_only=True)
class Discernibility(Objective):
    """The sum of the squared class sizes; a suppressed row counts as like all rows.

    Source: R. J. Bayardo and R. Agrawal, "Data privacy through optimal k-anonymization", ICDE
    2005, section 2.2 (DM), and section 4.3 for the lower bound.

    Notes
    -----
    **Guarantees.** The bound from a node's classes takes each row at the size of its class, at
    least ``min_rows``, as in the source. The bound without rows takes the larger of two: all
    classes of the same size, and the pairs of rows that no column separates.

    **Edge cases.** Weights of columns don't change it. Sums above 2**53 are rounded.

    Examples
    --------
    >>> Discernibility().weighs_columns
    False
    """

    name: ClassVar[str] = "discernibility"
    sentence: ClassVar[str] = "The sum over all rows of how many rows each looks like."

    def scorer(self, columns: Sequence[LatticeColumn], *, n_rows: int, min_rows: int = 1) -> Scorer:
        """Return the objective for one table."""
        return _DiscernibilityScorer(
            n_classes=_n_nodes(columns),
            apart=tuple(
                tuple(_pairs_apart(column.rows_below(level)) for level in range(column.n_levels))
                for column in columns
            ),
            n_rows=n_rows,
            min_rows=min(min_rows, n_rows),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _DiscernibilityScorer(Scorer):
    n_classes: tuple[tuple[float, ...], ...]
    apart: tuple[tuple[float, ...], ...]
    n_rows: int
    min_rows: int

    def loss(self, classes: NodeClasses) -> float:
        return _sum_of_squares(classes.sizes) + float(self.n_rows) * classes.suppressed

    def bound(self, levels: Levels) -> float:
        square = float(self.n_rows) ** 2
        most = min(prod(_at(self.n_classes, levels)), self.n_rows)
        together = square - sum(_at(self.apart, levels))
        least = float(self.n_rows) * self.min_rows
        return rounded_down(max(square / max(most, 1), together, least))

    def bounds(self, nodes: NDArray[np.intp]) -> NDArray[np.float64]:
        square = float(self.n_rows) ** 2
        most = _most_classes(self.n_classes, nodes, self.n_rows)
        together = np.full(len(nodes), square)
        for pairs in of_nodes(self.apart, nodes):
            together -= pairs
        least = float(self.n_rows) * self.min_rows
        return all_rounded_down(np.maximum(np.maximum(square / most, together), least))

    def bound_above(self, classes: NodeClasses) -> float:
        gone = float(classes.suppressed) * self.min_rows
        return max(rounded_down(_sum_of_squares(classes.sizes) + gone), self.bound(classes.levels))


@dataclass(frozen=True, slots=True, kw_only=True)
class AverageClassSize(Objective):
    """The rows of the table by its classes; all suppressed rows are one class.

    Source: K. LeFevre, D. DeWitt and R. Ramakrishnan, "Mondrian multidimensional k-anonymity", ICDE
    2006, section 5, without the division by k, as in ARX (AECS).

    Notes
    -----
    **Edge cases.** Weights of columns don't change it.

    Examples
    --------
    >>> AverageClassSize().name
    'average-class-size'
    """

    name: ClassVar[str] = "average-class-size"
    sentence: ClassVar[str] = "The rows of the table by its classes, all suppressed rows as one."

    def scorer(self, columns: Sequence[LatticeColumn], *, n_rows: int, min_rows: int = 1) -> Scorer:
        """Return the objective for one table."""
        return _AverageScorer(
            n_classes=_n_nodes(columns), n_rows=n_rows, most=n_rows // max(min_rows, 1) + 1
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _AverageScorer(Scorer):
    n_classes: tuple[tuple[float, ...], ...]
    n_rows: int
    most: int

    def loss(self, classes: NodeClasses) -> float:
        return self.n_rows / max(len(classes.sizes) + (classes.suppressed > 0), 1)

    def bound(self, levels: Levels) -> float:
        most = min(prod(_at(self.n_classes, levels)), self.most, self.n_rows)
        return rounded_down(self.n_rows / max(most, 1))

    def bounds(self, nodes: NDArray[np.intp]) -> NDArray[np.float64]:
        most = _most_classes(self.n_classes, nodes, min(self.most, self.n_rows))
        return all_rounded_down(self.n_rows / most)

    def bound_above(self, classes: NodeClasses) -> float:
        # Each suppressed row was at most one class.
        most = max(len(classes.sizes) + classes.suppressed, 1)
        return max(rounded_down(self.n_rows / most), self.bound(classes.levels))


def _n_nodes(columns: Sequence[LatticeColumn]) -> tuple[tuple[float, ...], ...]:
    """Return how many nodes each level of each column has."""
    return tuple(
        tuple(float(nodes.max(initial=-1)) + 1 for nodes in column.nodes) for column in columns
    )


def _most_classes(
    n_classes: Sequence[Sequence[float]], nodes: NDArray[np.intp], most: int
) -> NDArray[np.float64]:
    """Return how many classes each node can have at most, at least 1."""
    product = np.ones(len(nodes))
    for of_level in of_nodes(n_classes, nodes):
        product = np.minimum(product * of_level, max(most, 1))
    return np.maximum(product, 1.0)


def _pairs_apart(rows: NDArray[np.int64]) -> float:
    """Return how many ordered pairs of rows lie in different nodes."""
    return float(rows.sum()) ** 2 - _sum_of_squares(rows)


def _sum_of_squares(sizes: NDArray[np.int64]) -> float:
    numbers = sizes.astype(np.float64)
    return float(numbers @ numbers)


def _at(table: tuple[tuple[float, ...], ...], levels: Levels) -> list[float]:
    """Return the entry of each column at its level."""
    return [entries[level] for entries, level in zip(table, levels, strict=True)]
