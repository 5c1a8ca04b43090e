"""A plan places rows, those that come later too, and writes their cells."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import ColumnNotFoundError, SchemaError
from halfmask.anonymize import Mondrian, Protection, Ranges
from halfmask.anonymize._plan import representative_rows
from halfmask.anonymize.coding import code_column
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


N_VALUES = 6
rows_of_two = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, N_VALUES - 1), st.integers(0, N_VALUES - 1)),
    min_size=1,
    max_size=20,
)


def coding(kind):
    column = Column(name=kind, role="quasi_identifier", kind=kind)
    values = pl.Series(kind, range(N_VALUES))
    return code_column(column, values, missing=False)


def distance(row, cell):
    """Steps from the lower median by the width, and 1 where the category isn't the commonest."""
    numbers = sorted(each[1] for each in cell)
    median = numbers[(len(numbers) - 1) // 2]
    counts = Counter(each[2] for each in cell)
    return abs(row[1] - median) / (N_VALUES - 1) + (counts[row[2]] < max(counts.values()))


@given(rows_of_two)
def test_it_is_the_first_of_the_nearest(rows):
    numbers = sorted({cell for cell, _, _ in rows})
    rows = [(numbers.index(cell), number, category) for cell, number, category in rows]
    codes = np.array(rows)

    found = representative_rows(
        codes[:, 0].astype(np.int32),
        [codes[:, 1], codes[:, 2]],
        [coding("numeric"), coding("categorical")],
    )

    for cell in range(len(numbers)):
        own = [(i, row) for i, row in enumerate(rows) if row[0] == cell]
        members = [row for _, row in own]
        best = min(own, key=lambda each: (round(distance(each[1], members), 9), each[0]))
        assert found[cell] == best[0]
