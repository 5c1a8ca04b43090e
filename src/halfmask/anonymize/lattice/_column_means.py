"""Numbers of a column's nodes, and their means over rows: what bounds need no rows for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from halfmask.anonymize.lattice._lattice import LatticeColumn
    from halfmask.anonymize.lattice._objective import NodeClasses

#: The share of a bound by which rounding could have raised it above the loss that it bounds.
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class ColumnMeans:
    """A number of each node of one column."""

    numbers: tuple[NDArray[np.float64], ...]
    means: tuple[float, ...]

    def released(self, classes: NodeClasses, column: int) -> float:
        """Return the sum over the released rows."""
        return float(self.numbers[classes.levels[column]][classes.nodes[:, column]] @ classes.sizes)

    def suppressed(self, classes: NodeClasses, column: int, *, n_rows: int) -> float:
        """Return the sum over the suppressed rows, as if they were released at the node."""
        if not classes.suppressed:
            return 0.0
        total = self.means[classes.levels[column]] * n_rows
        return max(total - self.released(classes, column), 0.0)


def column_means(
    columns: Sequence[LatticeColumn],
    number: Callable[[NDArray[np.int64], int], NDArray[np.float64]],
) -> tuple[ColumnMeans, ...]:
    """Return a number of each node of each column, and its means."""
    made = []
    for column in columns:
        n_rows = max(int(column.rows.sum()), 1)
        levels = range(column.n_levels)
        numbers = tuple(number(column.codes_below(each), len(column.rows)) for each in levels)
        means = tuple(float(numbers[each] @ column.rows_below(each)) / n_rows for each in levels)
        made.append(ColumnMeans(numbers, means))
    return tuple(made)


def bounds_of_sums(
    numbers: Sequence[Sequence[float]], nodes: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return the sum over columns of a number of each level, rounded down, for many nodes."""
    total = np.zeros(len(nodes))
    for each in of_nodes(numbers, nodes):
        total += each
    return all_rounded_down(total)


def of_nodes(
    numbers: Sequence[Sequence[float]], nodes: NDArray[np.intp]
) -> Iterator[NDArray[np.float64]]:
    """Yield for each column the number of each node's level."""
    for place, of_levels in enumerate(numbers):
        yield np.asarray(of_levels, np.float64)[nodes[:, place]]


def all_rounded_down(bounds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return bounds lowered as `rounded_down` lowers one."""
    return bounds - ROUNDING * np.abs(bounds)


def rounded_down(bound: float) -> float:
    """Return a bound lowered by more than rounding can have raised it."""
    return bound - ROUNDING * abs(bound)
