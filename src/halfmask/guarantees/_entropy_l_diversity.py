"""Entropy l-diversity: no class is easier to guess in than l equally frequent values."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from halfmask._validation import decimal, number_between
from halfmask.guarantees._guarantee import Criterion, Guarantee, Levels, Met

if TYPE_CHECKING:
    from fractions import Fraction

    from halfmask.guarantees._classes import Classes

# Levels this near to l (relative) are settled with integers; floats err by less than 1e-13.
_SLACK = 1e-9
# The integers have about n * log2(n) bits for a class of n rows.
_EXACT_ROWS = 4096


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class EntropyLDiversity(Guarantee):
    """The entropy of a sensitive column is at least ``log(l)`` in every class.

    The level of a class is ``exp(entropy)``, the number of equally frequent values that would be
    as hard to guess among. Source: A. Machanavajjhala et al., "l-diversity: privacy beyond
    k-anonymity", TKDD 1(1), 2007, definition 4.1.

    Parameters
    ----------
    l
        The least level, 1 or more; fractions are allowed.
    column
        The sensitive column.

    See Also
    --------
    DistinctLDiversity : Counts values only.
    RecursiveCLDiversity : Bounds the most frequent value.

    Notes
    -----
    **Guarantees.** ``l`` is read as the decimal that was typed. A class whose level is within
    1e-9 of it (relative) is settled with integers, ``n^n >= l^n * product(c^c)`` for the counts
    ``c`` divided by their common factor, up to 4,096 rows after the division; above that it
    misses. So no class passes that shouldn't. Monotone: entropy is concave, so that of merged
    classes is at least the mean, weighted by rows, of theirs.

    A level of ``l`` takes at least ``l`` values, and more if they are unevenly frequent.

    **Edge cases.** Missing counts as one value.

    Examples
    --------
    >>> from halfmask.guarantees import Classes
    >>> classes = Classes.from_codes([0] * 4, 1, {"ill": ([0, 0, 0, 1], 2)})
    >>> judgement = EntropyLDiversity(l=1.8, column="ill").judge(classes)
    >>> round(judgement.achieved, 4), judgement.holds
    (1.7548, False)
    """

    model: ClassVar[str] = "entropy-l-diversity"
    sentence: ClassVar[str] = "The entropy of the column is at least log(l) in every class."
    meaning: ClassVar[str] = "In each class {column} is as varied as {l} equally frequent values."
    bounded: ClassVar[str] = "l"
    counts_persons: ClassVar[bool] = True

    l: float = field(metadata={"gt": 1})
    column: str

    def __post_init__(self) -> None:
        number_between(1.0, math.inf, owner="EntropyLDiversity", l=self.l)

    def criterion(self) -> Criterion:
        """Return the guarantee as numbers, for the compiled engine."""
        return Criterion(rule="entropy-l", column=self.column, thresholds=(float(self.l),))

    @property
    def min_rows(self) -> int:
        """``l``, rounded up: a level of l takes that many values."""
        return math.ceil(self.l)

    def _measure(self, classes: Classes) -> tuple[Levels, Met]:
        histogram = classes.histogram(self.column)
        starts, counts = histogram.offsets[:-1], histogram.counts
        weighted = np.add.reduceat(counts * np.log(counts), starts)
        levels = np.exp(np.log(classes.sizes) - weighted / classes.sizes)
        even = np.minimum.reduceat(counts, starts) == np.maximum.reduceat(counts, starts)
        # Evenly frequent values, the common tight case, have an exact level: their number.
        levels = np.where(even, np.diff(histogram.offsets), levels)
        met = levels >= self.l
        near = np.flatnonzero(~even & (np.abs(levels / self.l - 1.0) <= _SLACK))
        threshold = decimal(self.l)
        for index in near.tolist():
            inside = slice(histogram.offsets[index], histogram.offsets[index + 1])
            met[index] = _meets_exactly(_reduced(counts[inside]), threshold)
        return levels, met


def _reduced(counts: npt.NDArray[np.int64]) -> tuple[int, ...]:
    """Return the counts in order, divided by their common factor: their entropy stays."""
    factor = int(np.gcd.reduce(counts))
    return tuple(sorted(count // factor for count in counts.tolist()))


@lru_cache(maxsize=1024)
def _meets_exactly(counts: tuple[int, ...], l: Fraction) -> bool:
    """Say whether ``exp(entropy) >= l``, or False where that would take too long."""
    rows = sum(counts)
    if rows > _EXACT_ROWS:
        return False
    product = math.prod(count**count for count in counts)
    return bool((rows * l.denominator) ** rows >= l.numerator**rows * product)
