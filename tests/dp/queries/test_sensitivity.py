"""Sensitivities: no neighbour changes a sum by more than is stated, and some by as much."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask import ParameterError, SchemaError
from halfmask.data import open_table
from halfmask.dp.accounting import epsilon_of
from halfmask.dp.ledger import BudgetTerms, PrivacyUnit
from halfmask.dp.queries import Bins, Count, DistinctCount, Mean, Quantile, Sum, Variance
from halfmask.dp.queries._answer import _chosen_place
from halfmask.dp.queries._estimates import estimates_of
from halfmask.dp.queries._grouping import Grouping, KeySelection
from halfmask.dp.queries._measures import Measure
from halfmask.dp.queries._plan import QueryPlan
from halfmask.dp.queries._question import PublicTable, Question
from halfmask.dp.queries._row_condition import RowCondition
from halfmask.dp.queries._tallying import tally

if TYPE_CHECKING:
    from numpy.typing import NDArray

SCHEMA = {"person": pl.String, "g": pl.Int64, "x": pl.Float64}
ASKED = (
    Count(),
    Count(of="x"),
    DistinctCount(of="x"),
    DistinctCount(of="person"),
    Sum(of="x", bounds=(-3, 7), grid=0.1),
    Mean(of="x", bounds=(-3, 8), grid=0.5),
    Variance(of="x", bounds=(-3, 8), grid=0.5),
)
VALUE = st.one_of(
    st.none(), st.floats(-1e300, 1e300), st.sampled_from([math.inf, -math.inf, math.nan, 0.05])
)
ROWS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([1, 2, 3]), VALUE), max_size=20)
UNITS = [
    PrivacyUnit(),
    PrivacyUnit(person="person", max_rows=2, max_groups=1),
    PrivacyUnit(person="person", max_rows=1, max_groups=3),
]


def terms(unit):
    return BudgetTerms(
        dataset="d",
        fingerprint="",
        columns=dict.fromkeys(SCHEMA, ""),
        epsilon=1.0,
        delta=0.0,
        unit=unit,
        key="5a" * 32,
    )


def plan_of(unit, grouping, asked=ASKED):
    question = Question.of(
        {name: dtype() for name, dtype in SCHEMA.items()},
        asked,
        grouping=grouping,
        conditions=(),
        joins=(),
        terms=terms(unit),
    )
    return QueryPlan(question, unit, 1.0, 0.0, "laplace")


def sums_of(rows, plan):
    source = open_table(pl.DataFrame([*rows, ("z", 9, None)], schema=SCHEMA, orient="row"))
    return tally(source, plan.question, plan.measures, terms(plan.unit)).sums


@pytest.mark.mostly_slow
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("keys", [{}, {"g": [1, 2, 4]}])
@settings(max_examples=25)
@given(rows=ROWS)
def test_no_neighbour_changes_a_sum_by_more_than_is_stated(unit, keys, rows):
    plan = plan_of(unit, Grouping.of(keys))
    removed = "a" if unit.person else 0
    left = [row for at, row in enumerate(rows) if removed not in (row[0], at)]
    whole, part = sums_of(rows, plan), sums_of(left, plan)
    for each in plan.mechanisms:
        change = np.abs(whole[each] - part[each])
        assert change.sum() <= each.l1(unit, grouped=bool(keys))
        assert (change**2).sum() <= each.l2(unit, grouped=bool(keys)) ** 2


@pytest.mark.mostly_slow
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("keys", [{}, {"g": [1, 2, 4]}])
@settings(max_examples=25)
@given(rows=ROWS)
def test_values_and_missing_cells_change_together_by_as_much_as_one_count(unit, keys, rows):
    """One vector, priced once: whichever rows of a unit have a value."""
    plan = plan_of(unit, Grouping.of(keys), (Count(), Mean(of="x", bounds=(-3, 8))))
    assert len(plan.events()) == 2
    vector = plan.vector_of(Measure("values", "x"))
    removed = "a" if unit.person else 0
    left = [row for at, row in enumerate(rows) if removed not in (row[0], at)]
    whole, part = sums_of(rows, plan), sums_of(left, plan)
    change = np.abs([whole[each] - part[each] for each in vector])
    assert change.sum() <= vector[0].l1(unit, grouped=bool(keys))
    assert (change**2).sum() <= vector[0].l2(unit, grouped=bool(keys)) ** 2


@pytest.mark.mostly_slow
@pytest.mark.parametrize("unit", UNITS)
def test_some_neighbour_changes_each_sum_by_as_much(unit):
    """A sensitivity that is off by one would fail here, or above."""
    rows = unit.max_rows
    extremes = [
        [("a", g + 1, value) for g in range(unit.max_groups) for _ in range(rows)]
        for value in (-3.0, 7.0, 8.0, 2.5)
    ]
    distinct = [[("a", g + 1, float(at)) for g in range(unit.max_groups) for at in range(rows)]]
    plan = plan_of(unit, Grouping.of({"g": [1, 2, 3]}))
    for each in plan.mechanisms:
        changes = [np.abs(sums_of(one, plan)[each]).sum() for one in (*extremes, *distinct)]
        assert max(changes) == each.l1(unit, grouped=True)


@pytest.mark.parametrize("at", [0.9, 0.5, 0.25])
def test_scores_of_a_quantile_change_by_as_much_as_is_stated(at, monkeypatch):
    """A row more, anywhere: scores of the quantile, and of both ends of its interval."""
    plan = plan_of(PrivacyUnit(), Grouping(), (Quantile(of="x", at=at, bounds=(0, 10), grid=1.0),))
    seen: list[NDArray[np.int64]] = []

    def noted(scores, **_):
        seen.append(scores)
        return 0

    monkeypatch.setattr("halfmask.dp.queries._answer.choose", noted)
    random = np.random.default_rng(3)
    for measure in plan.measures:
        changes = []
        for _ in range(40):
            counts = random.integers(0, int(random.choice([2, 30, 900])), 11)
            _chosen_place(plan, measure, counts)
            _chosen_place(plan, measure, counts + np.eye(11, dtype=int)[random.integers(11)])
            changes.append(int(np.abs(seen[-1] - seen[-2]).max()))
        assert max(changes) == plan.choice_sensitivity(measure)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("keys", [{}, {"g": [1, 2, 4]}])
def test_the_events_of_a_question_cost_what_it_is_asked_with(unit, keys):
    asked = (*ASKED, Quantile(of="x", at=0.5, bounds=(0, 10)))
    plan = plan_of(unit, Grouping.of(keys), asked)
    assert epsilon_of(plan.events(), delta=0.0) == pytest.approx(1.0, rel=1e-6)
    assert epsilon_of(plan.events(), delta=0.0) <= 1.0 + 3e-9


@pytest.mark.mostly_slow
@pytest.mark.parametrize("unit", UNITS)
def test_a_single_person_is_told_with_at_most_delta(unit):
    """Delta so large that it can be counted: of many draws, each in as many groups as allowed."""
    selection = KeySelection(epsilon=1.0, delta=0.1, unit=unit)
    draws = 20_000
    told = selection.selected(np.ones((draws, unit.max_groups), dtype=np.int64)).any(axis=1).sum()
    most = draws * 0.1 + 6 * math.sqrt(draws * 0.1 * 0.9)
    assert told <= most
    # The threshold isn't larger than it must be: half of delta would be.
    assert told >= draws * 0.1 * 0.8
    # Power: one less, and a third more are answered, 13 standard errors.
    noise = selection.mechanism.release(np.ones((draws, unit.max_groups)))
    assert (noise >= selection.threshold - 1).any(axis=1).sum() > most


KEYED = {
    "i": pl.Int64(),
    "u": pl.UInt64(),
    "d": pl.Decimal(9, 2),
    "t": pl.Datetime(),
    "x": pl.Float64(),
}


@pytest.mark.parametrize(
    "keys",
    [
        {"i": [1, 1.25]},
        {"i": [1.5]},
        {"u": [2**64 - 1, float(2**64)]},
        {"d": [Decimal("0.1"), Decimal("0.101")]},
        {"t": ["2024-01-01T05", "2024-01-01 05:00"]},
        {"t": [dt.date(2024, 1, 1), "2024-01-01 00:00"]},
    ],
)
def test_keys_that_are_one_value_are_refused(keys):
    """Their rows would count in two groups, and the noise is for one."""
    with pytest.raises((ParameterError, SchemaError), match=f"'{next(iter(keys))}'"):
        Grouping.of(keys).frame(KEYED)


@pytest.mark.parametrize(
    "edges", [(1_000_000, 1_000_001, 1_000_002), (0.1, 0.10000001, 0.2), (2**53, 2**53 + 1, 2**60)]
)
def test_no_two_bins_have_the_same_name(edges):
    frame = Grouping.of({"x": Bins(edges)}).frame(KEYED)
    assert frame["x"].n_unique() == frame.height == 2


def test_keys_are_exact_where_floats_are_not():
    keys = [2**63 + 1, 2**63 + 2, 2**64 - 1]
    assert Grouping.of({"u": keys}).frame(KEYED)["u"].to_list() == keys
    assert Grouping.of({"i": list(np.array([1, 2]))}).frame(KEYED)["i"].to_list() == [1, 2]


def test_nan_is_a_missing_value_in_each_measure():
    plan = plan_of(PrivacyUnit(), Grouping())
    with_nan = sums_of([("a", 1, 1.0), ("a", 1, math.nan)], plan)
    without = sums_of([("a", 1, 1.0), ("a", 1, None)], plan)
    assert with_nan == without


PUBLIC = pl.DataFrame({"g": [1, 2, 3], "all": [1.0, 2.0, 3.0], "some": [1.0, None, math.nan]})
OF_X, OF_ALL, OF_SOME = (
    Mean(of=name, bounds=(-3, 8), name=f"mean_{name}") for name in ("x", "all", "some")
)

OF_X_TOO = Mean(of="x", bounds=(0, 1), name="mean_x_too")


def shared_plan(asked, *, where=(), keys=None, join=False):
    question = Question.of(
        {name: dtype() for name, dtype in SCHEMA.items()},
        asked,
        grouping=Grouping.of(keys or {}),
        conditions=tuple(RowCondition.of(each) for each in where),
        joins=(PublicTable.of(PUBLIC, name="p", on="g"),) if join else (),
        terms=terms(PrivacyUnit()),
    )
    return QueryPlan(question, PrivacyUnit(), 1.0, 0.0, "laplace")


#: Of a count of rows and means: conditions, keys, join, and how many counts are paid for.
SHARED = {
    "a column that may have missing cells": ({"asked": (Count(), OF_X)}, 1),
    "a count and a variance": ({"asked": (Count(), Variance(of="x", bounds=(-3, 8)))}, 1),
    "a count of each": ({"asked": (Count(of="x"), Count())}, 1),
    "more numbers than share": (
        {"asked": (Count(), OF_X, OF_X_TOO, Sum(of="g", bounds=(0, 9)))},
        2,
    ),
    "a condition": ({"asked": (Count(), OF_X), "where": ["x > 0"]}, 1),
    "bins of the column": ({"asked": (Count(), OF_X), "keys": {"x": Bins((-5, 0, 9))}}, 1),
    "the column of groups": (
        {"asked": (Count(), Mean(of="g", bounds=(0, 9))), "keys": {"g": [1, 2]}},
        1,
    ),
    "missing as a key": (
        {"asked": (Count(), Mean(of="g", bounds=(0, 9))), "keys": {"g": [1, None]}},
        1,
    ),
    "a public column": ({"asked": (Count(), OF_ALL), "join": True}, 1),
    "a public column with missing cells": ({"asked": (Count(), OF_SOME), "join": True}, 1),
    "the column of a join": ({"asked": (Count(), Mean(of="g", bounds=(0, 9))), "join": True}, 1),
    "two means": ({"asked": (Count(), OF_X, OF_ALL), "where": ["x > 0"], "join": True}, 1),
    "two means, one of which may have missing cells": (
        {"asked": (Count(), OF_X, OF_ALL), "join": True},
        2,
    ),
    "a mean and a variance without a count": (
        {
            "asked": (OF_ALL, Variance(of="x", bounds=(-3, 8))),
            "where": ["NOT x IS NULL"],
            "join": True,
        },
        1,
    ),
    "counts": ({"asked": (Count(), Count(of="x"), Count(of="g")), "where": ["x <= g"]}, 1),
    "a count of different values": (
        {"asked": (DistinctCount(of="x"), OF_X), "where": ["x > 0"]},
        1,
    ),
}


@pytest.mark.parametrize(("asked", "n_counts"), SHARED.values(), ids=SHARED)
@settings(max_examples=20)
@given(rows=ROWS)
def test_one_count_serves_aggregates_only_where_their_counts_are_equal(asked, n_counts, rows):
    """Whatever the rows are, so that neither cost nor answer depends on missing cells."""
    plan = shared_plan(**asked)
    counts = [each for each in plan.measures if each.kind in {"rows", "values", "missing"}]
    assert sum(each.weight for each in counts) == n_counts
    assert len(plan.events()) == sum(each.weight for each in plan.measures)
    sums = sums_of(rows, plan)
    alone = {}
    for each in plan.question.aggregates:
        if isinstance(each, Count | Mean | Variance):
            of = each.column if each.label != "count" else None
            single = shared_plan(**{**asked, "asked": (Count(of=of),)})
            (alone[each.label],) = sums_of(rows, single).values()
    for each in estimates_of(plan.question):
        if parts := [sums[measure] for measure in each.measures if measure in counts]:
            assert sum(parts).tolist() == alone[each.asked.label].tolist()


def test_a_shared_count_is_charged_once():
    """A share of epsilon for each noisy number: all others have less noise by so much."""
    apart = shared_plan((Count(), OF_X, OF_ALL), join=True)
    shared = shared_plan((Count(), OF_X, OF_ALL), where=["x > 0"], join=True)
    assert [len(plan.events()) for plan in (apart, shared)] == [4, 3]
    assert [plan.share for plan in (apart, shared)] == [1 / 4, 1 / 3]
    for plan in (apart, shared):
        assert epsilon_of(plan.events(), delta=0.0) == pytest.approx(1.0, rel=1e-3)
    assert apart.question.key() != shared.question.key()
