"""Risks from attackers who know who is in the table: of each row, on average, of unique rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from halfmask._validation import decimal
from halfmask.guarantees._exact import at_most
from halfmask.guarantees._guarantee import Guarantee, Levels, Met
from halfmask.guarantees._table_guarantee import Ints, TableGuarantee, sizes_around, smallest_first

if TYPE_CHECKING:
    from halfmask.guarantees._classes import Classes


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LargestRisk(Guarantee):
    """No row has a prosecutor risk above ``risk``.

    The level of a class is the prosecutor risk of its rows, 1 over their number: the attacker knows
    that the person is in the table. Source: K. El Emam and F. K. Dankar, "Protecting privacy using
    k-anonymity", JAMIA 15(5), 2008.

    Parameters
    ----------
    risk
        The largest risk, above 0 and below 1.

    See Also
    --------
    KAnonymity : The same, in rows.

    Notes
    -----
    **Guarantees.** ``risk`` is read as what was typed, 0.09 or 1 / 3, and compared in integers, so
    the judgement is exact. Monotone: merged classes are larger.

    **Edge cases.** 0.09 asks for 12 rows in a class, because 1/11 is above it. For a minimum of 11
    rows, ask for ``KAnonymity(k=11)``.

    Examples
    --------
    >>> from halfmask.guarantees import Classes
    >>> judgement = LargestRisk(risk=0.33).judge(Classes.from_codes([0, 0, 0, 0, 1, 1, 1], 2))
    >>> judgement.levels.round(3).tolist(), judgement.failing.tolist()
    ([0.25, 0.333], [1])
    """

    model: ClassVar[str] = "largest-risk"
    sentence: ClassVar[str] = (
        "No row has a prosecutor risk, 1 over the rows of its class, above it."
    )
    meaning: ClassVar[str] = (
        "Nobody is found again with a probability above {risk_share}: each class has at least "
        "{risk_rows} rows."
    )
    bounded: ClassVar[str] = "risk"
    monotone_with_suppression: ClassVar[bool] = True
    worse_when_larger: ClassVar[bool] = True
    counts_persons: ClassVar[bool] = True
    monotone_in_persons: ClassVar[bool] = True

    risk: float = field(metadata={"gt": 0, "lt": 1})

    @property
    def min_rows(self) -> int:
        """1 over the risk, rounded up."""
        return -int(-1 // decimal(self.risk))

    def _measure(self, classes: Classes) -> tuple[Levels, Met]:
        ones = np.ones_like(classes.sizes)
        return 1 / classes.sizes, at_most(ones, classes.sizes, decimal(self.risk))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AverageRisk(TableGuarantee):
    """The average prosecutor risk of the rows is at most ``risk``.

    The prosecutor risk of a row is 1 over the rows of its class; the average over all rows is the
    number of classes over the number of rows. Source: K. El Emam, "Guide to the De-Identification
    of Personal Health Information", 2013, chapter 16.

    Parameters
    ----------
    risk
        The largest average risk, above 0 and below 1.

    See Also
    --------
    LargestRisk : Bounds the risk of every row.
    RecordsAtRisk : Bounds the share of the rows whose risk is above a threshold.

    Notes
    -----
    **Guarantees.** ``risk`` is read as the decimal that was typed and compared in integers, so the
    judgement is exact. Monotone: merging leaves fewer classes and as many rows. Classes to blame:
    the smallest, as many as there are more than allowed. Where a person is the unit, the mean is
    over persons, and the risk of one with rows in several classes is the largest of them.

    **Edge cases.** An average says nothing of a single row: a row may still be unique. For the
    strict average risk, ask for `KAnonymity` as well.

    Examples
    --------
    >>> from halfmask.guarantees import Classes
    >>> judgement = AverageRisk(risk=0.33).judge(Classes.from_codes([0, 0, 0, 0, 1, 1, 2], 3))
    >>> round(judgement.achieved, 3), judgement.holds, judgement.failing.tolist()
    (0.429, False, [2])
    """

    model: ClassVar[str] = "average-risk"
    sentence: ClassVar[str] = (
        "The mean over all rows of 1 over the rows of their class isn't above it."
    )
    meaning: ClassVar[str] = (
        "On average, a person is found again with a probability of at most {risk_share}."
    )
    monotone_with_suppression: ClassVar[bool] = True
    bounded: ClassVar[str] = "risk"
    counts_persons: ClassVar[bool] = True
    monotone_in_persons: ClassVar[bool] = True

    risk: float = field(metadata={"gt": 0, "lt": 1})

    def _level_of_table(self, classes: Classes) -> tuple[float, bool]:
        total, units = _total_risk(classes)
        return float(total / units), total <= decimal(self.risk) * units

    def _to_blame(self, classes: Classes) -> Ints:
        total, units = _total_risk(classes)
        every = np.arange(classes.n_classes, dtype=np.int64)
        excess = ceil(total - floor(decimal(self.risk) * units))
        return smallest_first(classes.sizes, every, excess=excess)


def _total_risk(classes: Classes) -> tuple[Fraction, int]:
    """Return the sum of the risks of all rows, or persons, and how many these are."""
    if classes.members is None:  # each class has a total risk of 1
        return Fraction(classes.n_classes), classes.rows
    sizes, counts = np.unique(classes.members.smallest_classes(), return_counts=True)
    risks = (Fraction(n, size) for size, n in zip(sizes.tolist(), counts.tolist(), strict=True))
    return sum(risks, Fraction(0)), int(counts.sum())


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SampleUniques(TableGuarantee):
    """At most the share ``share`` of the rows is unique.

    A row is unique if no other row has its quasi-identifiers. Source: C. Skinner and M. Elliot, "A
    measure of disclosure risk for microdata", JRSS B 64(4), 2002, section 1.

    Parameters
    ----------
    share
        The largest share of unique rows, from 0 to below 1.

    See Also
    --------
    RecordsAtRisk : The same for rows in small classes.
    PopulationUniques : The same for the population that the rows were drawn from.

    Notes
    -----
    **Guarantees.** ``share`` is read as the decimal that was typed and compared in integers, so the
    judgement is exact. Monotone: merging makes no row unique. Classes to blame: unique rows, as
    many as there are more than allowed. Where a person is the unit, the share is of persons: one
    who is alone in any class is unique.

    **Edge cases.** A share of 0 is 2-anonymity.

    Examples
    --------
    >>> from halfmask.guarantees import Classes
    >>> judgement = SampleUniques(share=0.1).judge(Classes.from_codes([0, 0, 0, 1], 2))
    >>> judgement.achieved, judgement.failing.tolist()
    (0.25, [1])
    """

    model: ClassVar[str] = "sample-uniqueness"
    sentence: ClassVar[str] = "No larger share of the rows is unique on the quasi-identifiers."
    meaning: ClassVar[str] = (
        "At most {share_share} of the rows are unique on the quasi-identifiers."
    )
    monotone_with_suppression: ClassVar[bool] = True
    bounded: ClassVar[str] = "share"
    counts_persons: ClassVar[bool] = True
    monotone_in_persons: ClassVar[bool] = True

    share: float = field(metadata={"ge": 0, "lt": 1})

    def _level_of_table(self, classes: Classes) -> tuple[float, bool]:
        unique, units = _uniques(classes)
        return unique / units, unique <= decimal(self.share) * units

    def _to_blame(self, classes: Classes) -> Ints:
        unique = np.flatnonzero(classes.sizes == 1).astype(np.int64)
        found, units = _uniques(classes)
        excess = found - floor(decimal(self.share) * units)
        return smallest_first(classes.sizes, unique, excess=excess)


def _uniques(classes: Classes) -> tuple[int, int]:
    """Return how many rows, or persons, are unique, and how many there are."""
    sizes, units = sizes_around(classes)
    return int(units[sizes == 1].sum()), int(units.sum())


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RecordsAtRisk(TableGuarantee):
    """At most the share ``share`` of the rows has a prosecutor risk above ``risk``.

    The prosecutor risk of a row is 1 over the rows of its class. Source: K. El Emam, "Guide to the
    De-Identification of Personal Health Information", 2013, chapter 16 (the risk R_a).

    Parameters
    ----------
    share
        The largest share of rows at risk, from 0 to below 1.
    risk
        The prosecutor risk above which a row is at risk, above 0 and below 1.

    See Also
    --------
    LargestRisk : No row may be at risk.
    SampleUniques : The rows with a risk of 1.

    Notes
    -----
    **Guarantees.** Both parameters are read as the decimals that were typed and compared in
    integers, so the judgement is exact. Monotone: merging puts no row at risk. Classes to blame:
    the smallest, until their rows are as many as there are more than allowed. Where a person is the
    unit, the share is of persons: one who is at risk in any class is at risk.

    **Edge cases.** A share of 0 is `LargestRisk`. With ``risk=0.09``, 11 rows are at risk, because
    1/11 is above it.

    Examples
    --------
    >>> from halfmask.guarantees import Classes
    >>> few = RecordsAtRisk(share=0.3, risk=0.4)
    >>> judgement = few.judge(Classes.from_codes([0, 0, 0, 1, 1, 2], 3))
    >>> judgement.achieved, judgement.failing.tolist()
    (0.5, [1, 2])
    """

    model: ClassVar[str] = "records-at-risk"
    sentence: ClassVar[str] = (
        "No larger share of the rows has a prosecutor risk, 1 over the rows of its class, above "
        "the threshold."
    )
    meaning: ClassVar[str] = "At most {share_share} of the rows have a risk above {risk_share}."
    bounded: ClassVar[str] = "share"
    counts_persons: ClassVar[bool] = True
    monotone_in_persons: ClassVar[bool] = True

    share: float = field(metadata={"ge": 0, "lt": 1})
    risk: float = field(metadata={"gt": 0, "lt": 1})

    @property
    def _least(self) -> int:
        """1 over the risk, rounded up."""
        return -int(-1 // decimal(self.risk))

    def _counted(self, classes: Classes) -> tuple[int, int]:
        """Return how many rows, or persons, are at risk, and how many there are."""
        sizes, units = sizes_around(classes)
        return int(units[sizes < self._least].sum()), int(units.sum())

    def _level_of_table(self, classes: Classes) -> tuple[float, bool]:
        at_risk, units = self._counted(classes)
        return at_risk / units, at_risk <= decimal(self.share) * units

    def _to_blame(self, classes: Classes) -> Ints:
        at_risk = np.flatnonzero(classes.sizes < self._least).astype(np.int64)
        found, units = self._counted(classes)
        excess = found - floor(decimal(self.share) * units)
        return smallest_first(classes.sizes, at_risk, excess=excess, of_rows=True)
