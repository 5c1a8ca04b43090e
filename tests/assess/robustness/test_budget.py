"""Budgets of attackers: what may be changed, what it costs, and what is refused."""

from __future__ import annotations

import json
from math import inf
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import ColumnNotFoundError, ParameterError, PolicyError, SchemaError
from halfmask.assess.robustness import AttackerBudget, ColumnBudget, Relation
from halfmask.data import Column, Schema

ROWS = pl.DataFrame(
    {
        "id": ["a1", "b2", "c3", "d4"],
        "age": [20, 30, 40, None],
        "pay": [0.0, 5.0, 10.0, 5.0],
        "rest": [10.0, 5.0, 0.0, 6.0],
        "job": ["x", "y", None, "x"],
    }
)
ANY = ColumnBudget()
_Column: Any = Column
_Budget: Any = ColumnBudget
_Relation: Any = Relation


def _budget(most=1.0, norm="greatest", relations=(), **columns):
    return AttackerBudget(columns=columns, most=most, norm=norm, relations=relations).for_rows(ROWS)


def _changed(**cells):
    return ROWS.with_columns(**{name: pl.Series(values) for name, values in cells.items()})


def test_defaults_are_what_occurs_and_a_range_costs_one():
    budget = _budget(age=ANY, job=ANY)
    assert budget.columns["age"] == ColumnBudget(low=20, high=40, cost=1 / 20)
    assert budget.columns["job"] == ColumnBudget(categories=("x", "y"), cost=1)
    costs = budget.cost_of(ROWS, _changed(age=[40, 30, 35, None], job=["x", "x", None, "z"]))
    np.testing.assert_allclose(costs, [1, 1, 0.25, inf])


@pytest.mark.parametrize(("norm", "expected"), [("greatest", 1), ("sum", 1.5), ("columns", 2)])
def test_norms(norm, expected):
    budget = _budget(norm=norm, age=ANY, job=ANY)
    changed = _changed(age=[30, 30, 40, None], job=["y", "y", None, "x"])
    assert budget.cost_of(ROWS, changed).tolist() == [expected, 0, 0, 0]
    assert budget.cost_of(ROWS, _changed(age=[30, 30, 41, None]))[2] == inf


def test_columns_that_are_not_named_and_missing_cells_stay():
    budget = _budget(age=ANY, job=ANY)
    assert budget.cost_of(ROWS, _changed(pay=[0.0, 5, 10, 6])).tolist() == [0, 0, 0, inf]
    assert budget.cost_of(ROWS, _changed(age=[20, None, 40, 30])).tolist() == [0, inf, 0, inf]
    assert budget.cost_of(ROWS, _changed(job=["x", None, "x", "x"])).tolist() == [0, inf, inf, 0]


def test_directions_and_limits():
    cells = np.array([20.0, 30.0, 50.0, np.nan])
    for change, low, high in (
        ("any", [20, 25, 25, np.nan], [40, 40, 50, np.nan]),
        ("up", [20, 30, 50, np.nan], [40, 40, 50, np.nan]),
        ("down", [20, 25, 25, np.nan], [20, 30, 50, np.nan]),
        ("no", [20, 30, 50, np.nan], [20, 30, 50, np.nan]),
    ):
        budget = _budget(age=_Budget(change=change, low=25, high=40), pay=ANY)
        found = budget.interval(pl.Series("age", cells))
        np.testing.assert_array_equal(found, (low, high))
    budget = _budget(age=ColumnBudget(change="up"), pay=ANY)
    assert budget.cost_of(ROWS, _changed(age=[19, 31, 41, None])).tolist() == [inf, 0.05, inf, 0]
    np.testing.assert_array_equal(budget.interval(pl.Series("id", cells)), (cells, cells))


def test_a_limit_beyond_what_occurs_is_kept():
    budget = _budget(age=ColumnBudget(low=50), pay=ColumnBudget(high=-1))
    assert budget.columns["age"].high == 50
    assert budget.columns["pay"].low == -1


