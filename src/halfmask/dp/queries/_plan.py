"""Plan of a question: noise of each measure, what it costs and states, and the error to expect."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from halfmask._errors import ParameterError
from halfmask._validation import number_between, one_of
from halfmask.dp.accounting import ExponentialEvent, MechanismEvent
from halfmask.dp.noise import GaussianMechanism, LaplaceMechanism, NoiseMechanism
from halfmask.dp.queries._estimates import (
    CONFIDENCE,
    Estimate,
    ExpectedError,
    RowsEstimate,
    estimates_of,
)
from halfmask.dp.queries._grouping import KeySelection
from halfmask.dp.queries._measures import DistinctValues, Measure, QuantileChoice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halfmask.claims.claim import Json
    from halfmask.dp.ledger import PrivacyUnit
    from halfmask.dp.queries._question import Question

Noise: TypeAlias = Literal["laplace", "gaussian"]
#: More groups than a table has rows aren't selected.
_MOST_GROUPS: Final = 1 << 31
#: Epsilon of a question beyond this protects nobody; noise for less than that answers nothing.
_MOST_EPSILON: Final = 100.0
_LEAST_EPSILON: Final = 1e-6


@dataclass(frozen=True)
class QueryPlan:
    """What a question costs and how exact its answer is, before anything is paid for.

    Parameters
    ----------
    question
        What is asked.
    unit
        Whose presence is protected.
    epsilon
        What the answer costs, from 1e-6 to 100.
    delta
        What Gaussian noise or the selection of keys cost; 0 if there is neither.
    noise
        ``"laplace"`` or ``"gaussian"``.

    Notes
    -----
    Epsilon is divided equally among the measures: a mean takes two, a sum and a count, which it
    shares with other aggregates of the same column, and mostly with the count of rows. A quantile
    takes one share, half of it for the ends of its interval. Keys that are selected take one share.
    """

    question: Question
    unit: PrivacyUnit
    epsilon: float
    delta: float
    noise: Noise

    def __post_init__(self) -> None:
        owner = "a question"
        number_between(_LEAST_EPSILON, _MOST_EPSILON, owner=owner, epsilon=self.epsilon)
        number_between(0, 1, owner=owner, high_open=True, delta=self.delta)
        one_of(("laplace", "gaussian"), owner=owner, noise=self.noise)
        needs = self.noise == "gaussian" or self.question.grouping.is_private
        if needs and not self.delta:
            raise ParameterError(
                "Gaussian noise and the selection of keys take a delta above 0.",
                hint="Give a delta, far below 1 / rows; or give the keys of all groups.",
            )
        if self.delta and not needs:
            raise ParameterError(
                "Laplace noise with given keys takes no delta.",
                hint="Leave delta out. Keys of a joined public table are given, too.",
            )

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        """What is added up, each once."""
        found = [measure for each in estimates_of(self.question) for measure in each.measures]
        return tuple(dict.fromkeys(found))

    @cached_property
    def mechanisms(self) -> Mapping[Measure, NoiseMechanism]:
        """The noise of each measure that is added up."""
        added = (each for each in self.measures if not isinstance(each, QuantileChoice))
        return {each: self._mechanism(each) for each in added}

    @property
    def selection(self) -> KeySelection | None:
        """How keys are selected; ``None`` if they are given."""
        if not self.question.grouping.is_private:
            return None
        return KeySelection(self.share, self.delta_share, self.unit)

    def key(self) -> str:
        """Return what the ledger finds an answer by: the question and its noise."""
        shared = " missing" if any(not each.weight for each in self.measures) else ""
        return f"{self.question.key()}{shared} {self.noise} {self.delta!r}"

    def choice_epsilon(self, each: QuantileChoice) -> float:
        """Return the epsilon of one choice: a person takes part in those of groups.

        Parameters
        ----------
        each
            The measure of the quantile, or of an end of its interval.
        """
        return self.share * each.weight / (self.unit.max_groups if self._grouped else 1)

    def choice_sensitivity(self, each: QuantileChoice) -> int:
        """Return the most by which a person changes a score of a quantile.

        Parameters
        ----------
        each
            The measure of the quantile.
        """
        return each.l1(self.unit, grouped=False)

    def events(self) -> list[MechanismEvent]:
        """Return what is booked before the answer is made."""
        n_groups = self.question.grouping.n_groups or _MOST_GROUPS
        found: list[MechanismEvent] = []
        if self.selection is not None:
            found.append(self.selection.event())
        for each in self.measures:
            if isinstance(each, QuantileChoice):
                times = self.unit.max_groups if self._grouped else 1
                found += [ExponentialEvent(epsilon=self.choice_epsilon(each))] * times
            elif each.weight:
                entries = n_groups * len(self.vector_of(each))
                found.append(self.mechanisms[each].event(entries))
        return found

    def vector_of(self, each: Measure) -> tuple[Measure, ...]:
        """Return the measures that get noise as one vector, with a measure.

        Parameters
        ----------
        each
            A measure that is added up, but not of missing cells.
        """
        missing = Measure("missing", each.column)
        return (each, missing) if each.kind == "values" and missing in self.measures else (each,)

    def margin(self, each: Measure, *, shared_by: int = 1) -> float:
        """Return how far the noise of a measure lies from 0 at most, in units.

        Parameters
        ----------
        each
            The measure.
        shared_by
            How many measures have to lie within their margins at once, in 95 % of the draws.
        """
        return self.mechanisms[each].margin(1 - (1 - CONFIDENCE) / shared_by)

    def rank_margin(self, each: QuantileChoice) -> float:
        """Return how many rows the rank of a quantile is off at most.

        Parameters
        ----------
        each
            The measure of the quantile.

        Notes
        -----
        Dwork and Roth 2014, theorem 3.11, for the best of all candidates.
        """
        candidates = each.grid.high - each.grid.low + 1
        return self.score_margin(each, candidates / (1 - CONFIDENCE)) / each.at.denominator

    def score_margin(self, each: QuantileChoice, odds: float) -> float:
        """Return by how much better a score must be, for a candidate to be likelier.

        Parameters
        ----------
        each
            The measure of the quantile, or of an end of its interval.
        odds
            How many times as likely.
        """
        return 2 * self.choice_sensitivity(each) / self.choice_epsilon(each) * math.log(odds)

    def expected_errors(self) -> tuple[ExpectedError, ...]:
        """Return the error to expect of each aggregate; no cell changes it."""
        return tuple(
            each.expected_error(margins_of(self, each)) for each in estimates_of(self.question)
        )

    def uncovered(self) -> tuple[str, ...]:
        """Return what no interval covers: rows left out and values that change."""
        found = []
        person, of_rows = self.unit.person, self.unit.max_rows
        persons_alone = all(
            isinstance(it, DistinctValues) and it.column == person for it in self.measures
        )
        if person is not None and not persons_alone:
            rows = f"{of_rows:,} row{'s' * (of_rows > 1)}{' in a group' if self._grouped else ''}"
            found.append(
                f"Of each {person!r}, at most {rows} count. Others are left out: counts are too "
                "low by an unknown amount. Sums, means and quantiles are those of these rows."
            )
        if person is not None and self._grouped:
            groups = f"{self.unit.max_groups:,} group{'s' * (self.unit.max_groups > 1)}"
            found.append(f"Of each {person!r}, rows count in at most {groups}.")
        found += [sentence for each in estimates_of(self.question) for sentence in each.uncovered()]
        found += self.question.grouping.uncovered()
        if self.selection is not None:
            found.append("Groups of few persons or rows are left out.")
        return tuple(found)

    def to_dict(self) -> dict[str, object]:
        """Return the plan as a dictionary of JSON."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "errors": [each.sentence() for each in self.expected_errors()],
            "uncovered": list(self.uncovered()),
            "events": [each.to_json() for each in self.events()],
        }

    def explain(self) -> str:
        """Return the plan in words: cost, unit, errors, and what no interval covers."""
        cost = f"Costs epsilon {self.epsilon:g}" + (f", delta {self.delta:g}" if self.delta else "")
        lines = [f"{cost}, for {self.unit.sentence()}. In 95 % of the draws:"]
        lines += [f"  {each.sentence()}" for each in self.expected_errors()]
        if self.selection is not None:
            lines.append(
                f"  groups of fewer than about {self.selection.threshold:,.0f} persons or rows "
                "are left out"
            )
        counted = next((each for each in self.measures if each.kind == "values"), None)
        if counted is not None and Measure("rows") in self.measures:
            lines.append(
                f"  rows and values of {counted.column!r}, which may be missing, are counted "
                f"apart: Count(of={counted.column!r}) or a condition on it would share a count"
            )
        elif counted is not None and len(self.vector_of(counted)) > 1:
            lines.append(
                f"  rows are counted as values and missing cells of {counted.column!r}, at the "
                "price of one count"
            )
        if uncovered := self.uncovered():
            lines.append("Intervals cover the noise alone:")
            lines += [f"  {each}" for each in uncovered]
        return "\n".join(lines)

    @property
    def share(self) -> float:
        """The epsilon of one measure, one quantile, or of the selection of keys."""
        shares = sum(each.weight for each in self.measures)
        return self.epsilon / (shares + self.question.grouping.is_private)

    @property
    def delta_share(self) -> float:
        """The delta of one measure with Gaussian noise, or of the selection of keys."""
        if self.noise == "laplace":
            return self.delta
        gaussian = sum(
            each.weight > 0 for each in self.measures if not isinstance(each, QuantileChoice)
        )
        return self.delta / max(1, gaussian + self.question.grouping.is_private)

    @property
    def _grouped(self) -> bool:
        return bool(self.question.grouping.keys)

    def _mechanism(self, each: Measure) -> NoiseMechanism:
        if self.noise == "laplace":
            return LaplaceMechanism.calibrated(
                sensitivity=float(each.l1(self.unit, grouped=self._grouped)), epsilon=self.share
            )
        return GaussianMechanism.calibrated(
            sensitivity=each.l2(self.unit, grouped=self._grouped),
            epsilon=self.share,
            delta=self.delta_share,
        )


