"""(alpha,k)-anonymity: k rows in every class, and no sensitive value in too many of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from halfmask._validation import decimal, integer_at_least, number_between
from halfmask.guarantees._exact import at_most, rounded_down
from halfmask.guarantees._guarantee import Criterion, Guarantee, Levels, Met

if TYPE_CHECKING:
    from halfmask.guarantees._classes import Classes


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AlphaKAnonymity(Guarantee):
    """Each class has ``k`` rows, and no value in a share of over ``alpha``.

    The level of a class is the share of its most frequent value; infinite with fewer rows than
    ``k``. Source: R. C.-W. Wong, J. Li, A. W.-C. Fu and K. Wang, "(alpha, k)-anonymity: an enhanced
    k-anonymity model for privacy-preserving data publishing", KDD 2006; here for every
    sensitive value.

    Parameters
    ----------
    alpha
        The largest share of one value in a class, above 0 and below 1.
    k
        The least number of rows in a class, 1 or more.
    column
        The sensitive column.

    See Also
    --------
    KAnonymity : The same without a sensitive column.
    RecursiveCLDiversity : Holds the most frequent value against the rarer ones.

    Notes
    -----
    **Guarantees.** The share is compared with ``alpha``, read as the decimal that was typed, in
    integers, so the judgement is exact. Monotone: the share of a value in merged classes is a mean
    of its shares in them, and sizes add up.

    An attacker who knows the class of a person guesses the value with probability ``alpha`` at
    most. A value that is rare in the table may still become likely: see beta-likeness.

    **Edge cases.** Missing counts as one value. With an ``alpha`` below the share of a value in
    the whole table, no classes meet it.

    Examples
    --------
    >>> from halfmask.guarantees import Classes
    >>> classes = Classes.from_codes([0, 0, 0, 0, 1, 1], 2, {"ill": ([0, 0, 1, 2, 1, 1], 3)})
    >>> judgement = AlphaKAnonymity(alpha=0.5, k=2, column="ill").judge(classes)
    >>> judgement.levels.tolist(), judgement.failing.tolist()
    ([0.5, 1.0], [1])
    """

    model: ClassVar[str] = "alpha-k-anonymity"
    sentence: ClassVar[str] = (
        "Every class has at least k rows, and no value of the column has more than the share alpha "
        "of them."
    )
    bounded: ClassVar[str] = "alpha"
    worse_when_larger: ClassVar[bool] = True
    counts_persons: ClassVar[bool] = True
    takes_several_values: ClassVar[bool] = True

    alpha: float = field(metadata={"gt": 0, "lt": 1})
    k: int = field(metadata={"ge": 2})
    column: str

    def __post_init__(self) -> None:
        number_between(
            0.0, 1.0, owner="AlphaKAnonymity", low_open=True, high_open=True, alpha=self.alpha
        )
        integer_at_least(1, owner="AlphaKAnonymity", k=self.k)

    @property
    def class_size(self) -> int:
        """``k``."""
        return int(self.k)

    @property
    def min_rows(self) -> int:
        """``k``, or as many rows as the values need that share a class."""
        return max(self.class_size, -int(-1 // decimal(self.alpha)))

    def criterion(self) -> Criterion:
        """Return the guarantee as numbers, for the compiled engine."""
        share = rounded_down(decimal(self.alpha))
        return Criterion(
            rule="largest-share",
            column=self.column,
            thresholds=(float(share.numerator), float(share.denominator)),
        )

    def _measure(self, classes: Classes) -> tuple[Levels, Met]:
        histogram = classes.histogram(self.column)
        largest = np.maximum.reduceat(histogram.counts, histogram.offsets[:-1])
        enough = classes.sizes >= self.k
        levels = np.where(enough, largest / classes.sizes, np.inf)
        return levels, enough & at_most(largest, classes.sizes, decimal(self.alpha))
