"""Arms against known intervals, and by coverage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from halfmask._errors import DataError, ParameterError
from halfmask.assess.attacks._arms import (
    Certain,
    Combined,
    Least,
    Resampled,
    SuccessCount,
    balanced,
    difference,
    fewest_trials,
)


@given(st.integers(0, 200), st.integers(1, 200), st.floats(0.001, 0.4))
def test_a_counted_share_has_the_exact_bounds_of_scipy(successes, trials, error):
    successes = min(successes, trials)
    exact = stats.binomtest(successes, trials).proportion_ci(1 - 2 * error, method="exact")
    low, high = SuccessCount(successes, trials).bounds(error)
    assert [low, high] == pytest.approx([exact.low, exact.high])


def test_without_trials_a_share_may_be_anything():
    assert SuccessCount(0, 0).bounds(0.05) == (0.0, 1.0)
    assert SuccessCount(0, 0).value == 0.5


def test_an_arm_cant_succeed_more_often_than_it_tries():
    with pytest.raises(ParameterError, match="3 of 2"):
        SuccessCount(3, 2)


@pytest.mark.parametrize("error", [0.0, 0.6, float("nan")])
def test_an_error_is_a_probability_below_a_half(error):
    with pytest.raises(ParameterError, match="error"):
        SuccessCount(1, 2).bounds(error)


def test_a_difference_covers_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(1)
    missed = 0
    for _ in range(2000):
        first = SuccessCount(int(rng.binomial(300, 0.6)), 300)
        second = SuccessCount(int(rng.binomial(200, 0.5)), 200)
        missed += difference(first, second).bounds(0.05)[1] < 0.1
    # The exact bounds are never narrower than they must be; 0.05 misses are allowed, give or take.
    assert 20 <= missed <= 120


def test_a_difference_is_wider_than_its_arms():
    first, second = SuccessCount(60, 100), SuccessCount(50, 100)
    low, high = difference(first, second).bounds(0.05)
    assert low < 0.1 < high
    assert high - 0.1 > first.bounds(0.05)[1] - first.value
    assert list(difference(second, first).bounds(0.05)) == pytest.approx([-high, -low])


def test_a_balanced_share_is_the_mean():
    arm = balanced([SuccessCount(90, 100), SuccessCount(5, 10)])
    assert arm.value == pytest.approx(0.7)
    assert arm.trials == 10
    assert arm.bounds(0.05)[0] < 0.7 < arm.bounds(0.05)[1]


def test_what_is_known_has_no_width():
    assert Certain(0.5).bounds(0.01) == (0.5, 0.5)
    assert difference(Certain(0.75), Certain(0.5)).bounds(0.01) == (0.25, 0.25)
    assert Combined((Certain(0.5),), (2.0,)).trials == 0


def test_resamples_give_percentiles():
    arm = Resampled.of(0.5, np.linspace(0, 1, 101), 40)
    assert list(arm.bounds(0.05)) == pytest.approx([0.05, 0.95])
    assert Resampled.of(0.99, np.linspace(0, 0.9, 91), 40).bounds(0.05)[1] >= 0.99
    assert len(repr(arm)) < 80


def test_without_resamples_or_trials_a_share_may_be_anything():
    assert Resampled.of(0.3, [], 50).bounds(0.05) == (0.0, 1.0)
    assert Resampled.of(0.3, [0.3, 0.3], 0).bounds(0.05) == (0.0, 1.0)


@pytest.mark.parametrize("trials", [10, 1000])
def test_resamples_of_what_never_happened_are_no_nearer_than_the_exact_bound(trials):
    # The bootstrap's well-known hole: every resample of zeros is zero.
    arm = Resampled.of(0.0, np.zeros(500), trials)
    assert arm.bounds(0.01)[1] == pytest.approx(SuccessCount(0, trials).bounds(0.01)[1])
    perfect = Resampled.of(1.0, np.ones(500), trials)
    assert perfect.bounds(0.01)[0] == pytest.approx(SuccessCount(trials, trials).bounds(0.01)[0])


def test_an_error_that_few_resamples_cant_show_goes_beyond_their_extremes():
    replicates = stats.norm.ppf((np.arange(100) + 0.5) / 100) * 0.01 + 0.6
    low, high = Resampled.of(0.6, replicates, 10**6).bounds(0.0005)
    assert low < replicates.min()
    # 3.29 standard deviations, as of a normal distribution, give or take what 100 draws show.
    assert high == pytest.approx(0.6 + 0.01 * stats.norm.isf(0.0005), abs=0.005)
    assert high > replicates.max()


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_is_refused_not_read_as_no_risk(value):
    with pytest.raises(DataError, match="no number"):
        Certain(value)
    with pytest.raises(DataError, match="no number"):
        Resampled.of(value, [0.5, 0.5], 10)
    with pytest.raises(DataError, match="no number"):
        Resampled.of(0.5, [0.5, value], 10)


def test_counts_of_numpy_become_plain_numbers():
    arm = SuccessCount(*np.array([3, 5]))
    assert type(arm.trials) is int
    assert type(arm.successes) is int


def test_an_arm_without_trials_counts_as_the_fewest_and_a_known_one_does_not():
    assert fewest_trials((SuccessCount(1, 50), Certain(0.5))) == 50
    assert fewest_trials((SuccessCount(1, 50), SuccessCount(0, 0))) == 0
    assert fewest_trials((Certain(0.5),)) == 0
    assert difference(SuccessCount(1, 50), SuccessCount(0, 0)).trials == 0


def test_the_least_of_numbers_covers_the_truth_as_often_as_it_says():
    # Both references are equally high: whichever looks higher does so by luck.
    rng = np.random.default_rng(2)
    above = below = 0
    for _ in range(2000):
        success, control, baseline = (
            SuccessCount(int(n), 400) for n in rng.binomial(400, [0.6, 0.55, 0.55])
        )
        least = Least((difference(success, control), difference(success, baseline)))
        low, high = least.bounds(0.05)
        assert low <= least.value <= high
        above += low > 0.05
        below += high < 0.05
    assert above <= 100
    assert below <= 100