def test_costs_of_categories():
    budget = _budget(job=ColumnBudget(categories=("y", "z"), cost=0.5), age=ANY)
    costs = [budget.cost_of(ROWS, _changed(job=[it] * 4)) for it in ("x", "y", "z")]
    assert np.transpose(costs).tolist() == [[0, 0.5, 0.5], [inf, 0, 0.5], [inf] * 3, [0, 0.5, 0.5]]
    fixed = _budget(job=ColumnBudget(change="no"), age=ANY)
    assert fixed.cost_of(ROWS, _changed(job=["x"] * 4)).tolist() == [0, inf, inf, 0]


def test_relations_are_kept_where_they_held():
    ten = Relation(terms={"pay": 1, "rest": 1}, most=10, is_equal=True)
    assert ten.holds(ROWS).tolist() == [True, True, True, False]
    budget = _budget(relations=[ten], pay=ANY, rest=ANY)
    both = _changed(pay=[1.0, 6, 10, 6], rest=[9.0, 5, 0, 6])
    np.testing.assert_allclose(budget.cost_of(ROWS, both), [0.1, inf, 0, 0.1])
    at_most = Relation(terms={"pay": 1, "age": -1})
    assert at_most.holds(_changed(pay=[20.0, 31, 1, 1])).tolist() == [True, False, True, False]


def test_sums_that_are_equal_up_to_rounding_hold():
    rows = pl.DataFrame({"a": [0.1 + 0.2], "b": [0.3]})
    assert Relation(terms={"a": 1, "b": -1}, is_equal=True).holds(rows).all()


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(0, 10)), min_size=1, max_size=8))
def test_costs_are_symmetric_and_keep_the_triangle(pairs):
    rows = pl.DataFrame(pairs, schema=["age", "pay"], orient="row")
    budget = AttackerBudget(
        columns={it: ColumnBudget(low=0, high=10, cost=0.1) for it in rows.columns},
        most=1,
        norm="sum",
    )
    other, third = rows.reverse(), rows.with_columns(pay=pl.col("age"))
    there, back = budget.cost_of(rows, other), budget.cost_of(other, rows)
    np.testing.assert_allclose(there, back)
    assert (there <= budget.cost_of(rows, third) + budget.cost_of(third, other) + 1e-9).all()


def test_a_table_proposes_a_budget():
    rows = ROWS.with_columns(since=pl.date(2020, 1, 1), gone=pl.lit(True))
    roles = {"id": "identifier"}
    columns = [
        _Column(name=it, role=roles.get(it, "insensitive"), kind="numeric", label=it == "gone")
        for it in (*rows.columns, "elsewhere")
    ]
    budget = AttackerBudget.of_table(rows, Schema(tuple(columns)), most=0.5, norm="sum")
    assert {name: it.change for name, it in budget.columns.items()} == {
        "age": "up",
        "pay": "any",
        "rest": "any",
        "job": "any",
    }
    assert (budget.most, budget.norm) == (0.5, "sum")
    described = AttackerBudget.of_table(
        pl.DataFrame({"age": [*range(20, 60)], "score": [*range(40)]}), most=1
    )
    assert described.columns["age"].change == "up"


def test_round_trips():
    relation = Relation(terms={"pay": 1, "age": -0.5}, most=3)
    budget = _budget(relations=[relation], age=ColumnBudget(change="up"), job=ANY, pay=ANY)
    assert AttackerBudget.from_toml(budget.to_toml()) == budget
    assert AttackerBudget.from_dict(json.loads(json.dumps(budget.to_dict()))) == budget
    open_ended = AttackerBudget(columns={"a b": ANY}, most=1, knows="labels")
    assert AttackerBudget.from_toml(open_ended.to_toml()) == open_ended


