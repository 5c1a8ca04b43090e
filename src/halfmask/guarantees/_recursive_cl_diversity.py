"""Recursive (c,l)-diversity: the most frequent value isn't far more frequent than the rare ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from halfmask._validation import decimal
from halfmask.guarantees._exact import below
from halfmask.guarantees._guarantee import Criterion, Guarantee, Levels, Met

if TYPE_CHECKING:
    from halfmask.guarantees._classes import Classes
    from halfmask.guarantees._histogram import Histogram, Ints


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RecursiveCLDiversity(Guarantee):
    """In every class ``r1 < c * (r_l + r_(l+1) + ... + r_m)``.

    ``r1 >= r2 >= ... >= r_m`` are the counts of the ``m`` values of the sensitive column in the
    class. Source: A. Machanavajjhala et al., "l-diversity: privacy beyond k-anonymity", TKDD 1(1),
    2007, definition 4.2.

    Parameters
    ----------
    c
        How many times more frequent than the rarer values together the most frequent may be,
        above 0.
    l
        From which rank on values are the rarer ones, 2 or more: after ``l - 2`` values are ruled
        out, the class is still not given away.
    column
        The sensitive column.

    See Also
    --------
    EntropyLDiversity : One number for all frequencies.
    TCloseness : Compares each class with the whole table.

    Notes
    -----
    The level of a class is ``r1 / (r_l + ... + r_m)``, for this ``l``: the class is recursive
    (c,l)-diverse for every ``c`` above it and for none up to it (the inequality is strict). It is
    infinite in a class with fewer than ``l`` values.

    **Guarantees.** ``c`` is read as the decimal that was typed and compared with integers: exact.
    Monotone: the condition reads ``r1 + c * top < c * n`` with ``top`` the sum of the ``l - 1``
    largest counts and ``n`` all rows. When classes merge, ``n`` adds up, and ``r1`` and ``top``
    become at most the sum of theirs.

    **Edge cases.** Missing counts as one value.

    Examples
    --------
    >>> from halfmask.guarantees import Classes
    >>> classes = Classes.from_codes([0] * 6, 1, {"ill": ([0, 0, 0, 1, 1, 2], 3)})
    >>> RecursiveCLDiversity(c=1.1, l=2, column="ill").judge(classes).holds
    True
    >>> RecursiveCLDiversity(c=1, l=2, column="ill").judge(classes).holds
    False
    """

    model: ClassVar[str] = "recursive-cl-diversity"
    sentence: ClassVar[str] = (
        "In every class the most frequent value is less than c times the l-th and rarer ones."
    )
    bounded: ClassVar[str] = "c"
    worse_when_larger: ClassVar[bool] = True
    counts_persons: ClassVar[bool] = True

    c: float = field(metadata={"gt": 0})
    l: int = field(metadata={"ge": 2})
    column: str

    def criterion(self) -> Criterion:
        """Return the guarantee as numbers, for the compiled engine."""
        return Criterion(
            rule="recursive-cl",
            column=self.column,
            thresholds=(float(self.l), float(self.c)),
        )

    def _measure(self, classes: Classes) -> tuple[Levels, Met]:
        histogram = classes.histogram(self.column)
        largest = np.maximum.reduceat(histogram.counts, histogram.offsets[:-1])
        rarer = classes.sizes - _sum_of_largest(histogram, self.l - 1)
        levels = np.full(classes.n_classes, np.inf)
        np.divide(largest, rarer, out=levels, where=rarer > 0)
        return levels, below(largest, rarer, decimal(self.c))


def _sum_of_largest(histogram: Histogram, n: int) -> Ints:
    """Add up the ``n`` largest counts of each class."""
    starts = histogram.offsets[:-1]
    # One integer for class and count sorts both at once, the class's largest count first.
    radix = int(histogram.counts.max()) + 1
    keys = np.sort(histogram.class_of_entry * radix + (radix - 1 - histogram.counts))
    descending = radix - 1 - keys % radix
    rank = np.arange(len(keys)) - np.repeat(starts, np.diff(histogram.offsets))
    return np.add.reduceat(np.where(rank < n, descending, 0), starts)
