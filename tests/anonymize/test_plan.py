"""A plan places rows, those that come later too, and writes their cells."""

from __future__ import annotations

import polars as pl
import pytest

from halfmask._errors import ColumnNotFoundError, SchemaError
from halfmask.anonymize import Mondrian, Protection, Ranges
from halfmask.data import Column, Schema
from halfmask.guarantees import KAnonymity

ROWS = pl.DataFrame(
    {
        "age": [20, 21, 29, 60, 61, 69],
        "sex": ["f", "f", "f", "m", "m", "m"],
        "note": list("uvwxyz"),
    }
)


@pytest.fixture
def plan():
    protection = Protection(
        schema=Schema(
            (
                Column(name="age", role="quasi_identifier", kind="numeric"),
                Column(name="sex", role="quasi_identifier", kind="categorical"),
                Column(name="note", role="insensitive", kind="text"),
            )
        ),
        guarantees=(KAnonymity(k=3),),
        method=Mondrian(),
        recoding=Ranges(),
        max_suppression_fraction=0.0,
    )
    return protection.plan(protection.fit(protection.summarize(ROWS)))[0]


def test_quasi_identifiers_are_recoded_and_the_rest_stays(plan):
    assert plan.apply(ROWS).rows() == [
        *(("[20, 29]", "f", note) for note in "uvw"),
        *(("[60, 69]", "m", note) for note in "xyz"),
    ]


def test_new_rows_go_to_the_nearest_cell(plan):
    new = pl.DataFrame({"age": [0, 45, 99], "sex": ["f", "f", "m"]})

    assert plan.apply(new)["age"].to_list() == ["[20, 29]", "[20, 29]", "[60, 69]"]


def test_a_row_with_a_category_never_seen_stays_out(plan):
    new = pl.DataFrame({"age": [25, 25], "sex": ["f", "d"], "note": ["kept", "gone"]})

    assert plan.apply(new)["note"].to_list() == ["kept"]
    assert plan.cells(new).tolist() == [0, -1]


def test_a_missing_cell_where_none_was_seen_stays_out(plan):
    new = pl.DataFrame({"age": [25, None], "sex": ["f", "f"]})

    assert plan.apply(new).height == 1


def test_no_rows_stay_no_rows(plan):
    assert plan.apply(ROWS[:0]).schema == plan.apply(ROWS).schema
    assert plan.cells(ROWS[:0]).tolist() == []


def test_a_column_that_is_not_there(plan):
    with pytest.raises(ColumnNotFoundError, match="Did you mean 'agee'"):
        plan.apply(ROWS.rename({"age": "agee"}))


def test_a_column_of_another_type(plan):
    with pytest.raises(SchemaError, match="'age' held Int64 at the fit"):
        plan.apply(ROWS.with_columns(pl.col("age").cast(pl.String)))


def test_a_plan_does_not_leave(plan):
    assert plan.publishable is False
    assert repr(plan) == "Plan(2 cells, KAnonymity(k=3), on ['age', 'sex'])"