@pytest.mark.parametrize(
    ("given_", "error"),
    [
        ({"columns": {"age": ColumnBudget(change="no")}}, ParameterError),
        ({"columns": {"job": ColumnBudget(categories=())}}, ParameterError),
        ({"columns": {}}, ParameterError),
        ({"columns": {"age": "up"}}, ParameterError),
        ({"columns": [ANY]}, ParameterError),
        ({"most": 0}, ParameterError),
        ({"most": inf}, ParameterError),
        ({"most": float("nan")}, ParameterError),
        ({"norm": "l2"}, ParameterError),
        ({"knows": "nothing"}, ParameterError),
        ({"relations": [1]}, ParameterError),
        ({"columns": {"agee": ANY}}, ColumnNotFoundError),
        ({"relations": [Relation(terms={"payy": 1})]}, ColumnNotFoundError),
        ({"relations": [Relation(terms={"job": 1})]}, SchemaError),
        ({"columns": {"job": ColumnBudget(low=0)}}, SchemaError),
        ({"columns": {"job": ColumnBudget(change="up")}}, SchemaError),
        ({"columns": {"age": ColumnBudget(categories=("x",))}}, SchemaError),
        ({"columns": {"day": ANY}}, SchemaError),
    ],
)
def test_bad_budgets_are_refused(given_, error):
    rows = ROWS.with_columns(day=pl.date(2020, 1, 1))
    settings = {"columns": {"age": ANY}, "most": 1.0, **given_}
    with pytest.raises(error):
        AttackerBudget(**settings).for_rows(rows)


@pytest.mark.parametrize(
    "make",
    [
        lambda: _Budget(low=2, high=1),
        lambda: _Budget(cost=0),
        lambda: _Budget(low="a"),
        lambda: _Budget(change="sideways"),
        lambda: _Budget(categories="xy"),
        lambda: _Relation(terms={}),
        lambda: _Relation(terms={"a": inf}),
        lambda: _Relation(terms={"a": "b"}),
        lambda: _Relation(terms={"a": 1}, most=inf),
    ],
)
def test_bad_parts_are_refused(make):
    with pytest.raises(ParameterError):
        make()


def test_columns_in_which_nothing_occurs_to_change_to_are_refused():
    rows = pl.DataFrame({"same": [3.0, 3.0], "one": ["x", "x"]})
    for name in rows.columns:
        with pytest.raises(ParameterError, match="nothing may be changed"):
            AttackerBudget(columns={name: ANY}, most=1).for_rows(rows)


@pytest.mark.parametrize(
    "text",
    [
        "most = ",
        "most = 1",
        "most = 1\ncolumns = 3",
        "most = 1\n[columns.secret]\nchanged = 'up'",
        "most = 1\nleast = 0\n[columns.secret]",
        "[columns.secret]\n",
        "columns = {secret = 1}\nmost = 1",
    ],
)
def test_files_that_are_no_budgets_are_refused(text):
    with pytest.raises(PolicyError) as caught:
        AttackerBudget.from_toml(text)
    assert "secret" not in str(caught.value)


def test_nothing_is_shown_of_cells():
    budget = _budget(age=ANY, job=ANY, pay=ANY)
    assert not {"20", "40", "10.0", "'x'", "'y'"} & set(repr(budget).replace("=", " ").split())
    assert "low=" not in repr(budget)


@pytest.mark.parametrize(
    ("cells", "norm", "most"),
    [
        (["u", "v"], "greatest", 0.9),
        ([0, 5], "sum", 0.1),
        ([False, True], "greatest", 0.5),
        ([0.0, 5.0], "columns", 0.5),
    ],
)
def test_a_budget_that_no_change_is_within_is_refused(cells, norm, most):
    rows, columns = pl.DataFrame({"a": cells}), {"a": ColumnBudget()}
    with pytest.raises(ParameterError, match="nothing may be changed"):
        AttackerBudget(columns=columns, most=most, norm=norm).for_attack(rows)
    AttackerBudget(columns=columns, most=1.0, norm=norm).for_attack(rows)
