"""What a search of the lattice minimizes, and what objectives share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

import numpy as np

from halfmask._validation import fraction
from halfmask.anonymize.coding import relative_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from halfmask.anonymize.lattice._lattice import LatticeColumn, Levels


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NodeClasses:
    """The classes of one node: those that are released, and how many rows are not.

    Parameters
    ----------
    levels
        The node.
    sizes
        The rows of each released class, (classes,).
    nodes
        The node of each released class in each column's hierarchy, (classes, columns).
    suppressed
        The rows that are suppressed.
    labels
        The rows of each label in each released class, (classes, labels), for an objective that
        needs a label.
    population
        The rows of the population in each released class, (classes,), where there is one.
    """

    levels: Levels
    sizes: NDArray[np.int64]
    nodes: NDArray[np.int32]
    suppressed: int
    labels: NDArray[np.int64] | None = None
    population: NDArray[np.int64] | None = None

    def __repr__(self) -> str:
        return f"NodeClasses({self.levels}, {len(self.sizes)} classes)"


class Scorer(Protocol):
    """An objective that knows the table."""

    def loss(self, classes: NodeClasses) -> float:
        """Return the loss of a node's release: smaller is better.

        Parameters
        ----------
        classes
            The classes of the node.
        """

    def bound(self, levels: Levels) -> float:
        """Return a loss that no node at or above this one falls below.

        Whatever whole classes are suppressed there. ``-inf`` where none is known.

        Parameters
        ----------
        levels
            The node.
        """

    def bounds(self, nodes: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the bound of each of many nodes, as `bound` does.

        Parameters
        ----------
        nodes
            The levels of the nodes, (nodes, columns).
        """
        return np.array([self.bound(tuple(levels)) for levels in nodes.tolist()], np.float64)

    def bound_above(self, classes: NodeClasses) -> float:
        """Return a loss that no node at or above a counted one falls below.

        At least as high as `bound`: the classes of a node only grow above it.

        Parameters
        ----------
        classes
            The classes of the node, as for `loss`.
        """
        return self.bound(classes.levels)


class Objective(ABC):
    """How much a release loses, as one number."""

    name: ClassVar[str]
    """The name in policies."""
    sentence: ClassVar[str]
    """What it measures, in one sentence."""
    needs_label: ClassVar[bool] = False
    weighs_columns: ClassVar[bool] = False
    """Whether the weights of the columns change it."""

    @abstractmethod
    def scorer(self, columns: Sequence[LatticeColumn], *, n_rows: int, min_rows: int = 1) -> Scorer:
        """Return the objective for one table.

        Parameters
        ----------
        columns
            The quasi-identifiers.
        n_rows
            The rows of the table, suppressed ones included.
        min_rows
            The rows that every released class has at least, as the guarantees say; it makes
            bounds higher.
        """


class Factors(NamedTuple):
    """By how much the loss of each kind of row counts."""

    generalization: float
    suppression: float


def factors_of(gs_factor: float, *, owner: str) -> Factors:
    """Return what a factor between generalization and suppression stands for.

    Examples
    --------
    >>> factors_of(0.5, owner="Loss"), factors_of(0.25, owner="Loss"), factors_of(1, owner="Loss")
    (Factors(generalization=1.0, suppression=1.0), Factors(generalization=1.0, suppression=0.5),
    Factors(generalization=0.0, suppression=1.0))
    """
    fraction(owner=owner, gs_factor=gs_factor)
    return Factors(
        generalization=min(1.0, 2.0 - 2.0 * gs_factor), suppression=min(1.0, 2.0 * gs_factor)
    )


def shares_of(columns: Sequence[LatticeColumn]) -> tuple[float, ...]:
    """Return the weight of each column, scaled so that they add up to 1."""
    relative = relative_weights(column.weight for column in columns)
    return tuple(float(each) / len(columns) for each in relative)


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
