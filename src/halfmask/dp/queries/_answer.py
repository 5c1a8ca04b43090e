"""Answer of a question: noise on a tally, values with intervals, and what they cost."""

from __future__ import annotations

import base64
import io
import json
import math
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
import polars as pl

from halfmask._errors import IntegrityError, ParameterError
from halfmask.dp.noise import choose
from halfmask.dp.queries._estimates import CONFIDENCE, estimates_of
from halfmask.dp.queries._plan import margins_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from halfmask.dp.queries._measures import Measure, QuantileChoice
    from halfmask.dp.queries._plan import Noise, QueryPlan
    from halfmask.dp.queries._tallying import ExactSums, GroupHistograms

#: How many times as likely an end of an interval is where it aims, than at the outermost candidate.
_RARELY: Final = 1000.0


def released(plan: QueryPlan, exact: ExactSums) -> pl.DataFrame:
    """Return the answer of a question: a row for each group, each value with its interval."""
    if plan.selection is not None and exact.persons is not None:
        exact = _chosen(exact, plan.selection.selected(exact.persons))
    noisy: dict[Measure, NDArray[np.float64]] = {}
    for measure in filter(lambda it: it.weight, plan.mechanisms):
        vector = plan.vector_of(measure)
        sums = np.stack([exact.sums[each] for each in vector])
        noisy.update(zip(vector, plan.mechanisms[measure].release(sums), strict=True))
    for middle, histograms in exact.histograms.items():
        ends = [replace(middle, end="low"), middle, replace(middle, end="high")]
        noisy.update(zip(ends, _chosen_places(plan, ends, histograms).T, strict=True))
    columns = [exact.groups] if exact.groups.width else []
    for each in estimates_of(plan.question):
        margins = margins_of(plan, each)
        values = [noisy[measure] for measure in each.measures]
        measured = [(n - margin, n, n + margin) for n, margin in zip(values, margins, strict=True)]
        columns.append(each.columns(measured))
    return pl.concat(columns, how="horizontal")


def _chosen(exact: ExactSums, answered: NDArray[np.bool_]) -> ExactSums:
    """Return the results of some groups."""
    return replace(
        exact,
        n_groups=int(answered.sum()),
        groups=exact.groups.filter(pl.Series(answered)),
        sums={each: numbers[answered] for each, numbers in exact.sums.items()},
        histograms={each: it.of_groups(answered) for each, it in exact.histograms.items()},
    )


def _chosen_places(
    plan: QueryPlan, choices: list[QuantileChoice], histograms: GroupHistograms
) -> NDArray[np.int64]:
    """Return the places of choices, a row a group."""
    places = [[_chosen_place(plan, each, counts) for each in choices] for counts in histograms]
    return np.array(places, dtype=np.int64).reshape(-1, len(choices))


def _chosen_place(plan: QueryPlan, each: QuantileChoice, counts: NDArray[np.int64]) -> int:
    """Return the place of a candidate, by the rank that it should have.

    An end of an interval aims so far beyond the quantile's rank that a place on the wrong side,
    where the score is at most ``-margin``, is chosen with its part of 5 % at most, whatever the
    rows: the outermost candidate always has a better score than that.
    """
    of_rows, n = each.at.denominator, int(counts.sum())
    below = np.cumsum(counts) - counts
    above = n - below - counts
    # How far the rank of a candidate is too high or too low, in rows times the denominator.
    too_high = below * of_rows - each.at.numerator * n
    too_low = above * of_rows - (of_rows - each.at.numerator) * n
    if each.end is None:
        scores = -np.maximum(0, np.maximum(too_high, too_low))
    else:
        floor = math.ceil(plan.score_margin(each, _RARELY))
        wrong = 2 * len(counts) / (1 - CONFIDENCE)
        margin = floor + math.ceil(plan.score_margin(each, wrong)) + of_rows
        shift = margin if each.end == "low" else -margin
        scores = -np.maximum(0, np.maximum(too_high + shift, too_low - shift))
        outermost = 0 if each.end == "low" else -1
        scores[outermost] = max(scores[outermost], -floor)
    return choose(
        scores, sensitivity=float(plan.choice_sensitivity(each)), epsilon=plan.choice_epsilon(each)
    )


