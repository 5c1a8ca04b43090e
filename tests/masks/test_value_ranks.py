"""Ranks are those of numpy and scipy, whatever the type and however near the numbers."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from halfmask.masks._value_ranks import normal_scores, ranked_rows

WHOLE = st.integers(-(2**63), 2**63 - 1)
FLOATS = st.floats(allow_nan=False) | st.sampled_from([0.0, -0.0, 5e-324, 1.0, 1 + 2**-52])


@settings(max_examples=60)
@given(
    column=st.one_of(
        st.lists(WHOLE, max_size=40).map(lambda it: pl.Series(it, dtype=pl.Int64)),
        st.lists(st.integers(-3, 3), max_size=40).map(lambda it: pl.Series(it, dtype=pl.Int8)),
        st.lists(st.integers(0, 2**64 - 1), max_size=40).map(
            lambda it: pl.Series(it, dtype=pl.UInt64)
        ),
        st.lists(FLOATS, max_size=40).map(lambda it: pl.Series(it, dtype=pl.Float64)),
        st.lists(st.integers(-(2**80), 2**80), max_size=40).map(
            lambda it: pl.Series(it, dtype=pl.Int128)
        ),
        st.lists(st.dates(), max_size=40).map(lambda it: pl.Series(it, dtype=pl.Date)),
    )
)
def test_rows_are_in_the_order_of_their_values(column):
    """Each row once, values rising, and the first of each value marked."""
    rows, is_first = ranked_rows(column)

    assert sorted(rows.tolist()) == list(range(len(column)))
    ordered = column.gather(rows).to_list()
    assert all(a <= b for a, b in itertools.pairwise(ordered))
    assert is_first.tolist() == [i == 0 or ordered[i - 1] != it for i, it in enumerate(ordered)]


@pytest.mark.parametrize("spread", [2.0**-45, 2.0**-30, 1.0, 1e300])
@pytest.mark.parametrize("n", [63, 64, 65, 1000])
def test_runs_of_near_numbers_are_sorted(n, spread):
    """Behind two far ones, all numbers have the same leading digits; long runs too."""
    near = 1 + spread * np.random.default_rng(0).integers(0, n, n)
    numbers = np.concatenate([near, [-1e308, 1e308]])

    rows, _ = ranked_rows(pl.Series(numbers))

    np.testing.assert_array_equal(numbers[rows], np.sort(numbers))


@pytest.mark.slow
@given(cells=st.lists(st.none() | st.integers(-5, 5), min_size=1, max_size=40))
def test_scores_are_normal_quantiles_of_mean_ranks(cells):
    """As scipy ranks them; missing where the cell is."""
    there = [it for it in cells if it is not None]
    expected = iter(stats.norm.ppf((stats.rankdata(there) - 0.5) / max(1, len(there))))

    found = normal_scores(pl.Series(cells, dtype=pl.Int64))

    for cell, score in zip(cells, found, strict=True):
        assert np.isnan(score) if cell is None else score == pytest.approx(next(expected))
