"""What is kept of a batch, and that summaries add up."""

from __future__ import annotations

import itertools
from collections import Counter

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask.anonymize import _summary
from halfmask.anonymize._summary import PRIORITY, Summary, compact
from halfmask.data import Column, Schema

SCHEMA = Schema(
    (
        Column(name="age", role="quasi_identifier", kind="numeric"),
        Column(name="city", role="quasi_identifier", kind="categorical"),
        Column(name="ill", role="sensitive", kind="categorical"),
    )
)
KEY = bytes(range(32))
NAMES = ["age", "city", "ill"]


def frame(rows):
    schema = {"age": pl.Int64, "city": pl.String, "ill": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


cells = st.tuples(
    st.one_of(st.none(), st.integers(0, 5)),
    st.one_of(st.none(), st.sampled_from("abc")),
    st.sampled_from("xy"),
)
tables = st.lists(st.lists(cells, max_size=6), min_size=3, max_size=3)


def described(summary):
    return (
        Counter(summary.rows.select(NAMES).rows()),
        {name: set(summary.values(name).to_list()) for name in NAMES},
        summary.missing,
        summary.n_rows,
        summary.n_read,
    )


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(rows=tables)
def test_adding_is_associative_and_commutative(rows):
    one, two, three = (compact(frame(part), SCHEMA, NAMES) for part in rows)
    whole = compact(frame(list(itertools.chain(*rows))), SCHEMA, NAMES)

    assert described((one + two) + three) == described(whole)
    assert described(one + (two + three)) == described(whole)
    assert described((three + one) + two) == described(whole)
    assert described(Summary.sum([one, two, three])) == described(whole)


def test_rows_keep_their_order():
    one, two = (compact(frame([(i, "a", "x")]), SCHEMA, NAMES) for i in (2, 1))

    assert (one + two).rows["age"].to_list() == [2, 1]


def test_missing_cells_suppress_their_row_where_the_policy_says_so():
    column = Column(name="city", role="quasi_identifier", kind="categorical", missing="suppress")
    schema = Schema((SCHEMA["age"], column, SCHEMA["ill"]))

    summary = compact(frame([(1, None, "x"), (None, "a", "y")]), schema, NAMES)

    assert (summary.n_rows, summary.n_read) == (1, 2)
    assert summary.rows["ill"].to_list() == ["y"]
    assert summary.missing == {"age"}


def test_a_column_that_is_not_kept_may_suppress_a_row():
    """What leaves is filtered by every column; what is counted must be the same rows."""
    note = Column(name="note", role="insensitive", kind="text", missing="suppress")
    schema = Schema((*SCHEMA.columns, note))
    batch = frame([(1, "a", "x"), (2, "b", "y")]).with_columns(note=pl.Series(["n", None]))

    summary = compact(batch, schema, NAMES)

    assert schema.suppressing == ("note",)
    assert summary.rows.columns == NAMES
    assert summary.rows["age"].to_list() == [1]


def test_an_identifier_suppresses_nothing():
    name = Column(name="name", role="identifier", kind="text", missing="suppress")

    assert Schema((*SCHEMA.columns, name)).suppressing == ()


@pytest.fixture
def few_rows(monkeypatch):
    monkeypatch.setattr(_summary, "MAX_ROWS", 50)


def drawn_from(rows, number, key=bytes(32)):
    """Return the summary of a batch of a table that is sampled."""
    return compact(frame(rows), SCHEMA, NAMES, sample_key=key, number=number)


@pytest.mark.usefixtures("few_rows")
def test_beyond_the_limit_a_summary_is_a_sample():
    parts = [drawn_from([(i, "abc"[i % 3], "x")] * 10, i) for i in range(20)]
    summary = Summary.sum(parts)

    assert summary.rows.height == 50
    assert (summary.n_rows, summary.complete) == (200, False)
    assert set(summary.values("age").to_list()) == set(range(20))
    assert set(summary.values("city").cast(pl.String).to_list()) == set("abc")


@pytest.mark.usefixtures("few_rows")
def test_a_sample_is_the_same_whatever_the_order_of_adding():
    parts = [drawn_from([(i, "a", "x")] * 30, i) for i in range(4)]
    one, two, three, four = parts

    sums = [
        Summary.sum(parts),
        (one + two) + (three + four),
        four + (three + (two + one)),
    ]

    rows = [summary.rows.sort(PRIORITY)["age"].to_list() for summary in sums]
    assert rows[0] == rows[1] == rows[2]


@pytest.mark.usefixtures("few_rows")
def test_the_key_and_the_batch_fix_the_sample():
    rows = [(i, "a", "x") for i in range(200)]

    def ages(number, key):
        return drawn_from(rows, number, key).rows["age"].to_list()

    assert ages(0, bytes(32)) == ages(0, bytes(32))
    assert len({tuple(sorted(ages(*it))) for it in [(0, bytes(32)), (1, bytes(32)), (0, KEY)]}) == 3


@pytest.mark.usefixtures("few_rows")
def test_a_sample_is_fair():
    """Of 4 batches of 500, each gives about a quarter of many samples."""
    drawn: Counter[int] = Counter()
    for key in range(20):
        parts = [drawn_from([(i, "a", "x")] * 500, i, bytes([key]) * 32) for i in range(4)]
        drawn.update(Summary.sum(parts).rows["age"].to_list())

    assert all(150 < drawn[i] < 350 for i in range(4))


def test_categories_of_a_pool_of_their_own_join_the_common_one():
    own = pl.Series("city", ["b", "a", "b"]).cast(pl.Categorical(pl.Categories.random()))
    batch = frame([(1, None, "x")] * 3).with_columns(own)

    summary = compact(batch, SCHEMA, NAMES)

    assert summary.rows["city"].dtype == pl.Categorical()
    assert summary.rows["city"].cast(pl.String).to_list() == ["b", "a", "b"]


def test_a_repr_has_no_values():
    assert repr(compact(frame([(1, "canary", "x")]), SCHEMA, NAMES)) == "Summary(1 of 1 rows)"
