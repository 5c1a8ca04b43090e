"""What a check of a model consists of: how a level is counted, and which levels keep it.

Definitions: Machanavajjhala et al. 2007, "l-Diversity: Privacy Beyond k-Anonymity", section 4
(distinct, entropy, recursive); Li et al. 2007, "t-Closeness", section 4 (the distances); Wong et
al. 2006, "(alpha, k)-anonymity"; Brickell and Shmatikov 2008, "The cost of privacy"; Cao and
Karras 2012, "Publishing microdata with a robust privacy guarantee".
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from halfmask.verifier.tables._counting import ClassCells, sum_cells

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from halfmask.claims.claim import Basis
    from halfmask.verifier.tables._fitting import ClassPeople
    from halfmask.verifier.tables._support import Tree


#: How far apart two ways of adding up the same fractions may end. A level that misses its
#: threshold by less counts as kept; counts of rows and of values have no slack.
SLACK: Final = 1e-9

Ints: TypeAlias = "NDArray[np.int64]"
Levels: TypeAlias = "NDArray[np.float64]"
Parameters: TypeAlias = "Mapping[str, float | int | str]"


class Unjudgeable(Exception):  # noqa: N818 # not an error: a reason that a claim carries
    """Why a claim can't be counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A claim in a form that can be counted.

    Attributes
    ----------
    worst
        `min` or `max`: which of two levels is worse.
    keeps
        Whether a level keeps the guarantee.
    """

    worst: Callable[[float, float], float]
    keeps: Callable[[float], bool]

    def states_no_better(self, claimed: float, counted: float) -> bool:
        """Return whether the stated level is no better than the counted one.

        Parameters
        ----------
        claimed
            The level that the manifest states.
        counted
            The level that was counted.
        """
        if self.worst is min:
            return claimed <= counted + SLACK
        return claimed >= counted - SLACK


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelRule(Rule):
    """A claim about each class, in a form that can be counted.

    Attributes
    ----------
    levels
        From the cells of classes and the totals of the table to the level of each class.
    worst
        `min` or `max`: which of two levels is worse.
    keeps
        Whether a level keeps the guarantee.
    ordered
        Whether the values must be in order.
    needs_tree
        Whether the values must be a tree.
    subsets
        The classes over each set of so many quasi-identifiers are judged; ``None``: over all.
    """

    levels: Callable[[ClassCells, Ints, Tree | None], Levels]
    ordered: bool = False
    needs_tree: bool = False
    subsets: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRule(Rule):
    """A claim about the table as a whole, in a form that can be counted.

    Attributes
    ----------
    level
        From the rows of each class, and the rows that are compatible with each, to the level of
        the table; may raise `Unjudgeable`.
    worst
        `min` or `max`: which of two levels is worse.
    keeps
        Whether a level keeps the guarantee.
    of_persons
        From the persons of the smallest class of each person to the level; ``None`` where the model
        isn't defined for persons.

    Notes
    -----
    Where missing is a value of its own, the rows compatible with a class are its rows. Where it is
    a wildcard, a row counts among all rows that agree with it in every cell that neither misses.
    """

    level: Callable[[Ints, Ints], float]
    of_persons: Callable[[Ints], float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleRule(Rule):
    """A claim about a population, in a form that can be counted.

    Attributes
    ----------
    level
        From the people who fit each class to the level of the worst class, or of the table.
    worst
        `min` or `max`: which of two levels is worse.
    keeps
        Whether a level keeps the guarantee.
    overlaps
        Whether it matters who fits several classes, or none.
    of_table
        Whether the level is that of the table.
    """

    level: Callable[[ClassPeople], float]
    overlaps: bool = False
    of_table: bool = False


@dataclass(frozen=True, slots=True)
class ModelCheck:
    """How a model is checked.

    Attributes
    ----------
    make
        From the parameters of a claim to its guarantee; raises `Unjudgeable`.
    parameters
        The names of the parameters.
    of_column
        Whether the model is about a sensitive column.
    of_persons
        Whether it is defined where a person with several rows counts once in a class.
    several_values
        Whether that is so, too, where a person has several values of the column.
    optional
        The names of parameters that a claim needn't have.
    basis
        The evidence that a claim must state: what is estimated is never verified as counted.
    k_of_rows
        Whether a parameter k asks for rows in a class, not for people of a population.
    """

    make: Callable[[Parameters], LevelRule | TableRule | PeopleRule]
    parameters: frozenset[str]
    of_column: bool = True
    of_persons: bool = False
    several_values: bool = False
    optional: frozenset[str] = frozenset()
    basis: Basis = "counted"
    k_of_rows: bool = True


def number(parameters: Parameters, name: str, low: float) -> float:
    """Return a parameter that is a number of at least ``low``."""
    value = parameters[name]
    if isinstance(value, str) or not value >= low:
        raise Unjudgeable(f"its parameter {name} guarantees nothing below {low:g}")
    return value


def amount(parameters: Parameters, name: str) -> Fraction:
    """Return a parameter as the decimal that was typed, or as the quotient of two numbers."""
    value = number(parameters, name, 0)
    if value > sys.float_info.max:
        raise Unjudgeable(f"its parameter {name} is infinite")
    typed = Fraction(str(value))
    quotient = typed.limit_denominator(1_000_000)
    return quotient if quotient.numerator / quotient.denominator == value else typed


def whole(parameters: Parameters, name: str, low: int) -> int:
    """Return a parameter that is a whole number of at least ``low``."""
    value = number(parameters, name, low)
    if value != int(value):
        raise Unjudgeable(f"its parameter {name} isn't a whole number")
    return int(value)


def distinct_values(cells: ClassCells) -> Levels:
    """Return how many different values each class has."""
    return np.diff(cells.starts).astype(np.float64)


def values_to_cover(cells: ClassCells) -> Levels:
    """Return the least number of values of each class that may be held by all of its persons.

    Where a person has several values, each is held by so many persons; those of the most frequent
    values are added up until they are as many as the class has. Otherwise it is the number of
    different values.
    """
    if cells.persons is None or cells.counts.sum() == cells.persons.sum():
        return distinct_values(cells)
    found = np.empty(len(cells.persons))
    for place, persons in enumerate(cells.persons.tolist()):
        held = np.sort(cells.counts[cells.starts[place] : cells.starts[place + 1]])[::-1]
        found[place] = 1 + np.searchsorted(np.cumsum(held), persons)
    return found


def entropy_values(cells: ClassCells) -> Levels:
    """Return the exponential of the entropy of each class: as many equally frequent values."""
    shares = cells.counts / cells.sizes[cells.owners]
    return np.exp(-np.add.reduceat(shares * np.log(shares), cells.starts[:-1]))


def recursive_ratios(cells: ClassCells, l: int) -> Levels:
    """Return r_1 / (r_l + ... + r_m) of each class, r falling; infinite with fewer values than l.

    A class is recursively (c,l)-diverse where this is below c.
    """
    owners = cells.owners
    falling = cells.counts[np.lexsort((-cells.counts, owners))]
    first = cells.starts[:-1]
    rank = np.arange(len(falling)) - first[owners]
    tails = np.add.reduceat(np.where(rank >= l - 1, falling, 0), first)
    ratios = np.full(len(first), np.inf)
    np.divide(falling[first], tails, out=ratios, where=tails > 0)
    return ratios


def largest_shares(cells: ClassCells, k: int) -> Levels:
    """Return the share of each class's most frequent value; infinite with fewer rows than k."""
    sizes = cells.sizes
    shares = np.maximum.reduceat(cells.counts, cells.starts[:-1]) / sizes
    return np.where(sizes < k, np.inf, shares)


