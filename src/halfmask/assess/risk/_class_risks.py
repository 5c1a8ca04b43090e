"""Risks that follow from how many rows each row looks like: uniqueness, prosecutor and the others.

Sources: K. El Emam, "Guide to the de-identification of personal health information", 2013, chapter
16; F. Prasser et al., ARX, ``RiskModelSampleSummary``. F. K. Dankar and K. El Emam, "A method for
evaluating marketer re-identification risk", PAIS 2010.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from halfmask._errors import ParameterError
from halfmask._facts import Facts
from halfmask._validation import fraction
from halfmask.assess._risk import Risk, percent, row_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from halfmask.assess._arrays import Floats, Ints
    from halfmask.assess.risk._matching import Alike


THRESHOLDS = (0.05, 0.09, 0.1, 0.2, 0.33)
"""Thresholds that custodians use (El Emam 2013, ch. 18), in their notation.

0.09 and 0.33 are meant for classes of 11 and 3 rows; 1/11 and 1/3 are just above them, so rows of
just those classes count as above.
"""
_BIN_STARTS = (1, 2, 3, 5, 10, 20, 50, 100, 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareAbove(Facts):
    """Which share of the rows has a risk above a threshold.

    Parameters
    ----------
    threshold, share, rows
        The threshold, and the share and number of the rows whose risk is above it.
    """

    threshold: float
    share: float
    rows: int

    @property
    def sentence(self) -> str:
        """The numbers in one sentence, for a privacy officer."""
        return (
            f"For {row_text(self.rows)} ({percent(self.share)}) the chance is above "
            f"{percent(self.threshold)}."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleUniqueness(Facts):
    """How many rows are alone with their quasi-identifiers.

    Parameters
    ----------
    share, rows
        Their share of all rows, and their number.
    """

    share: Risk
    rows: int

    @property
    def sentence(self) -> str:
        """The numbers in one sentence, for a privacy officer."""
        are = "is" if self.rows == 1 else "are"
        return (
            f"{row_text(self.rows)} ({percent(self.share.value)}) {are} the only one with "
            "those quasi-identifiers in the table: an attacker who knows them finds the person."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupRisk(Facts):
    """The risk that an attacker who looks rows up picks the right one.

    Parameters
    ----------
    highest
        The risk of the rows that fewest others look like: 1 over how many.
    average
        The mean risk of all rows.
    rows_at_highest
        How many rows have the highest risk.
    at_risk
        For each threshold the share of rows whose risk is above it.
    """

    highest: Risk
    average: Risk
    rows_at_highest: int
    at_risk: tuple[ShareAbove, ...]

    @property
    def _chances(self) -> str:
        return (
            f"with a chance of {percent(self.highest.value)} at worst "
            f"({row_text(self.rows_at_highest)}) and of {percent(self.average.value)} on average."
        )


class ProsecutorRisk(LookupRisk):
    """The risk for a person whom the attacker knows to be in the table.

    The average is also the share of rows that are picked rightly when this is tried for each (the
    success rate). Parameters are those of `JournalistRisk`.
    """

    __slots__ = ()

    @property
    def sentence(self) -> str:
        """The numbers in one sentence, for a privacy officer."""
        return (
            "Someone who knows that a certain person is in the table, and all of the person's "
            f"quasi-identifiers, picks the right row {self._chances}"
        )


class JournalistRisk(LookupRisk):
    """The risk that an attacker identifies a row by looking at a population.

    The average is the larger of the mean risk of all rows, and of the success rate of someone who
    draws people of the population who look like a row of the table.
    """

    __slots__ = ()

    @property
    def sentence(self) -> str:
        """The numbers in one sentence, for a privacy officer."""
        return (
            "Someone who doesn't know who is in the table, and looks its rows up in the whole "
            f"population, names the right person {self._chances}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketerRisk(Facts):
    """The share of rows that an attacker who links every row links correctly.

    Parameters
    ----------
    linked
        The expected share of right links.
    against_population
        Whether rows are linked to the population, or to a list of just the people in the table.
    """

    linked: Risk
    against_population: bool

    @property
    def sentence(self) -> str:
        """The number in one sentence, for a privacy officer."""
        whom = (
            "a person of the population"
            if self.against_population
            else "a person on a list of everyone in the table"
        )
        return (
            f"Someone who links every row to {whom} with the same quasi-identifiers is expected "
            f"to be right for {percent(self.linked.value)} of the rows."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeBin:
    """Classes of about the same size.

    Parameters
    ----------
    low, high
        The smallest and the largest size of the bin; ``None`` has no upper end.
    classes, rows
        How many classes there are, and how many rows are in them.
    """

    low: int
    high: int | None
    classes: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassSizes(Facts):
    """How many rows are in classes of each size.

    Parameters
    ----------
    classes, smallest, largest, average
        How many classes there are, and their smallest, largest and average size.
    median_of_rows
        The size that half of the rows have at least: how many the middle row looks like.
    bins
        The whole distribution; bins without classes too.
    """

    classes: int
    smallest: int
    largest: int
    average: float
    median_of_rows: int
    bins: tuple[SizeBin, ...]

    @property
    def sentence(self) -> str:
        """The numbers in one sentence, for a privacy officer."""
        return (
            f"There are {self.classes:,} groups of rows that look alike, the smallest of "
            f"{row_text(self.smallest)} and the largest of {row_text(self.largest)}; half of "
            f"the rows are in groups of {self.median_of_rows:,} or more."
        )


_Found = TypeVar("_Found", bound=LookupRisk)


def sample_uniqueness(alike: Alike) -> SampleUniqueness:
    """Count the rows that look like no other row of the table."""
    alone = alike.sample == 1
    return SampleUniqueness(
        share=Risk.counted(alike.share_of_rows(alone)), rows=int(alike.rows[alone].sum())
    )


def prosecutor_risk(alike: Alike, *, thresholds: Sequence[float]) -> ProsecutorRisk:
    """Compute the prosecutor's risk: ``1 / f`` for a row in a class of ``f``.

    The baseline is a guess among all rows.
    """
    average = alike.mean_chance(alike.sample)
    return _looked_up(ProsecutorRisk, alike, alike.sample, average, 1.0 / alike.n_rows, thresholds)


def journalist_risk(alike: Alike, *, thresholds: Sequence[float]) -> JournalistRisk:
    """Compute the journalist's risk: ``1 / F`` for a row that ``F`` people match.

    The average is ``max(J / sum(F), mean of 1 / F)`` over ``J`` classes; where missing is a
    wildcard, classes overlap and it is the mean alone. The baseline is a guess among the
    population, where its size is given.
    """
    people = alike.population
    if people is None:
        raise ParameterError("The risk of a journalist takes the population.")
    average = alike.mean_chance(people)
    if (alike.rows == alike.sample).all():
        average = max(average, len(alike.rows) / int(people.sum()))
    return _looked_up(JournalistRisk, alike, people, average, alike.guess_in_population, thresholds)


def _looked_up(
    kind: Callable[..., _Found],
    alike: Alike,
    people: Ints,
    average: float,
    guess: float | None,
    thresholds: Sequence[float],
) -> _Found:
    smallest = int(people.min())
    return kind(
        highest=Risk.counted(1.0 / smallest, baseline=guess),
        average=Risk.counted(average, baseline=guess),
        rows_at_highest=int(alike.rows[people == smallest].sum()),
        at_risk=shares_above(alike, 1.0 / people, thresholds),
    )


def marketer_risk(alike: Alike) -> MarketerRisk:
    """Compute the marketer's risk: the mean over rows of 1 over their matches.

    It is ``1/n * sum(f / F)`` over classes of ``f`` rows in the table and ``F`` in the population;
    without a population ``F = f``, and it is the number of classes by that of rows.
    """
    known = alike.population is not None
    people = alike.sample if alike.population is None else alike.population
    guess = alike.guess_in_population if known else 1.0 / alike.n_rows
    return MarketerRisk(
        linked=Risk.counted(alike.mean_chance(people), baseline=guess), against_population=known
    )


def class_sizes(alike: Alike) -> ClassSizes:
    """Count classes and rows by size, a wildcard's matches included in the size."""
    order = np.argsort(-alike.sample, kind="stable")
    reached = np.cumsum(alike.rows[order])
    middle = int(np.searchsorted(reached, (alike.n_rows + 1) // 2))
    in_bin = np.searchsorted(_BIN_STARTS, alike.sample, side="right") - 1
    n_classes = np.bincount(in_bin, minlength=len(_BIN_STARTS))
    ends = (*(start - 1 for start in _BIN_STARTS[1:]), None)
    bins = tuple(
        SizeBin(
            low=low,
            high=high,
            classes=int(n_classes[place]),
            rows=int(alike.rows[in_bin == place].sum()),
        )
        for place, (low, high) in enumerate(zip(_BIN_STARTS, ends, strict=True))
    )
    return ClassSizes(
        classes=len(alike.rows),
        smallest=int(alike.sample.min()),
        largest=int(alike.sample.max()),
        average=alike.n_rows / len(alike.rows),
        median_of_rows=int(alike.sample[order][middle]),
        bins=bins,
    )


def shares_above(
    alike: Alike, chance: Floats, thresholds: Sequence[float]
) -> tuple[ShareAbove, ...]:
    """Return for each threshold the share of rows whose chance is above it.

    A chance is 1 over an integer, correctly rounded, and so is the threshold that was typed: one
    that is met exactly, such as 1 / 10 and 0.1, isn't above.
    """
    for threshold in thresholds:
        fraction(owner="thresholds", threshold=threshold)
    above = {threshold: chance > threshold for threshold in thresholds}
    return tuple(
        ShareAbove(
            threshold=threshold,
            share=alike.share_of_rows(groups),
            rows=int(alike.rows[groups].sum()),
        )
        for threshold, groups in above.items()
    )
