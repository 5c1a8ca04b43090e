"""Population uniqueness: few people of the population are unique, by an estimate from the rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import floor, inf
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np

from halfmask._errors import DivergenceError, ParameterError
from halfmask._validation import decimal, integer_at_least, number_between, one_of
from halfmask.guarantees._table_guarantee import Ints, TableGuarantee, smallest_first
from halfmask.guarantees._uniques_estimators import UniquesEstimator, estimate_uniques

if TYPE_CHECKING:
    from halfmask.guarantees._classes import Classes


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PopulationUniques(TableGuarantee):
    """At most the share ``share`` of the population is unique, by an estimate.

    Source: F. Dankar et al., "Estimating the re-identification risk of clinical data sets", BMC
    MIDM 12:66, 2012; `estimate_uniques` has the sources of the estimators.

    Parameters
    ----------
    share
        The largest share of unique people, from 0 to below 1.
    population
        How many people the population has, from which the rows were drawn at random.
    sampling_fraction
        In the place of `population`: the share of it that the judged rows are.
    estimator
        ``"pitman"``, ``"zayatz"``, ``"snb"``, or ``"dankar"``: the rule that chooses among them.

    Raises
    ------
    ParameterError
        When a parameter is out of its range, or not exactly one says what the population is.

    See Also
    --------
    SampleUniques : The same for the rows themselves, without an estimate.

    Notes
    -----
    **Guarantees.** The estimate of a model, not a count: it holds as far as the rows were drawn at
    random and the model fits. Where an estimator has no solution, the level is infinite and the
    guarantee is missed. Not monotone: merged classes of two or more rows can raise the estimate.
    Classes to blame: unique rows, in proportion to what the estimate is too large.

    **Edge cases.** A population with fewer people than there are rows is an error. Without a unique
    row the level is 0; rows that are the whole population are counted.

    Examples
    --------
    >>> from halfmask.guarantees import Classes
    >>> classes = Classes(np.array([1] * 50 + [2] * 10 + [5] * 6))
    >>> few = PopulationUniques(share=0.05, population=500)
    >>> judgement = few.judge(classes)
    >>> round(judgement.achieved, 3), judgement.holds
    (0.302, False)
    """

    model: ClassVar[str] = "population-uniqueness"
    sentence: ClassVar[str] = (
        "By an estimate, no larger share of the population is unique on the quasi-identifiers."
    )
    bounded: ClassVar[str] = "share"
    monotone: ClassVar[bool] = False
    basis: ClassVar[Literal["counted", "estimated"]] = "estimated"

    share: float = field(metadata={"ge": 0, "lt": 1})
    population: int | None = field(default=None, metadata={"ge": 1})
    sampling_fraction: float | None = field(default=None, metadata={"gt": 0, "le": 1})
    estimator: UniquesEstimator = "dankar"

    def __post_init__(self) -> None:
        owner = "PopulationUniques"
        number_between(0.0, 1.0, owner=owner, high_open=True, share=self.share)
        one_of(get_args(UniquesEstimator), owner=owner, estimator=self.estimator)
        if (self.population is None) == (self.sampling_fraction is None):
            raise ParameterError(
                f"{owner} takes one of 'population' and 'sampling_fraction'. Got "
                f"{'none' if self.population is None else 'both'}.",
                hint="Give the number of people in the population.",
            )
        if self.population is not None:
            integer_at_least(1, owner=owner, population=self.population)
        else:
            number_between(
                0.0, 1.0, owner=owner, low_open=True, sampling_fraction=self.sampling_fraction
            )

    def _level_of_table(self, classes: Classes) -> tuple[float, bool]:
        people = self.population
        if people is None:
            people = max(classes.rows, round(classes.rows / decimal(self.sampling_fraction or 1)))
        try:
            found = estimate_uniques(
                classes.sizes, population=people, estimator=self.estimator
            ).share
        except DivergenceError:
            return inf, False
        return found, found <= self.share

    def _to_blame(self, classes: Classes) -> Ints:
        level, _ = self._level_of_table(classes)
        unique = np.flatnonzero(classes.sizes == 1).astype(np.int64)
        allowed = floor(len(unique) * self.share / level)
        return smallest_first(classes.sizes, unique, excess=max(1, len(unique) - allowed))