def largest_log_ratios(cells: ClassCells, totals: Ints) -> Levels:
    """Return the largest abs(log p - log q) over all values, p of the class and q of the table.

    Infinite where a class lacks a value of the table.
    """
    p = cells.counts / cells.sizes[cells.owners]
    q = totals[cells.values] / totals.sum()
    ratios = np.maximum.reduceat(np.maximum(p / q, q / p), cells.starts[:-1])
    lacking = np.diff(cells.starts) < np.count_nonzero(totals)
    return np.where(lacking, np.inf, np.log(ratios))


def largest_gains(cells: ClassCells, totals: Ints, *, slack: float | None) -> Levels:
    """Return the largest (p - q) / q over all values, p of the class and q of the table.

    Infinite where one exceeds -log(q) by more than ``slack``, unless that is ``None``.
    """
    p = cells.counts / cells.sizes[cells.owners]
    q = totals[cells.values] / totals.sum()
    gains = p / q - 1.0
    if slack is not None:
        gains = np.where(gains > slack - np.log(q), np.inf, gains)
    return np.maximum.reduceat(gains, cells.starts[:-1])


def equal_distances(cells: ClassCells, totals: Ints) -> Levels:
    """Return half the sum of |p - q| over all values, p of the class and q of the table."""
    rows = int(totals.sum())
    p = cells.counts / cells.sizes[cells.owners]
    q = totals[cells.values] / rows
    # Values that the class lacks add their q; all q add up to 1.
    return (np.add.reduceat(np.abs(p - q) - q, cells.starts[:-1]) + 1.0) / 2.0


