"""What a check of a model consists of: how a level is counted, and which levels keep it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from halfmask.claims.claim import Basis
    from halfmask.verifier.tables._counting import Cells
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

    levels: Callable[[Cells, Ints, Tree | None], Levels]
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
