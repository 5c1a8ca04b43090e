"""Masks of any values: tokens and PRAM."""

from __future__ import annotations

import datetime as dt
import hashlib

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import ParameterError, SchemaError
from halfmask.masks import KeyedTokens, Pram, ValueCounts

KEY = bytes(range(32))


@given(cells=st.lists(st.none() | st.text(max_size=5), min_size=1, max_size=20))
def test_tokens_are_the_keyed_hash_of_the_text(cells):
    """By hashlib alone; equal values have equal tokens, missing ones none."""
    column = pl.Series("name", cells, dtype=pl.String)

    found = KeyedTokens(digits=24).fit("name", column.dtype, None, KEY).apply(column, 0)

    for cell, got in zip(cells, found, strict=True):
        if cell is None:
            assert got is None
        else:
            told = hashlib.blake2b(cell.encode(), key=KEY, digest_size=32).hexdigest()
            assert got == told[:24]


def test_other_keys_give_other_tokens_and_no_plan_shows_its_key():
    """A repr is what a log holds."""
    column = pl.Series("name", ["Ann"])
    first, second = (KeyedTokens().fit("name", column.dtype, None, key) for key in (KEY, bytes(32)))

    assert first.apply(column, 0)[0] != second.apply(column, 0)[0]
    assert repr(KEY) not in repr(first)
    assert "key" not in repr(first)


@pytest.mark.parametrize(
    "column",
    [
        pl.Series("x", ["a"] * 700 + ["b"] * 250 + ["c"] * 50),
        pl.Series("x", [1] * 700 + [2] * 250 + [30] * 50),
        pl.Series("x", [dt.date(2020, 1, 1)] * 700 + [dt.date(2021, 2, 3)] * 300),
        pl.Series("x", [True] * 700 + [False] * 300),
    ],
    ids=["texts", "numbers", "dates", "booleans"],
)
def test_pram_keeps_frequencies_and_the_share_that_it_says(column):
    """Of 40,000 cells: frequencies to 1 %, changed cells as the matrix has them to 2 %."""
    long = pl.concat([column] * 40).shuffle(seed=1)
    plan = Pram(keep=0.6).fit("x", long.dtype, ValueCounts.of(long), KEY)

    found = plan.apply(long, 0)

    assert found.dtype == long.dtype
    shares = {}
    for value, count in long.value_counts().iter_rows():
        shares[value] = count / long.len()
        assert (found == value).sum() / long.len() == pytest.approx(shares[value], abs=0.01)
    same = 0.6 + 0.4 * sum(share**2 for share in shares.values())
    assert (found == long).mean() == pytest.approx(same, abs=0.02)


def test_pram_says_nothing_of_missing_cells_and_draws_under_its_key():
    """Missing cells stay; the same key draws the same, another one another."""
    column = pl.Series("x", ["a", None, "b", "c"] * 100)
    counts = ValueCounts.of(column)

    plans = [Pram(keep=0).fit("x", column.dtype, counts, key) for key in (KEY, KEY, bytes(32))]
    first, again, other = (plan.apply(column, 0) for plan in plans)

    assert first.is_null().to_list() == column.is_null().to_list()
    assert first.equals(again)
    assert not first.equals(other)
    assert "key" not in repr(plans[0])


def test_a_column_without_a_value_stays_so():
    """Nothing to draw from."""
    column = pl.Series("x", [None, None], dtype=pl.String)

    assert (
        Pram(keep=0)
        .fit("x", column.dtype, ValueCounts.of(column), KEY)
        .apply(column, 0)
        .equals(column, null_equal=True)
    )


@pytest.mark.parametrize("mask", [KeyedTokens(), Pram(keep=0.5)], ids=["token", "pram"])
def test_lists_are_refused(mask):
    """A list is several values."""
    with pytest.raises(SchemaError, match=r"'tags'.*single values"):
        mask.written("tags", pl.List(pl.String))


@pytest.mark.parametrize(
    "make", [lambda: KeyedTokens(digits=8), lambda: KeyedTokens(digits=65), lambda: Pram(keep=1.0)]
)
def test_parameters_that_can_not_be_are_refused(make):
    """By name."""
    with pytest.raises(ParameterError):
        make()


@given(parts=st.lists(st.lists(st.none() | st.integers(0, 5), max_size=8), min_size=1, max_size=5))
def test_counts_add_up(parts):
    """Counts of batches, added in any order, are those of the whole column."""
    columns = [pl.Series("x", part, dtype=pl.Int64) for part in parts]
    whole = ValueCounts.of(pl.concat(columns))

    for some in (columns, columns[::-1]):
        found = ValueCounts.sum(map(ValueCounts.of, some))
        assert found.values.equals(whole.values)
        assert found.counts.equals(whole.counts)
    cells = [cell for part in parts for cell in part if cell is not None]
    assert dict(zip(whole.values, whole.counts, strict=True)) == {
        int(value): int(count)
        for value, count in zip(*np.unique(cells, return_counts=True), strict=True)
    }


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pl.Series("x", [1, 20]), pl.Series("x", [1.0, 20.0])),
        (pl.Series("x", [1, None, 300]), pl.Series("x", [1.0, float("nan"), 300.0]).fill_nan(None)),
        (
            pl.Series("x", [1.5, 20.0]),
            pl.Series("x", ["1.50", "20.00"]).str.to_decimal(scale=2),
        ),
        (
            pl.Series("x", [dt.datetime(2020, 1, 2, 3, tzinfo=dt.UTC)]).dt.cast_time_unit("ms"),
            pl.Series("x", [dt.datetime(2020, 1, 2, 3, tzinfo=dt.UTC)]).dt.cast_time_unit("ns"),
        ),
    ],
    ids=["floats", "a gap", "decimals", "times"],
)
def test_tokens_are_those_of_the_value_however_it_was_read(one, other):
    """Pandas makes floats of whole numbers with a gap, and nanoseconds of times."""
    found = [
        KeyedTokens().fit("x", it.dtype, None, KEY).apply(it, 0).to_list() for it in (one, other)
    ]

    assert found[0] == found[1]
    assert len(set(found[0])) == len(found[0])
