"""k-map: every row fits at least k people of the population, counted or by an estimate."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, get_args

import numpy as np

from halfmask._validation import check_fields, decimal, integer_at_least, one_of
from halfmask.guarantees._guarantee import Guarantee, Levels, Met

if TYPE_CHECKING:
    from halfmask.guarantees._classes import Classes


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class KMap(Guarantee):
    """Every row fits at least ``k`` people of the population.

    The level of a class is the number of people whose values fit what is written for it.
    Source: L. Sweeney, "Computational disclosure control", PhD thesis, MIT, 2001, section 4.3.

    Parameters
    ----------
    k
        The least number of people that fit a class, 1 or more.

    See Also
    --------
    KAnonymity : Counts the rows of the table instead.

    Notes
    -----
    **Guarantees.** Exact: people are counted. Monotone: what is written for merged classes covers
    what was written for each.

    It protects from an attacker who doesn't know who is in the table. One who does is held off
    by k-anonymity alone: a class may have a single row.

    **Edge cases.** Ranges may overlap; a person counts for each class that they fit.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmask.guarantees import Classes
    >>> judgement = KMap(k=5).judge(Classes(np.array([1, 2]), population=np.array([7, 4])))
    >>> judgement.achieved, judgement.failing.tolist()
    (4.0, [1])
    """

    model: ClassVar[str] = "k-map"
    sentence: ClassVar[str] = "Every row fits at least k people of the population."
    bounded: ClassVar[str] = "k"
    needs_population: ClassVar[bool] = True

    k: int = field(metadata={"ge": 2})

    def __post_init__(self) -> None:
        integer_at_least(1, owner="KMap", k=self.k)

    def _measure(self, classes: Classes) -> tuple[Levels, Met]:
        people = classes.people
        return people.astype(np.float64), people >= self.k


#: How the people behind the rows of a class are modelled.
CellSizeEstimator: TypeAlias = Literal["poisson", "zero-truncated-poisson"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class EstimatedKMap(Guarantee):
    """By an estimate, every class has at least ``k`` people in the population.

    The population isn't known, but which share of it the rows are. A class passes if it has so many
    rows that ``k`` people would give as many with a probability of ``significance`` at most.
    Source: K. El Emam and F. K. Dankar, "Protecting privacy using k-anonymity", JAMIA 15(5), 2008.

    Parameters
    ----------
    k
        The least number of people, 2 or more.
    sampling_fraction
        The share of the population that the table is, above 0 to 1: rows over people.
    significance
        The largest probability that a class of ``k`` people passes, such as 0.05.
    estimator
        How many rows ``k`` people give: ``"poisson"``, or ``"zero-truncated-poisson"``, which
        leaves out that there is none.

    See Also
    --------
    KMap : Counts the people of a population that is given.

    Notes
    -----
    **Guarantees.** An estimate, not a count: it holds as far as the rows were drawn at random. The
    level of a class is its rows. The rows that are asked for are `min_rows`: the least n with
    P(X >= n) <= significance for X from a Poisson distribution of mean k * sampling_fraction, or
    the same given X > 0; never more than k. ARX's ``KMap`` derives the same number. Monotone.

    **Edge cases.** Where the fraction is small, few rows are enough: with k = 5, a fraction of 0.1
    and 0.05 it is 3 rows.

    Examples
    --------
    >>> likely = EstimatedKMap(
    ...     k=5, sampling_fraction=0.1, significance=0.05, estimator="zero-truncated-poisson"
    ... )
    >>> likely.min_rows
    3
    """

    model: ClassVar[str] = "estimated-k-map"
    sentence: ClassVar[str] = "By an estimate, every row fits at least k people of the population."
    bounded: ClassVar[str] = "k"
    basis: ClassVar[Literal["counted", "estimated"]] = "estimated"

    k: int = field(metadata={"ge": 2})
    sampling_fraction: float = field(metadata={"gt": 0, "le": 1})
    significance: float = field(metadata={"gt": 0, "lt": 1})
    estimator: CellSizeEstimator

    def __post_init__(self) -> None:
        check_fields(self)
        one_of(get_args(CellSizeEstimator), owner="EstimatedKMap", estimator=self.estimator)

    @property
    def min_rows(self) -> int:
        """The rows that make ``k`` people likely."""
        truncated = self.estimator == "zero-truncated-poisson"
        mean = float(self.k * decimal(self.sampling_fraction))
        return min(self.k, _rows_asked(mean, self.significance, truncated=truncated))

    @property
    def required(self) -> float:
        """`min_rows`: the level is the rows of a class."""
        return float(self.min_rows)

    def _measure(self, classes: Classes) -> tuple[Levels, Met]:
        return classes.sizes.astype(np.float64), classes.sizes >= self.min_rows


@lru_cache(maxsize=256)
def _rows_asked(mean: float, significance: float, *, truncated: bool) -> int:
    """Return the least n of at least 1 with P(X >= n) of at most the significance."""
    from scipy.stats import poisson  # noqa: PLC0415 # a policy is read without it

    limit = significance * (float(-np.expm1(-mean)) if truncated else 1.0)
    # The first quantile may be one off where a probability is close to the limit.
    n = max(1, int(poisson.isf(limit, mean)))
    while n > 1 and poisson.sf(n - 2, mean) <= limit:
        n -= 1
    while poisson.sf(n - 1, mean) > limit:
        n += 1
    return n
