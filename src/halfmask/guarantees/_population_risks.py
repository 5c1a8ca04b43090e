"""Risks from attackers who look rows up in a population: journalist and marketer."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import floor, fsum
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from halfmask._errors import ParameterError
from halfmask._validation import decimal
from halfmask.guarantees._exact import at_most
from halfmask.guarantees._guarantee import Guarantee, Levels, Met
from halfmask.guarantees._table_guarantee import TableGuarantee

if TYPE_CHECKING:
    from halfmask.guarantees._classes import Classes

Ints = npt.NDArray[np.int64]

#: Sums of floats that are closer to a bound than this are added up again as fractions.
CLOSE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LargestJournalistRisk(Guarantee):
    """No row has a journalist risk above ``risk``.

    The journalist risk of a row is 1 over the people of the population that fit its class: the
    attacker doesn't know who is in the table. Source: K. El Emam and F. K. Dankar, "Protecting
    privacy using k-anonymity", JAMIA 15(5), 2008.

    Parameters
    ----------
    risk
        The largest risk, above 0 and below 1.

    See Also
    --------
    KMap : The same, in people.
    LargestRisk : The same from an attacker who knows that the person is in the table.

    Notes
    -----
    **Guarantees.** Compared exactly. Monotone: more people fit merged classes.

    Examples
    --------
    >>> from halfmask.guarantees import Classes
    >>> classes = Classes(np.array([1, 1]), population=np.array([5, 4]))
    >>> LargestJournalistRisk(risk=0.2).judge(classes).failing.tolist()
    [1]
    """

    model: ClassVar[str] = "largest-journalist-risk"
    sentence: ClassVar[str] = (
        "No row has a journalist risk, 1 over the people who fit its class, above it."
    )
    bounded: ClassVar[str] = "risk"
    worse_when_larger: ClassVar[bool] = True
    needs_population: ClassVar[bool] = True

    risk: float = field(metadata={"gt": 0, "lt": 1})

    def _measure(self, classes: Classes) -> tuple[Levels, Met]:
        people = _people(classes)
        return 1 / people, at_most(np.ones_like(people), people, decimal(self.risk))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MarketerThreshold(TableGuarantee):
    """The marketer risk is at most ``risk``.

    The share of the rows that an attacker links correctly who links every row to a person that fits
    it: the mean over the rows of 1 / F. Source: F. K. Dankar and K. El Emam, "A method for
    evaluating marketer re-identification risk", PAIS 2010.

    Parameters
    ----------
    risk
        The largest risk, above 0 and below 1.

    See Also
    --------
    AverageRisk : The same for an attacker who has a list of the people in the table.

    Notes
    -----
    **Guarantees.** Compared exactly. Monotone. Classes to blame: those with the fewest people, as
    many as make up the excess.

    Examples
    --------
    >>> from halfmask.guarantees import Classes
    >>> classes = Classes(np.array([3, 1]), population=np.array([6, 2]))
    >>> MarketerThreshold(risk=0.4).judge(classes).achieved
    0.25
    """

    model: ClassVar[str] = "marketer-risk"
    sentence: ClassVar[str] = (
        "Someone who links every row to a person who fits it is right for no larger share of them."
    )
    bounded: ClassVar[str] = "risk"
    needs_population: ClassVar[bool] = True

    risk: float = field(metadata={"gt": 0, "lt": 1})

    def _level_of_table(self, classes: Classes) -> tuple[float, bool]:
        return _mean_at_most(classes, self.risk)

    def _to_blame(self, classes: Classes) -> Ints:
        return _fewest_people(classes, self.risk)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AverageJournalistRisk(TableGuarantee):
    """The average journalist risk of the rows is at most ``risk``.

    The larger of the mean over the rows of 1 / F, and of the classes over the people who fit them:
    the success of an attacker who starts from a row, or from a person. Source: K. El Emam, "Guide
    to the De-Identification of Personal Health Information", 2013, chapter 16.

    Parameters
    ----------
    risk
        The largest average risk, above 0 and below 1.

    See Also
    --------
    MarketerThreshold : The first of both means alone.
    LargestJournalistRisk : Bounds the risk of every row.

    Notes
    -----
    **Guarantees.** Compared exactly. Monotone. Classes to blame: those with the fewest people.

    **Edge cases.** Where classes overlap, a person who fits several counts once. A class that
    nobody fits counts as one person.

    Examples
    --------
    >>> from halfmask.guarantees import Classes
    >>> classes = Classes(np.array([9, 1]), population=np.array([90, 2]))
    >>> round(AverageJournalistRisk(risk=0.1).judge(classes).achieved, 3)
    0.06
    """

    model: ClassVar[str] = "average-journalist-risk"
    sentence: ClassVar[str] = "The mean journalist risk of the rows is no larger."
    bounded: ClassVar[str] = "risk"
    needs_population: ClassVar[bool] = True

    risk: float = field(metadata={"gt": 0, "lt": 1})

    def _level_of_table(self, classes: Classes) -> tuple[float, bool]:
        mean, kept = _mean_at_most(classes, self.risk)
        people = _fitting(classes)
        from_people = classes.n_classes / people
        return max(mean, from_people), kept and classes.n_classes <= decimal(self.risk) * people

    def _to_blame(self, classes: Classes) -> Ints:
        return _fewest_people(classes, self.risk)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class JournalistRecordsAtRisk(TableGuarantee):
    """At most the share ``share`` of the rows has a journalist risk above ``risk``.

    The risk of a row is that of `LargestJournalistRisk`. Source: K. El Emam, "Guide to the
    De-Identification of Personal Health Information", 2013, chapter 16.

    Parameters
    ----------
    share
        The largest share of rows at risk, from 0 to below 1.
    risk
        The threshold, above 0 and below 1.

    See Also
    --------
    RecordsAtRisk : The same for the prosecutor risk.

    Notes
    -----
    **Guarantees.** Compared exactly. Monotone. Classes to blame: those with the fewest people.

    Examples
    --------
    >>> from halfmask.guarantees import Classes
    >>> classes = Classes(np.array([3, 1]), population=np.array([6, 2]))
    >>> JournalistRecordsAtRisk(share=0.1, risk=0.2).judge(classes).achieved
    0.25
    """

    model: ClassVar[str] = "journalist-records-at-risk"
    sentence: ClassVar[str] = (
        "No larger share of the rows has a journalist risk, 1 over the people who fit their class, "
        "above the threshold."
    )
    bounded: ClassVar[str] = "share"
    needs_population: ClassVar[bool] = True

    share: float = field(metadata={"ge": 0, "lt": 1})
    risk: float = field(metadata={"gt": 0, "lt": 1})

    def _at_risk(self, classes: Classes) -> Ints:
        people = _people(classes)
        safe = at_most(np.ones_like(people), people, decimal(self.risk))
        return np.flatnonzero(~safe).astype(np.int64)

    def _level_of_table(self, classes: Classes) -> tuple[float, bool]:
        at_risk, rows = int(classes.sizes[self._at_risk(classes)].sum()), classes.rows
        return at_risk / rows, at_risk <= decimal(self.share) * rows

    def _to_blame(self, classes: Classes) -> Ints:
        at_risk = self._at_risk(classes)
        ordered = at_risk[np.argsort(_people(classes)[at_risk], kind="stable")]
        rows = classes.sizes[ordered]
        excess = int(rows.sum()) - floor(decimal(self.share) * classes.rows)
        return ordered[np.cumsum(rows) - rows < excess]


def _people(classes: Classes) -> Ints:
    """Return the people of each class; a class that nobody fits has a risk of 1."""
    return np.maximum(classes.people, 1)


def _fitting(classes: Classes) -> int:
    """Return how many people fit a class, each once; for a class that nobody fits, one."""
    people = _people(classes)
    if classes.shared is None:
        return int(people.sum())
    if classes.inside is None:
        raise ParameterError(
            "The people who fit several classes weren't counted once.",
            hint="Give Classes the number of people inside.",
        )
    return classes.inside + int((classes.people == 0).sum())


def _mean_at_most(classes: Classes, risk: float) -> tuple[float, bool]:
    """Return the mean over rows of 1 over the people, and whether it is at most a bound."""
    people = _people(classes)
    mean = fsum((classes.sizes / people).tolist()) / classes.rows
    bound = decimal(risk)
    if abs(mean - risk) > CLOSE:
        return mean, mean < risk
    distinct, of_class = np.unique(people, return_inverse=True)
    rows = np.bincount(of_class.reshape(-1), weights=classes.sizes)
    pairs = zip(rows.astype(np.int64).tolist(), distinct.tolist(), strict=True)
    return mean, sum((Fraction(*pair) for pair in pairs), Fraction(0)) <= bound * classes.rows


def _fewest_people(classes: Classes, risk: float) -> Ints:
    """Return the classes with the fewest people, whose risk makes up what is too much."""
    people = _people(classes)
    ordered = np.argsort(people, kind="stable").astype(np.int64)
    each = (classes.sizes / people)[ordered]
    excess = float(each.sum()) - risk * classes.rows
    return ordered[np.cumsum(each) - each < max(excess, 0.0)]
