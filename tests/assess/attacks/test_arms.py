"""Arms against known intervals, and by coverage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from halfmask._errors import ParameterError
from halfmask.assess.attacks._arms import Certain, Combined, Counted, Resampled, balanced, difference


@given(st.integers(0, 200), st.integers(1, 200), st.floats(0.001, 0.4))
def test_a_counted_share_has_the_exact_bounds_of_scipy(successes, trials, error):
    successes = min(successes, trials)
    exact = stats.binomtest(successes, trials).proportion_ci(1 - 2 * error, method="exact")
    low, high = Counted(successes, trials).bounds(error)
    assert (low, high) == (pytest.approx(exact.low), pytest.approx(exact.high))


def test_without_trials_a_share_may_be_anything():
    assert Counted(0, 0).bounds(0.05) == (0.0, 1.0)
    assert Counted(0, 0).value == 0.5


def test_an_arm_cant_succeed_more_often_than_it_tries():
    with pytest.raises(ParameterError, match="3 of 2"):
        Counted(3, 2)


@pytest.mark.parametrize("error", [0.0, 0.6, float("nan")])
def test_an_error_is_a_probability_below_a_half(error):
    with pytest.raises(ParameterError, match="error"):
        Counted(1, 2).bounds(error)


def test_a_difference_covers_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(1)
    missed = 0
    for _ in range(2000):
        first = Counted(int(rng.binomial(300, 0.6)), 300)
        second = Counted(int(rng.binomial(200, 0.5)), 200)
        missed += difference(first, second).bounds(0.05)[1] < 0.1
    # The exact bounds are never narrower than they must be; 0.05 misses are allowed, give or take.
    assert 20 <= missed <= 120


def test_a_difference_is_wider_than_its_arms():
    first, second = Counted(60, 100), Counted(50, 100)
    low, high = difference(first, second).bounds(0.05)
    assert low < 0.1 < high
    assert high - 0.1 > first.bounds(0.05)[1] - first.value
    assert difference(second, first).bounds(0.05) == (pytest.approx(-high), pytest.approx(-low))


def test_a_balanced_share_is_the_mean():
    arm = balanced([Counted(90, 100), Counted(5, 10)])
    assert arm.value == pytest.approx(0.7)
    assert arm.trials == 10
    assert arm.bounds(0.05)[0] < 0.7 < arm.bounds(0.05)[1]


def test_what_is_known_has_no_width():
    assert Certain(0.5).bounds(0.01) == (0.5, 0.5)
    assert difference(Certain(0.75), Certain(0.5)).bounds(0.01) == (0.25, 0.25)
    assert Combined((Certain(0.5),), (2.0,)).trials == 0


def test_resamples_give_percentiles_that_hold_the_value():
    arm = Resampled.of(0.5, np.linspace(0, 1, 101), 40)
    assert arm.bounds(0.05) == (pytest.approx(0.05), pytest.approx(0.95))
    assert Resampled.of(0.99, np.linspace(0, 0.9, 91), 40).bounds(0.05)[1] == 0.99
    assert Resampled.of(0.3, [], 0).bounds(0.05) == (0.3, 0.3)
    assert len(repr(arm)) < 80
