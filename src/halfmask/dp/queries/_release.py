"""Release: noise on a tally, and places of quantiles by chance, from which estimates follow."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from halfmask.dp.noise import choose
from halfmask.dp.queries._estimates import CONFIDENCE, estimates_of
from halfmask.dp.queries._plan import margins_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.dp.queries._measures import Measure, QuantileChoice
    from halfmask.dp.queries._plan import QueryPlan
    from halfmask.dp.queries._tallying import ExactSums, GroupHistograms

#: How many times as likely an end of an interval is where it aims, than at the outermost candidate.
_RARELY: Final = 1000.0


def released(plan: QueryPlan, exact: ExactSums) -> pl.DataFrame:
    """Return the answer of a question: a row for each group, each value with its interval."""
    if plan.selection is not None and exact.persons is not None:
        exact = _chosen(exact, plan.selection.selected(exact.persons))
    noisy: dict[Measure, NDArray[np.float64]] = {
        each: mechanism.release(exact.sums[each]) for each, mechanism in plan.mechanisms.items()
    }
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
        scores,
        sensitivity=float(plan.choice_sensitivity(each)),
        epsilon=plan.choice_epsilon(each),
    )
