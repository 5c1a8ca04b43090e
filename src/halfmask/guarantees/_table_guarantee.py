"""Guarantees whose level is one number of the whole table."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from halfmask.guarantees._guarantee import Guarantee, Levels, Met

if TYPE_CHECKING:
    from halfmask.guarantees._classes import Classes

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TableGuarantee(Guarantee):
    """A guarantee that the table keeps or misses as a whole, such as an average risk.

    A subclass says the level of the table (``_level_of_table``) and, where it misses, which classes
    are to blame (``_to_blame``).

    Notes
    -----
    **Guarantees.** Every class has the level of the table. Classes fail if and only if the table
    misses: at least one is blamed then. Methods merge the classes to blame, or suppress the
    smallest classes where that is enough and allowed, and judge again until the table keeps the
    guarantee. Each round leaves fewer classes, so this ends.
    """

    of_table: ClassVar[bool] = True
    relative: ClassVar[bool] = True
    worse_when_larger: ClassVar[bool] = True

    def _measure(self, classes: Classes) -> tuple[Levels, Met]:
        level, kept = self._level_of_table(classes)
        met = np.ones(classes.n_classes, dtype=np.bool_)
        if not kept:
            to_blame = self._to_blame(classes)
            # An empty answer would turn a table that misses into one that keeps.
            met[to_blame if len(to_blame) else slice(None)] = False
        return np.full(classes.n_classes, level, dtype=np.float64), met

    @abstractmethod
    def _level_of_table(self, classes: Classes) -> tuple[float, bool]:
        """Return the level of the table, and whether it keeps the guarantee."""

    @abstractmethod
    def _to_blame(self, classes: Classes) -> Ints:
        """Return the smallest set of classes that must be merged, smallest classes first.

        At least one; asked only where the table misses.
        """


def sizes_around(classes: Classes) -> tuple[Ints, Ints]:
    """Return the sizes that rows have around them, and how many rows have each.

    Of persons: the persons of the smallest class of each, who is as easy to find as there.

    Examples
    --------
    >>> from halfmask.guarantees import Classes
    >>> sizes, rows = sizes_around(Classes.from_codes([0, 0, 1], 2))
    >>> sizes.tolist(), rows.tolist()
    ([2, 1], [2, 1])
    >>> sizes, persons = sizes_around(Classes.from_codes([0, 0, 1], 2, person_of_row=[5, 6, 6]))
    >>> sizes.tolist(), persons.tolist()
    ([2, 1], [1, 1])
    """
    if classes.members is None:
        return classes.sizes, classes.sizes
    smallest = classes.members.smallest_classes()
    return smallest, np.ones_like(smallest)


def smallest_first(sizes: Ints, among: Ints, *, excess: int, of_rows: bool = False) -> Ints:
    """Return the smallest of some classes, until they make up an excess of classes or rows.

    Examples
    --------
    >>> sizes = np.array([3, 1, 2, 1])
    >>> smallest_first(sizes, np.arange(4), excess=3).tolist()
    [1, 3, 2]
    >>> smallest_first(sizes, np.arange(4), excess=3, of_rows=True).tolist()
    [1, 3, 2]
    """
    ordered = among[np.argsort(sizes[among], kind="stable")]
    if not of_rows:
        return ordered[:excess]
    before = np.cumsum(sizes[ordered]) - sizes[ordered]
    return ordered[before < excess]
