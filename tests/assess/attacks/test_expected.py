"""Expected: shares of trials, and bounds that hold for any of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta

from halfmask._errors import ParameterError
from halfmask.assess.attacks.tables import Expected


def test_at_the_edges_bounds_are_those_of_clopper_and_pearson():
    assert Expected(0.0, 50).bounds(0.01)[1] == pytest.approx(beta.ppf(0.99, 1, 50))
    assert Expected(50.0, 50).bounds(0.01)[0] == pytest.approx(beta.ppf(0.01, 50, 1))


def test_bounds_are_never_narrower_than_those_of_clopper_and_pearson():
    for right in (1, 20, 50, 99):
        low, high = Expected(float(right), 100).bounds(0.05)
        assert low <= beta.ppf(0.05, right, 101 - right)
        assert high >= beta.ppf(0.95, right + 1, 100 - right)
        assert high < right / 100 + 0.15


def test_a_bound_is_wrong_at_most_as_often_as_it_says():
    rng = np.random.default_rng(0)
    totals = rng.choice([0.0, 0.1, 1.0], p=[0.5, 0.4, 0.1], size=(2000, 60)).sum(axis=1)

    wrong = sum(Expected(total, 60).bounds(0.1)[1] < 0.14 for total in totals)
    assert wrong / 2000 <= 0.1


def test_without_trials_the_mean_may_be_anything():
    assert Expected(0.0, 0).bounds(0.05) == (0.0, 1.0)


def test_more_than_all_is_refused():
    with pytest.raises(ParameterError, match="each lie in"):
        Expected(3.0, 2)
