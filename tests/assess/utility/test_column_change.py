"""What masking changed in a column, against loops."""

from __future__ import annotations

import math
from collections import Counter
from statistics import mean, stdev

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from halfmask._errors import ParameterError
from halfmask.assess.utility import ColumnChange, categorical_change, numeric_change

CELL = st.none() | st.integers(-9, 9)
PAIRS = st.lists(st.tuples(CELL, CELL), min_size=1, max_size=30)


def arrays(rows):
    return [np.array([math.nan if r[i] is None else r[i] for r in rows], float) for i in (0, 1)]


@pytest.mark.slow
@given(PAIRS)
def test_numbers_are_those_of_a_loop(rows):
    before = [a for a, _ in rows if a is not None]
    after = [b for _, b in rows if b is not None]
    both = [(a, b) for a, b in rows if a is not None and b is not None]
    assume(len(before) > 1 and len(after) > 1 and both and stdev(before) > 0)

    found = numeric_change(*arrays(rows))

    assert found.il1s == pytest.approx(
        mean(abs(a - b) for a, b in both) / (math.sqrt(2) * stdev(before))
    )
    assert found.mean_shift == pytest.approx((mean(after) - mean(before)) / stdev(before))
    assert found.deviation_ratio == pytest.approx(stdev(after) / stdev(before), abs=1e-12)
    assert found.changed == mean(a != b for a, b in rows)
    assert found.suppressed == mean(b is None for a, b in rows if a is not None)


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.none() | st.integers(0, 4), st.none() | st.integers(0, 4)), min_size=1)
)
def test_frequencies_are_those_of_a_counter(rows):
    before, after = (Counter(row[side] for row in rows) for side in (0, 1))
    apart = sum(abs(before[each] - after[each]) for each in before | after)

    found = categorical_change(*arrays(rows))

    assert found.total_variation == pytest.approx(apart / (2 * len(rows)))
    assert found.il1s is None


def test_sdcmicros_il1_is_twice_the_papers():
    """It multiplies by sqrt(2) where Yancey et al. divide: sum |x - z| / sd * sqrt(2) / (n p)."""
    x, z = (
        np.array([[1.0, 5.0], [2.0, 9.0], [4.0, 1.0]]),
        np.array([[1.5, 5.0], [2.0, 6.0], [9, 1]]),
    )
    sdcmicro = float((np.abs(x - z) / x.std(axis=0, ddof=1) * 2**0.5).sum() / x.size)

    ours = [numeric_change(x[:, j], z[:, j]).il1s or 0.0 for j in range(2)]

    assert 2 * np.mean(ours) == pytest.approx(sdcmicro)


def test_equal_columns_lose_nothing_and_twice_the_noise_loses_twice():
    rng = np.random.default_rng(0)
    x, noise = rng.normal(size=500), rng.normal(size=500)

    assert numeric_change(x, x) == ColumnChange(
        changed=0.0, suppressed=0.0, il1s=0.0, mean_shift=0.0, deviation_ratio=1.0
    )
    one, two = (numeric_change(x, x + size * noise).il1s or 0.0 for size in (0.1, 0.2))
    assert two == pytest.approx(2 * one)


def test_a_sample_is_paired_by_its_rows_and_compared_with_everyone():
    x = np.array([1.0, 2.0, 3.0, 10.0])
    rows = np.array([3, 0])

    found = numeric_change(x, x[rows], rows=rows)

    assert found.il1s == found.changed == 0.0
    assert found.mean_shift == pytest.approx((5.5 - 4.0) / stdev(x))
    assert categorical_change(x, x[rows], rows=rows).total_variation == pytest.approx(0.5)


def test_columns_without_spread_have_no_loss_in_deviations():
    found = numeric_change([2.0, 2.0], [2.0, 3.0])

    assert (found.il1s, found.mean_shift, found.deviation_ratio) == (None, None, None)
    assert found.changed == 0.5
    assert numeric_change([1.0, 2.0], [np.nan, np.nan]).suppressed == 1.0


@pytest.mark.parametrize("change", [numeric_change, categorical_change])
def test_columns_of_different_lengths_are_refused(change):
    with pytest.raises(ParameterError, match="equally long"):
        change([1.0, 2.0], [1.0])
    with pytest.raises(ParameterError, match="at least a row"):
        change([], [])


def test_weights_count_as_that_many_rows():
    """A row of weight 3 moves means and shares as three rows do; equal weights change nothing."""
    before, after = np.array([1.0, 2.0, 9.0]), np.array([2.0, 2.0, 5.0])
    sizes = np.array([1.0, 3.0, 2.0])
    repeated = [np.repeat(each, [1, 3, 2]) for each in (before, after)]

    found = numeric_change(before, after, weights=(sizes, sizes))

    x, z = repeated
    deviation = x.std() * (3 / 2) ** 0.5  # of three rows, not of six
    assert found.mean_shift == pytest.approx((z.mean() - x.mean()) / deviation)
    assert found.deviation_ratio == pytest.approx(z.std() / x.std())
    assert found.il1s == numeric_change(before, after).il1s
    same = numeric_change(before, after, weights=(sizes * 0 + 7, sizes * 0 + 7))
    assert same.mean_shift == pytest.approx(numeric_change(before, after).mean_shift)
    assert same.deviation_ratio == pytest.approx(numeric_change(before, after).deviation_ratio)

    codes, moved = np.array([0.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0])
    shared = categorical_change(codes, moved, weights=(sizes, sizes))
    assert shared.total_variation == pytest.approx(3 / 6)
    assert shared.changed == pytest.approx(1 / 3)


@pytest.mark.parametrize("wrong", [[1.0, 0.0, 2.0], [1.0, math.nan, 2.0], [1.0, 2.0]])
def test_weights_that_are_none_are_refused(wrong):
    rows = np.array([1.0, 2.0, 9.0])
    with pytest.raises(ParameterError, match="Weights must be numbers above 0"):
        numeric_change(rows, rows, weights=(rows, wrong))
