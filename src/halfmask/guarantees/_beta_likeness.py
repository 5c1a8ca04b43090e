"""beta-likeness: in no class a sensitive value is much more frequent than in the whole table."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from halfmask._validation import decimal
from halfmask.guarantees._exact import at_most, log_below, share_ratios
from halfmask.guarantees._guarantee import Criterion, Guarantee, Levels, Met

if TYPE_CHECKING:
    from halfmask.guarantees._classes import Classes

# Gains this near to -log(p) are settled with decimals; floats err by less than 1e-13.
_SLACK = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class BasicBetaLikeness(Guarantee):
    """No value's share in a class exceeds that in the table by ``beta`` times.

    The level of a class is its largest gain ``(q - p) / p``, where ``q`` is the share of a value in
    the class and ``p`` that in the whole table. Source: J. Cao and P. Karras, "Publishing microdata
    with a robust privacy guarantee", PVLDB 5(11), 2012.

    Parameters
    ----------
    beta
        The largest gain, a number above 0: with 1, a share at most doubles.
    column
        The sensitive column.

    See Also
    --------
    EnhancedBetaLikeness : Bounds frequent values, too.
    DeltaDisclosurePrivacy : Bounds what becomes less likely as well.

    Notes
    -----
    **Guarantees.** Gains are fractions of integers, and ``beta`` is read as the decimal that was
    typed: the judgement is exact. The reference is the table that is judged; if rows are
    suppressed, it is the table without them. Monotone: the share in merged classes is a mean of
    the shares in them.

    A value whose share in the table is above ``1 / (1 + beta)`` may fill a class.

    **Edge cases.** Missing counts as one value. A column with one value has level 0.

    Examples
    --------
    >>> from halfmask.guarantees import Classes
    >>> classes = Classes.from_codes([0, 0, 0, 1, 1, 1], 2, {"ill": ([0, 0, 1, 0, 0, 0], 2)})
    >>> judgement = BasicBetaLikeness(beta=1, column="ill").judge(classes)
    >>> judgement.levels.round(3).tolist(), judgement.holds  # 1/3 where the table has 1/6
    ([1.0, 0.2], True)
    """

    model: ClassVar[str] = "basic-beta-likeness"
    sentence: ClassVar[str] = (
        "In no class the share of a value exceeds its share in the whole table by more than beta "
        "times the latter."
    )
    bounded: ClassVar[str] = "beta"
    worse_when_larger: ClassVar[bool] = True
    relative: ClassVar[bool] = True
    counts_persons: ClassVar[bool] = True

    beta: float = field(metadata={"gt": 0})
    column: str

    def criterion(self) -> Criterion:
        """Return the guarantee as numbers, for the compiled engine."""
        return Criterion(rule="basic-beta", column=self.column, thresholds=(float(self.beta),))

    def _measure(self, classes: Classes) -> tuple[Levels, Met]:
        in_class, in_table = share_ratios(classes, self.column)
        gains = in_class - in_table
        starts = classes.histogram(self.column).offsets[:-1]
        levels = np.maximum.reduceat(np.asarray(gains / in_table, dtype=np.float64), starts)
        kept = at_most(gains, in_table, decimal(self.beta))
        return levels, np.logical_and.reduceat(kept, starts)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class EnhancedBetaLikeness(Guarantee):
    """A value's gain in a class is at most ``beta``, and at most ``-log(p)``.

    The level of a class is its largest gain ``(q - p) / p``, where ``q`` is the share of a value in
    the class and ``p`` that in the whole table; infinite where the gain of a value exceeds
    ``-log(p)``. The logarithm is the natural one. Source: J. Cao and P. Karras, "Publishing
    microdata with a robust privacy guarantee", PVLDB 5(11), 2012.

    Parameters
    ----------
    beta
        The largest gain, a number above 0.
    column
        The sensitive column.

    See Also
    --------
    BasicBetaLikeness : The same without the bound of frequent values.

    Notes
    -----
    **Guarantees.** As :class:`BasicBetaLikeness`. A gain within 1e-9 of ``-log(p)`` is settled
    with 60 decimal digits. Since ``p * (1 - log(p))`` is below 1, no value of a column with two or
    more values fills a class.

    **Edge cases.** Missing counts as one value. A column with one value has level 0.

    Examples
    --------
    >>> from halfmask.guarantees import Classes
    >>> classes = Classes.from_codes([0, 0, 0, 1, 1, 1], 2, {"ill": ([0, 0, 1, 0, 0, 0], 2)})
    >>> judgement = EnhancedBetaLikeness(beta=1, column="ill").judge(classes)
    >>> judgement.levels.round(3).tolist()  # all of a class where the table has 5/6
    [1.0, inf]
    """

    model: ClassVar[str] = "enhanced-beta-likeness"
    sentence: ClassVar[str] = (
        "In no class the share of a value exceeds its share p in the whole table by more than beta "
        "or -log(p) times p."
    )
    bounded: ClassVar[str] = "beta"
    worse_when_larger: ClassVar[bool] = True
    relative: ClassVar[bool] = True
    counts_persons: ClassVar[bool] = True

    beta: float = field(metadata={"gt": 0})
    column: str

    def criterion(self) -> Criterion:
        """Return the guarantee as numbers, for the compiled engine."""
        return Criterion(rule="enhanced-beta", column=self.column, thresholds=(float(self.beta),))

    def _measure(self, classes: Classes) -> tuple[Levels, Met]:
        basic = BasicBetaLikeness(beta=self.beta, column=self.column)
        levels, met = basic._measure(classes)  # noqa: SLF001 # of this module
        histogram, rows = classes.histogram(self.column), classes.rows
        in_class, in_table = share_ratios(classes, self.column)
        gains = np.asarray((in_class - in_table) / in_table, dtype=np.float64)
        totals = histogram.totals[histogram.codes]
        surprises = np.log(rows / totals)
        kept = gains <= surprises
        for entry in np.flatnonzero(np.abs(gains - surprises) <= _SLACK).tolist():
            gain = Fraction(int(in_class[entry] - in_table[entry]), int(in_table[entry]))
            kept[entry] = not log_below(Fraction(rows, int(totals[entry])), gain)
        bounded = np.logical_and.reduceat(kept, histogram.offsets[:-1])
        return np.where(bounded, levels, np.inf), met & bounded
