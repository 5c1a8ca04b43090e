"""Release: noise on a tally, and what follows from it: values with intervals."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from halfmask.dp.noise import choose
from halfmask.dp.queries._aggregates import (
    Aggregate,
    Count,
    DistinctCount,
    Mean,
    Quantile,
    Sum,
    Variance,
)
from halfmask.dp.queries._measures import Measure, measures_of
from halfmask.dp.queries._plan import CONFIDENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from halfmask.dp.queries._plan import QueryPlan
    from halfmask.dp.queries._tallying import ExactSums

#: How many times as likely an end of an interval is where it aims, than at the outermost candidate.
_RARELY: Final = 1000.0
Numbers = NDArray[np.float64]
Interval = tuple[Numbers, Numbers, Numbers]


def released(plan: QueryPlan, exact: ExactSums) -> pl.DataFrame:
    """Return the answer of a question: a row for each group, each value with its interval."""
    if plan.selection is not None and exact.persons is not None:
        exact = _chosen(exact, plan.selection.selected(exact.persons))
    noisy = {
        each: mechanism.release(exact.sums[each]) for each, mechanism in plan.mechanisms.items()
    }
    columns = [exact.groups] if exact.groups.width else []
    for each in plan.question.aggregates:
        low, value, high = _COMPUTED[type(each)](each, plan, noisy, exact)
        columns.append(_columns(each, low, value, high))
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


def _columns(each: Aggregate, low: Numbers, value: Numbers, high: Numbers) -> pl.DataFrame:
    made = pl.DataFrame(
        {each.label: value, f"{each.label}_low": low, f"{each.label}_high": high},
        schema=dict.fromkeys((each.label, f"{each.label}_low", f"{each.label}_high"), pl.Float64),
    )
    if isinstance(each, Count | DistinctCount):
        whole = (pl.col(each.label).round(), pl.nth(1).floor(), pl.nth(2).ceil())
        return made.select(whole).cast(pl.Int64)
    return made.fill_nan(None)


def _counted(
    each: Aggregate, plan: QueryPlan, noisy: Mapping[Measure, Numbers], _: ExactSums
) -> Interval:
    (measure,) = measures_of(each, plan.question.dtypes)
    margin, value = plan.margin(measure), noisy[measure]
    return np.maximum(0.0, value - margin), value, np.maximum(0.0, value + margin)


def _summed(
    each: Aggregate, plan: QueryPlan, noisy: Mapping[Measure, Numbers], _: ExactSums
) -> Interval:
    (measure,) = measures_of(each, plan.question.dtypes)
    assert measure.grid is not None  # noqa: S101 - sums have one
    step = float(measure.grid.step)
    margin, value = plan.margin(measure), noisy[measure]
    return (value - margin) * step, value * step, (value + margin) * step


def _ratio(value: Interval, rows: Interval) -> Interval:
    """Return an interval of value / rows, where rows are at least 1."""
    ends = [end / np.maximum(1.0, n) for end in (value[0], value[2]) for n in (rows[0], rows[2])]
    middle = value[1] / np.maximum(1.0, rows[1])
    return np.minimum.reduce(ends), middle, np.maximum.reduce(ends)


def _around(plan: QueryPlan, noisy: Mapping[Measure, Numbers], each: Measure, n: int) -> Interval:
    margin = plan.margin(each, shared_by=n)
    return noisy[each] - margin, noisy[each], noisy[each] + margin


def _averaged(
    each: Aggregate, plan: QueryPlan, noisy: Mapping[Measure, Numbers], _: ExactSums
) -> Interval:
    total, rows = measures_of(each, plan.question.dtypes)
    assert total.grid is not None  # noqa: S101 - means have one
    grid = total.grid
    distance = _ratio(_around(plan, noisy, total, 2), _around(plan, noisy, rows, 2))
    ends = (np.clip(end + grid.middle, grid.low, grid.high) for end in distance)
    low, value, high = (end * float(grid.step) for end in ends)
    return low, value, high


def _spread(
    each: Aggregate, plan: QueryPlan, noisy: Mapping[Measure, Numbers], _: ExactSums
) -> Interval:
    total, squares, rows = measures_of(each, plan.question.dtypes)
    assert total.grid is not None  # noqa: S101 - variances have one
    counted = _around(plan, noisy, rows, 3)
    mean = _ratio(_around(plan, noisy, total, 3), counted)
    square = _ratio(_around(plan, noisy, squares, 3), counted)
    of_mean = [np.square(end) for end in mean]
    least = np.where((mean[0] <= 0) & (mean[2] >= 0), 0.0, np.minimum(of_mean[0], of_mean[2]))
    ends = (
        square[0] - np.maximum(of_mean[0], of_mean[2]),
        square[1] - of_mean[1],
        square[2] - least,
    )
    most = float(total.grid.radius**2)
    scale = float(total.grid.step) ** 2
    low, value, high = (np.clip(end + squares.shift, 0.0, most) * scale for end in ends)
    return low, value, high


def _ranked(
    each: Aggregate, plan: QueryPlan, _: Mapping[Measure, Numbers], exact: ExactSums
) -> Interval:
    """Choose a value for each group, and both ends of its interval."""
    middle, low, high = measures_of(each, plan.question.dtypes)
    assert middle.grid is not None  # noqa: S101 - quantiles have one
    grid = middle.grid
    places = np.empty((exact.n_groups, 3), dtype=np.int64)
    for group, counts in enumerate(exact.histograms[middle]):
        places[group] = [_chosen_place(plan, measure, counts) for measure in (low, middle, high)]
    units = grid.low + np.sort(places, axis=1)
    units[:, 1] = grid.low + places[:, 1]
    values = np.array([[grid.value_of(int(unit)) for unit in row] for row in units])
    return tuple(values.reshape(-1, 3).T)  # type: ignore[return-value] # three


def _chosen_place(plan: QueryPlan, each: Measure, counts: NDArray[np.int64]) -> int:
    """Return the place of a candidate, by the rank that it should have.

    An end of an interval aims so far beyond the quantile's rank that a place on the wrong side,
    where the score is at most ``-margin``, is chosen with its part of 5 % at most, whatever the
    rows: the outermost candidate always has a better score than that.
    """
    assert each.at is not None  # noqa: S101 - quantiles have one
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


_COMPUTED: Mapping[type[Aggregate], Callable[..., Any]] = {
    Count: _counted,
    DistinctCount: _counted,
    Sum: _summed,
    Mean: _averaged,
    Variance: _spread,
    Quantile: _ranked,
}
