"""Boosting by noisy histograms: residuals of a row are bounded; splits don't depend on the data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import softmax

from halfmask import BudgetError, ParameterError
from halfmask.dp.accounting import epsilon_of
from halfmask.dp.learning import PrivateBoostingClassifier
from halfmask.dp.learning._boosting import _leaf_sums

RNG = np.random.default_rng(3)
X = RNG.uniform(-1, 1, size=(4000, 2))
Y = np.where(np.abs(X[:, 0]) < 0.5, "in", "out")


def _model(**settings):
    usual: dict[str, Any] = {
        "epsilon": 2.0,
        "delta": 1e-5,
        "bounds": (-1.0, 1.0),
        "classes": ["in", "out"],
        "rounds": 20,
        "random_state": 0,
    }
    return PrivateBoostingClassifier(**{**usual, **settings})


@pytest.mark.slow
def test_it_keeps_scikit_learns_contract(failed_checks, declaring):
    model = declaring(PrivateBoostingClassifier)(
        epsilon=20.0, delta=1e-3, bounds=(-10.0, 10.0), classes=[0, 1], rounds=5
    )
    assert failed_checks(model) == {}


def test_it_learns_what_no_linear_model_can_within_its_budget(notes):
    ledger = notes()
    model = _model(ledger=ledger).fit(X, Y)

    assert model.score(X, Y) > 0.9
    assert model.spent_epsilon_ == epsilon_of(model.events_, delta=1e-5) <= 2.0
    assert ledger.booked[0][0] == model.events_
    with pytest.raises(BudgetError):
        _model(ledger=notes(times=0)).fit(X, Y)


def test_it_learns_three_labels():
    labels = np.digitize(X[:, 1], [-0.3, 0.3])
    model = _model(classes=[0, 1, 2], epsilon=6.0).fit(X, labels)

    assert model.score(X, labels) > 0.85
    assert model.decision_function(X[:4]).shape == (4, 3)


@given(scores=arrays(np.float64, (5, 3), elements=st.floats(-50, 50)), data=st.data())
def test_a_row_adds_at_most_its_residual_to_one_leaf(scores, data):
    """Two classes: at most 1. Three: at most sqrt(2), in the L2 norm."""
    leaves = np.array(data.draw(st.lists(st.integers(0, 3), min_size=5, max_size=5)))
    codes = np.array(data.draw(st.lists(st.integers(0, 2), min_size=5, max_size=5)))
    residuals = np.eye(3)[codes] - softmax(scores, axis=1)
    change = _leaf_sums(residuals, leaves, 4) - _leaf_sums(residuals[:4], leaves[:4], 4)
    assert np.linalg.norm(change) <= math.sqrt(2)
    one = _leaf_sums(residuals[:, :1], leaves, 4) - _leaf_sums(residuals[:4, :1], leaves[:4], 4)
    assert np.linalg.norm(one) <= 1


def test_values_beyond_their_bounds_are_clipped():
    model = _model().fit(X, Y)
    assert model.predict([[9.0, 0.0]]) == model.predict([[1.0, 0.0]])


@pytest.mark.parametrize("given_", [
    {"bins": 1}, {"leaves": 1}, {"leaves": 33}, {"rounds": 0}, {"learning_rate": 0.0},
    {"bounds": (1.0, 1.0)}, {"epsilon": math.inf}, {"delta": -1.0},
])  # fmt: skip
def test_parameters_outside_of_their_ranges_are_refused(given_):
    with pytest.raises(ParameterError, match=next(iter(given_))):
        _model(**given_).fit(X, Y)


def test_no_delta_means_no_gaussian_noise():
    with pytest.raises(BudgetError):
        _model(delta=0.0).fit(X, Y)