def margins_of(plan: QueryPlan, estimate: Estimate) -> list[float]:
    """Return the margins of an estimate's measures, within which all lie at once."""
    if isinstance(estimate, RowsEstimate):
        return [sum_margin(plan.mechanisms[each]) / 2 for each in estimate.measures]
    n = len(estimate.measures)
    return [
        plan.rank_margin(each)
        if isinstance(each, QuantileChoice)
        else plan.margin(each, shared_by=n)
        for each in estimate.measures
    ]


def sum_margin(noise: NoiseMechanism) -> float:
    """Return how far the noise of two entries together lies from 0 at most, in 95 % of draws."""
    if isinstance(noise, GaussianMechanism):
        return math.sqrt(2) * noise.margin(CONFIDENCE)
    from scipy.special import lambertw  # noqa: PLC0415 # few questions need it

    # The sum of two Laplace variables is beyond t scales with (1 + t / 2) * exp(-t).
    return noise.scale * (-2 - float(lambertw(-2 * (1 - CONFIDENCE) * math.exp(-2), k=-1).real))


def stated_noise(plan: QueryPlan) -> list[Json]:
    """Return each mechanism of an answer as an object of JSON."""
    stated: list[Json] = [] if plan.selection is None else [_selection(plan)]
    for each in plan.measures:
        used_by: list[Json] = [
            estimate.asked.label
            for estimate in estimates_of(plan.question)
            if each in estimate.measures
        ]
        noise = _choice(plan, each) if isinstance(each, QuantileChoice) else _added(plan, each)
        stated.append({"measure": each.name, "of": used_by, **_grid(each), **noise})
    return stated


