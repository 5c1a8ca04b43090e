"""Plan of a question: noise of each measure, what it costs, and the error to expect."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from halfmask._errors import ParameterError
from halfmask._validation import number_between, one_of
from halfmask.dp.accounting import ExponentialEvent, MechanismEvent
from halfmask.dp.noise import GaussianMechanism, LaplaceMechanism, NoiseMechanism
from halfmask.dp.queries._aggregates import (
    Aggregate,
    BoundedAggregate,
    Mean,
    Quantile,
    Sum,
    Variance,
)
from halfmask.dp.queries._grouping import KeySelection
from halfmask.dp.queries._measures import Measure, grid_of, measures_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import polars as pl

    from halfmask.dp.ledger import PrivacyUnit
    from halfmask.dp.queries._question import Question

Noise: TypeAlias = Literal["laplace", "gaussian"]
#: Of every interval.
CONFIDENCE: Final = 0.95
#: More groups than a table has rows aren't selected.
_MOST_GROUPS: Final = 1 << 31
#: Epsilon of a question beyond this protects nobody; noise for less than that answers nothing.
_MOST_EPSILON: Final = 100.0
_LEAST_EPSILON: Final = 1e-6


@dataclass(frozen=True, slots=True)
class ExpectedError:
    """How far from the exact result an answer lies at most, in 95 % of the draws.

    Parameters
    ----------
    label
        The column of the answer.
    margin
        The distance; of a quantile, in rows of the rank.
    per
        ``"answer"``, ``"row"`` if the distance is ``margin`` divided by the rows of the group, or
        ``"rank"``.
    """

    label: str
    margin: float
    per: Literal["answer", "row", "rank"]

    def sentence(self) -> str:
        """Return the error in words."""
        match self.per:
            case "answer":
                return f"{self.label}: ± {self.margin:.4g}"
            case "row":
                thousand = self.margin / 1000
                return (
                    f"{self.label}: ± {self.margin:.4g} / rows of the group, such as "
                    f"± {thousand:.4g} for 1,000 rows"
                )
        return f"{self.label}: a value whose rank is off by at most {self.margin:,.0f} rows"


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
    shares with other aggregates of the same column. A quantile takes one share, half of it for the
    ends of its interval. Keys that are selected take one share.
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
                "Laplace noise with given keys takes no delta.", hint="Leave delta out."
            )

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        """What is added up, each once."""
        found = [
            measure
            for each in self.question.aggregates
            for measure in measures_of(each, self.question.dtypes)
        ]
        return tuple(dict.fromkeys(found))

    @cached_property
    def mechanisms(self) -> Mapping[Measure, NoiseMechanism]:
        """The noise of each measure that is added up."""
        return {each: self._mechanism(each) for each in self.measures if each.kind != "quantile"}

    @property
    def selection(self) -> KeySelection | None:
        """How keys are selected; ``None`` if they are given."""
        if not self.question.grouping.is_private:
            return None
        return KeySelection(self.share, self.delta_share, self.unit)

    def choice_epsilon(self, each: Measure) -> float:
        """Return the epsilon of one choice: a person takes part in those of groups.

        Parameters
        ----------
        each
            The measure of the quantile, or of an end of its interval.
        """
        return self.share * each.weight / (self.unit.max_groups if self._grouped else 1)

    def choice_sensitivity(self, each: Measure) -> int:
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
            if each.kind == "quantile":
                times = self.unit.max_groups if self._grouped else 1
                found += [ExponentialEvent(epsilon=self.choice_epsilon(each))] * times
            else:
                found.append(self.mechanisms[each].event(n_groups))
        return found

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

    def rank_margin(self, each: Measure) -> float:
        """Return how many rows the rank of a quantile is off at most.

        Parameters
        ----------
        each
            The measure of the quantile.

        Notes
        -----
        Dwork and Roth 2014, theorem 3.11, for the best of all candidates.
        """
        assert each.at is not None  # noqa: S101 - quantiles have one
        assert each.grid is not None  # noqa: S101 - the same
        candidates = each.grid.high - each.grid.low + 1
        return self.score_margin(each, candidates / (1 - CONFIDENCE)) / each.at.denominator

    def score_margin(self, each: Measure, odds: float) -> float:
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
        return tuple(self._expected(each) for each in self.question.aggregates)

    def uncovered(self) -> tuple[str, ...]:
        """Return what no interval covers: rows left out and values that change."""
        found = []
        person, of_rows = self.unit.person, self.unit.max_rows
        persons_alone = all((it.kind, it.column) == ("distinct", person) for it in self.measures)
        if person is not None and not persons_alone:
            rows = f"{of_rows:,} row{'s' * (of_rows > 1)}{' in a group' if self._grouped else ''}"
            found.append(
                f"Of each {person!r}, at most {rows} count. Others are left out: counts are too "
                "low by an unknown amount. Sums, means and quantiles are those of these rows."
            )
        if person is not None and self._grouped:
            groups = f"{self.unit.max_groups:,} group{'s' * (self.unit.max_groups > 1)}"
            found.append(f"Of each {person!r}, rows count in at most {groups}.")
        found += [
            _as_counted(each, self.question.dtypes)
            for each in self.question.aggregates
            if isinstance(each, BoundedAggregate)
        ]
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
        apart = [each.column for each in self.measures if each.kind == "values"]
        if apart and any(each.kind == "rows" for each in self.measures):
            lines.append(
                f"  rows and values of {apart[0]!r}, which may be missing, are counted apart: "
                f"Count(of={apart[0]!r}) or a condition on it would share a count"
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
        gaussian = sum(each.kind != "quantile" for each in self.measures)
        return self.delta / max(1, gaussian + self.question.grouping.is_private)

    def _expected(self, each: Aggregate) -> ExpectedError:
        measures = measures_of(each, self.question.dtypes)
        first = measures[0]
        if isinstance(each, Quantile):
            return ExpectedError(each.label, self.rank_margin(first), "rank")
        step = 1.0 if first.grid is None else float(first.grid.step)
        if isinstance(each, Sum) or len(measures) == 1:
            return ExpectedError(each.label, self.margin(first) * step, "answer")
        shared = [self.margin(measure, shared_by=len(measures)) for measure in measures]
        radius = 0 if first.grid is None else first.grid.radius
        if isinstance(each, Mean):
            return ExpectedError(each.label, (shared[0] + radius * shared[1]) * step, "row")
        assert isinstance(each, Variance)  # noqa: S101 - no other takes several measures
        # Of squares / n - (sum / n)**2, where a mean is at most a radius from the middle.
        units = shared[1] + radius**2 * shared[2] + 2 * radius * (shared[0] + radius * shared[2])
        return ExpectedError(each.label, units * step**2, "row")

    @property
    def _grouped(self) -> bool:
        return bool(self.question.grouping.keys)

    def _mechanism(self, each: Measure) -> NoiseMechanism:
        made: dict[str, Callable[[], NoiseMechanism]] = {
            "laplace": lambda: LaplaceMechanism.calibrated(
                sensitivity=float(each.l1(self.unit, grouped=self._grouped)), epsilon=self.share
            ),
            "gaussian": lambda: GaussianMechanism.calibrated(
                sensitivity=each.l2(self.unit, grouped=self._grouped),
                epsilon=self.share,
                delta=self.delta_share,
            ),
        }
        return made[self.noise]()


def _as_counted(each: BoundedAggregate, dtypes: Mapping[str, pl.DataType]) -> str:
    """Return what values of a column count as, in words."""
    grid = grid_of(each, dtypes)
    low, high = (f"{grid.value_of(end):.12g}" for end in (grid.low, grid.high))
    sentence = (
        f"{each.label}: values below {low} count as {low}, and values above {high} as {high}."
    )
    if grid.step == 1 and not (dtypes[each.of].is_float() or dtypes[each.of].is_decimal()):
        return sentence
    return f"{sentence} Others are rounded to multiples of {float(grid.step):.6g}."