def ordered_distances(cells: ClassCells, totals: Ints) -> Levels:
    """Return the mean of |P_i - Q_i| over the m - 1 steps between values, P and Q cumulated.

    The cells of a class are in the order of the values. Between two values that the class has, P
    stands still and Q grows, so each such stretch is summed at once.
    """
    m = len(totals)
    if m < 2:
        return np.zeros(len(cells.starts) - 1)
    q = np.cumsum(totals) / totals.sum()
    sums = np.concatenate(([0.0], np.cumsum(q)))
    first, last = cells.starts[:-1], cells.starts[1:] - 1
    running = np.cumsum(cells.counts)
    before = running[first] - cells.counts[first]
    sizes = cells.sizes
    p = (running - before[cells.owners]) / sizes[cells.owners]
    ends = np.append(cells.values[1:], 0)
    ends[last] = m - 1  # the last step is from the last value but one to the last
    stretch = _stretches(p, cells.values, ends, q, sums)
    # Ahead of its first value P is 0, and the sum that of Q.
    total = np.add.reduceat(stretch, first) + sums[cells.values[first]]
    return total / (m - 1)


def _stretches(p: Levels, begins: Ints, ends: Ints, q: Levels, sums: Levels) -> Levels:
    """Return the sum of |p - q_i| over begins <= i < ends for each p; q rises."""
    ends = np.maximum(ends, begins)
    cross = np.clip(np.searchsorted(q, p, side="right"), begins, ends)
    below = p * (cross - begins) - (sums[cross] - sums[begins])
    above = (sums[ends] - sums[cross]) - p * (ends - cross)
    return below + above


def hierarchical_distances(cells: ClassCells, totals: Ints, parents: list[Ints]) -> Levels:
    """Return what must move in the tree of values, weighted by how high it must climb.

    Notes
    -----
    At each node the smaller of what its children have too much and too little of is moved
    between them, at the cost of the node's height over the height of the tree (Li et al. 2007,
    section 4.2). A node that a class has no value of moves nothing.
    """
    height = len(parents)
    sizes = cells.sizes
    rows = int(totals.sum())
    cost = np.zeros(len(sizes))
    for level, parent_of in enumerate(parents, start=1):
        p = cells.counts / sizes[cells.owners]
        extra = p - totals[cells.values] / rows
        above = np.zeros(int(parent_of.max()) + 1, dtype=np.int64)
        np.add.at(above, parent_of, totals)
        merged = sum_cells(cells.owners, parent_of[cells.values], cells.counts, len(above))
        surplus = np.zeros(len(merged.counts))
        place = np.searchsorted(
            merged.owners * len(above) + merged.values,
            cells.owners * len(above) + parent_of[cells.values],
        )
        np.add.at(surplus, place, np.maximum(extra, 0.0))
        # What all children together have too much of is surplus minus shortage.
        whole = merged.counts / sizes[merged.owners] - above[merged.values] / rows
        moved = np.minimum(surplus, surplus - whole)
        cost += level / height * np.add.reduceat(moved, merged.starts[:-1])
        cells, totals = merged, above
    return cost