def _grid(each: Measure) -> dict[str, Json]:
    """Return the grid of a measure: the least and most units, and a unit as a fraction."""
    if each.grid is None:
        return {}
    step: list[Json] = [each.grid.step.numerator, each.grid.step.denominator]
    return {"low": each.grid.low, "high": each.grid.high, "step": step}


def _added(plan: QueryPlan, each: Measure) -> dict[str, Json]:
    mechanism = plan.mechanisms[each]
    return {
        "mechanism": plan.noise,
        "sensitivity": mechanism.sensitivity,
        "scale": mechanism.scale,
        "epsilon": plan.share,
        "delta": plan.delta_share if plan.noise == "gaussian" else 0.0,
    }


def _choice(plan: QueryPlan, each: QuantileChoice) -> dict[str, Json]:
    """Return the choice of a quantile: of the unit's choices in all groups, epsilon is the sum."""
    sensitivity = float(plan.choice_sensitivity(each))
    return {
        "mechanism": "exponential",
        "sensitivity": sensitivity,
        "scale": 2 * sensitivity / plan.choice_epsilon(each),
        "epsilon": plan.share * each.weight,
        "delta": 0.0,
    }


def _selection(plan: QueryPlan) -> dict[str, Json]:
    assert plan.selection is not None  # noqa: S101 # its caller's condition
    noise = plan.selection.mechanism
    return {
        "measure": "persons",
        "of": [],
        "mechanism": "selection",
        "sensitivity": noise.sensitivity,
        "scale": noise.scale,
        "threshold": plan.selection.threshold,
        "epsilon": plan.share,
        "delta": plan.delta_share,
    }