@dataclass(frozen=True, slots=True)
class PrivateAnswer:
    """What was answered; it may be shown to whom the budget was set for.

    Parameters
    ----------
    frame
        A row for each group: its keys, and each aggregate with the ends of its 95 % interval.
    epsilon, delta
        What was paid for it.
    noise
        ``"laplace"`` or ``"gaussian"``.
    guarantee
        The guarantee of the whole ledger, in words.
    errors
        The error of each aggregate in words, as the plan states it.
    uncovered
        What no interval covers, in words: rows that are left out, and values that are clamped.
    charge
        The number of the charge in the ledger.
    from_book
        Whether it was asked before, so that nothing was charged.
    """

    frame: pl.DataFrame
    epsilon: float
    delta: float
    noise: Noise
    guarantee: str
    errors: tuple[str, ...]
    uncovered: tuple[str, ...]
    charge: int
    from_book: bool

    @property
    def value(self) -> int | float:
        """The value of a question with one aggregate and no groups."""
        values = self.frame.columns[:: 3 if self.frame.width == 3 else 1]
        if self.frame.height != 1 or len(values) != 1:
            raise ParameterError(
                f"The answer has {self.frame.height:,} rows of {self.frame.width} columns.",
                hint="Read its frame.",
            )
        return self.frame.item(0, 0)  # type: ignore[no-any-return] # a number

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as a dictionary of JSON."""
        own = {each.name: getattr(self, each.name) for each in fields(self)[1:]}
        lists = {"errors": list(self.errors), "uncovered": list(self.uncovered)}
        return {"rows": json.loads(self.frame.write_json()), **own, **lists}

    @staticmethod
    def to_text(frame: pl.DataFrame, plan: QueryPlan) -> str:
        """Return what the ledger keeps of an answer.

        Parameters
        ----------
        frame
            The values.
        plan
            The plan by which they were made.
        """
        written = io.BytesIO()
        frame.write_ipc_stream(written)
        kept = {
            "frame": base64.b64encode(written.getvalue()).decode(),
            "epsilon": plan.epsilon,
            "delta": plan.delta,
        }
        return json.dumps(kept)

    @classmethod
    def from_text(
        cls,
        text: str,
        plan_of: Callable[..., QueryPlan],
        *,
        noise: Noise,
        guarantee: str,
        charge: int,
        from_book: bool,
    ) -> Self:
        """Return the answer that a ledger kept, with the names that are asked for now.

        Parameters
        ----------
        text
            What `to_text` wrote.
        plan_of
            Plans the question: `PrivateQuery.plan`.
        noise
            With which it was asked.
        guarantee
            The guarantee of the ledger, in words.
        charge
            The number of the charge.
        from_book
            Whether it was asked before.

        Raises
        ------
        IntegrityError
            If it is damaged.
        """
        try:
            kept = json.loads(text)
            frame = pl.read_ipc_stream(io.BytesIO(base64.b64decode(kept["frame"])))
            plan = plan_of(epsilon=kept["epsilon"], delta=kept["delta"], noise=noise)
            frame.columns = plan.question.labels
        except (ValueError, KeyError, TypeError, ParameterError, pl.exceptions.PolarsError):
            raise IntegrityError("An answer in the ledger is damaged.") from None
        return cls(
            frame=frame,
            epsilon=plan.epsilon,
            delta=plan.delta,
            noise=noise,
            guarantee=guarantee,
            errors=tuple(each.sentence() for each in plan.expected_errors()),
            uncovered=plan.uncovered(),
            charge=charge,
            from_book=from_book,
        )
