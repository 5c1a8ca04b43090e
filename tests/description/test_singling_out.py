"""Sets of columns that single people out are found by counting."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.description import singling_out as _singling_out
from halfmask.description.singling_out import (
    share_unique,
    single_out,
    single_out_together,
)
from halfmask.description.thresholds import SINGLES_OUT

NAMES = ("a", "b", "c", "d")
tables = st.lists(st.tuples(*[st.none() | st.integers(0, 2)] * 4), min_size=1, max_size=40).map(
    lambda rows: pl.DataFrame(rows, schema=dict.fromkeys(NAMES, pl.Int64), orient="row")
)


def naive(frame, names):
    rows = Counter(frame.select(names).rows())
    return sum(n for n in rows.values() if n == 1) / frame.height


@pytest.mark.slow
@given(tables, st.lists(st.sampled_from(NAMES), unique=True, min_size=1))
def test_the_share_of_unique_rows_agrees_with_a_naive_count(frame, names):
    assert share_unique(frame, names) == naive(frame, names)


@pytest.mark.slow
@given(tables)
def test_every_minimal_set_of_a_narrow_table_is_found(frame):
    found = single_out(frame, NAMES).sets

    expected: list[tuple[str, ...]] = []
    for size in range(1, 5):
        for names in itertools.combinations(NAMES, size):
            has_part = any(set(part) < set(names) for part in expected)
            if not has_part and naive(frame, names) >= SINGLES_OUT:
                expected.append(names)
    assert {it.columns for it in found} == set(expected)
    assert all(it.share_unique == naive(frame, it.columns) for it in found)
    assert [len(it.columns) for it in found] == sorted(len(it.columns) for it in found)


def test_many_values_are_counted_by_sorting_and_few_by_a_table(monkeypatch):
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({name: rng.integers(0, 40, 500) for name in NAMES})
    by_table = single_out(frame, NAMES)
    monkeypatch.setattr(_singling_out, "TABLE", 0)

    assert single_out(frame, NAMES) == by_table


def test_combinations_beyond_64_bits_are_still_told_apart():
    # Ten columns of 512 values have 2**90 combinations; the first column's digit is beyond 64.
    frame = pl.DataFrame({f"c{i}": [*range(512), *range(512)] for i in range(10)})

    assert share_unique(frame, frame.columns) == 0.0
    one_off = frame.with_columns(c0=pl.Series([1, *range(1, 512), *range(512)]))
    assert share_unique(one_off, frame.columns) == 2 / 1024


def test_the_gain_of_a_column_that_was_left_out_is_counted(monkeypatch):
    monkeypatch.setattr(_singling_out, "MAX_COLUMNS", 2)
    frame = pl.DataFrame({"a": list(range(10)) * 10, "b": [i // 10 for i in range(100)]})
    frame = frame.with_columns(c=pl.lit(1), d=pl.Series([0, 1] * 50))

    found = single_out(frame, NAMES)

    assert found.columns == 2
    assert found.gains["c"] == 0.0
    assert set(found.gains) == set(NAMES)


def test_long_tables_are_thinned_and_say_so(monkeypatch):
    monkeypatch.setattr(_singling_out, "MAX_ROWS", 10)

    assert single_out(pl.DataFrame({"a": range(95)}), ["a"]).rows == 10


def test_no_columns_single_nobody_out():
    frame = pl.DataFrame({"a": [1, 2]})

    assert single_out(frame, []).sets == ()
    assert share_unique(frame, []) == 0.0


@pytest.mark.slow
@given(tables)
def test_what_is_left_no_longer_singles_out_together(frame):
    share, found = single_out_together(frame, NAMES)

    left = [name for name in NAMES if name not in found]
    assert share == naive(frame, NAMES)
    assert not left or naive(frame, left) < SINGLES_OUT
    assert not found or naive(frame, [*left, found[-1]]) >= SINGLES_OUT
