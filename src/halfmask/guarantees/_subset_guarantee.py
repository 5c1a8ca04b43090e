"""Guarantees over every set of so many quasi-identifiers, as far as an attacker knows them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
import numpy.typing as npt

from halfmask._errors import ParameterError
from halfmask.guarantees._guarantee import Guarantee, Levels, Met

if TYPE_CHECKING:
    from halfmask.guarantees._classes import Classes

Ints = npt.NDArray[np.int64]

#: More sets of columns than these take hours.
_MOST_SETS: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SubsetGuarantee(Guarantee):
    """A guarantee that the classes over any so many quasi-identifiers must keep.

    A subclass says over how many (``known``) and which guarantee (``over_all``). The level of a
    class is the worst of the classes that it is part of, over every set of columns.

    Notes
    -----
    **Guarantees.** Exact: every set of exactly ``known`` columns is counted. Classes over fewer
    columns are whole classes over more of them, so that they keep a monotone guarantee too.

    It is monotone where whole values are merged in all rows, as by full-domain generalization.
    Other methods merge the cells of rare combinations and count all combinations again, until none
    is rare: what is written for other rows changes with them.
    """

    relative: ClassVar[bool] = True
    needs_written: ClassVar[bool] = True
    weaknesses: ClassVar[tuple[str, ...]] = ("few-known-columns",)

    @property
    @abstractmethod
    def known(self) -> int:
        """How many quasi-identifiers an attacker knows at most."""

    @property
    @abstractmethod
    def over_all(self) -> Guarantee:
        """What the classes over each set of columns must keep."""

    def check_columns(self, n_columns: int) -> None:
        """Raise unless there are sets of so many columns, and not too many.

        Parameters
        ----------
        n_columns
            The number of quasi-identifiers.

        Raises
        ------
        ParameterError
            If there are fewer columns, or too many sets of them.
        """
        if self.known > n_columns:
            raise ParameterError(
                f"{self!r} is about {self.known} quasi-identifiers, and there are {n_columns}.",
                hint="Ask for fewer; for all of them, ask for k-anonymity.",
            )
        if comb(n_columns, self.known) > _MOST_SETS:
            raise ParameterError(
                f"{self!r} counts {comb(n_columns, self.known):,} sets of columns; at most "
                f"{_MOST_SETS:,} can be.",
                hint="Ask for fewer columns at once.",
            )

    def _measure(self, classes: Classes) -> tuple[Levels, Met]:
        written = classes.written
        if written is None:
            raise ParameterError(
                f"{self!r} can't be judged: what is written for the classes isn't known.",
                hint="Give Classes the number of each class's value in each column.",
            )
        self.check_columns(written.shape[1])
        inner = self.over_all
        worse = np.maximum if self.worse_when_larger else np.minimum
        levels = np.full(classes.n_classes, -np.inf if self.worse_when_larger else np.inf)
        met = np.ones(classes.n_classes, dtype=np.bool_)
        for into in _combinations(written, self.known):
            judged = inner.judge(classes.coarsened(into, int(into.max()) + 1))
            levels = worse(levels, judged.levels[into])
            met &= ~np.isin(into, judged.failing)
        return levels, met


def _combinations(written: Ints, known: int) -> Iterator[Ints]:
    """Yield, for each set of so many columns, the number of each class's combination."""
    n_columns = written.shape[1]

    def extended(groups: Ints, first: int, left: int) -> Iterator[Ints]:
        if not left:
            yield groups
            return
        for j in range(first, n_columns - left + 1):
            width = int(written[:, j].max()) + 1
            # Below the square of the number of classes, since both are numbered from 0.
            numbers = np.unique(groups * width + written[:, j], return_inverse=True)[1]
            yield from extended(numbers.astype(np.int64), j + 1, left - 1)

    yield from extended(np.zeros(len(written), dtype=np.int64), 0, known)
