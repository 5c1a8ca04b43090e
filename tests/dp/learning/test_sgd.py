"""DP-SGD: clipped sums are exact and bounded, whatever rows hold; noise fits the budget."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from halfmask import BudgetError, ParameterError
from halfmask.dp.accounting import epsilon_of
from halfmask.dp.audit import audit_neighbours
from halfmask.dp.learning import PrivateSGDClassifier, PrivateSGDRegressor
from halfmask.dp.learning._clipped_gradients import PoissonSampler, clipped_sum, unit_vectors
from halfmask.dp.noise import GaussianMechanism

RNG = np.random.default_rng(5)
X = RNG.normal(size=(600, 3))
Y = (X @ [2.0, -1.0, 0.0] + 0.5 > 0).astype(int)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)


def _classifier(**settings):
    usual: dict[str, Any] = {
        "epsilon": 4.0,
        "delta": 1e-5,
        "classes": [0, 1],
        "clip_norm": 1.0,
        "steps": 30,
    }
    return PrivateSGDClassifier(**{**usual, **settings})


def _regressor(**settings):
    usual: dict[str, Any] = {
        "epsilon": 4.0,
        "delta": 1e-5,
        "target_bounds": (-9.0, 11.0),
        "clip_norm": 1.0,
    }
    return PrivateSGDRegressor(**{**usual, **settings})


@pytest.mark.slow
def test_they_keep_scikit_learns_contract(failed_checks, declaring):
    settings: dict[str, Any] = {"epsilon": 20.0, "delta": 1e-3, "clip_norm": 1.0, "steps": 5}
    assert failed_checks(declaring(PrivateSGDClassifier)(classes=[0, 1], **settings)) == {}
    assert failed_checks(PrivateSGDRegressor(target_bounds=(-9.0, 9.0), **settings)) == {}


@pytest.mark.slow
@given(
    rows=arrays(np.float64, (4, 3), elements=FLOATS),
    residuals=arrays(np.float64, (4, 2), elements=st.floats(-1e100, 1e100)),
    clip=st.sampled_from([0.1, 1.0, 7.5]),
)
def test_no_row_adds_more_than_the_clip_norm(rows, residuals, clip):
    """Removing any row changes the sum by at most the norm, in exact arithmetic."""
    units, lengths = unit_vectors(rows)
    everything = clipped_sum(residuals, units, lengths, clip_norm=clip)
    for row in range(4):
        kept = np.arange(4) != row
        rest = clipped_sum(residuals[kept], units[kept], lengths[kept], clip_norm=clip)
        change = (
            Fraction(a) / Fraction(clip) - Fraction(b) / Fraction(clip)
            for a, b in zip(everything.ravel().tolist(), rest.ravel().tolist(), strict=True)
        )
        assert sum(each**2 for each in change) <= 1 + Fraction(1, 10**9)


def test_short_gradients_are_not_clipped():
    units, lengths = unit_vectors(X[:5])
    residuals = np.full((5, 1), 1e-2)
    found = clipped_sum(residuals, units, lengths, clip_norm=1.0)

    assert found == pytest.approx(residuals.T @ X[:5], abs=1e-4)


def test_sums_are_the_same_in_any_order():
    rows = RNG.normal(size=(70_000, 2))
    units, lengths = unit_vectors(rows)
    residuals = RNG.normal(size=(70_000, 1))
    order = RNG.permutation(70_000)
    first = clipped_sum(residuals, units, lengths, clip_norm=0.3)
    second = clipped_sum(residuals[order], units[order], lengths[order], clip_norm=0.3)

    assert (first == second).all()


def test_samples_have_their_probability_and_are_independent():
    sampler = PoissonSampler(20_000, 0.1)
    first, second = sampler.next(), sampler.next()

    assert len(first) == pytest.approx(2000, abs=250)
    assert len(np.intersect1d(first, second)) == pytest.approx(200, abs=80)
    assert len(PoissonSampler(5, 1.0).next()) == 5


@pytest.mark.slow
@pytest.mark.parametrize("probability", [1.0, 0.3])
def test_it_learns_labels_within_its_budget(probability, notes):
    ledger = notes()
    model = _classifier(
        sampling_probability=probability, learning_rate=0.2, ledger=ledger, delta=1e-4, steps=20
    ).fit(X, Y)

    assert model.score(X, Y) > 0.85
    assert model.spent_epsilon_ == epsilon_of(model.events_, delta=1e-4) <= 4.0
    assert ledger.booked[0][0] == model.events_
    assert model.events_[0].to_json()["sampling_probability"] == probability


def test_it_learns_three_labels():
    labels = np.array(["a", "b", "c"])[np.argmax(X, axis=1)]
    model = _classifier(classes=["a", "b", "c"], epsilon=20.0, learning_rate=0.2).fit(X, labels)

    assert model.score(X, labels) > 0.75
    assert model.predict_proba(X[:2]).sum(axis=1) == pytest.approx(1.0)


def test_it_learns_targets():
    targets = X @ [2.0, -1.0, 0.0] + 1
    model = _regressor(steps=100, learning_rate=0.05).fit(X, targets)

    assert model.score(X, targets) > 0.8
    assert abs(model.intercept_ - 1) < 1.5


def _audited(mechanism, value):
    return audit_neighbours(
        lambda n: mechanism.release([value] * n),
        lambda n: mechanism.release([0.0] * n),
        delta=0.05,
        runs=8000,
        confidence=0.9999,
    )


@pytest.mark.slow
def test_an_audit_of_a_training_refutes_a_third_of_the_noise():
    """One step on one row or none: the coefficient itself is the statistic."""
    noise = _classifier(epsilon=2.0, steps=1).fit(X, Y).noise_multiplier_
    claimed = epsilon_of(_classifier(epsilon=2.0, steps=1).fit(X, Y).events_, delta=0.05)
    units, lengths = unit_vectors(np.array([[3.0]]))
    one = float(clipped_sum(np.array([[-0.5]]), units, lengths, clip_norm=1.0)[0, 0])
    for share, refuted in ((1.0, False), (0.2, True)):
        mechanism = GaussianMechanism(sensitivity=1.0, scale=noise * share)
        found = _audited(mechanism, one)
        assert found.refutes(claimed) is refuted


def test_no_delta_means_no_gaussian_noise():
    with pytest.raises(BudgetError):
        _classifier(delta=0.0).fit(X, Y)


@pytest.mark.parametrize("given_", [
    {"clip_norm": 0.0}, {"clip_norm": math.inf}, {"sampling_probability": 0.0}, {"steps": 0},
    {"sampling_probability": 1.5}, {"learning_rate": math.nan}, {"epsilon": 0}, {"delta": 1.0},
])  # fmt: skip
def test_parameters_outside_of_their_ranges_are_refused(given_):
    with pytest.raises(ParameterError, match=next(iter(given_))):
        _classifier(**given_).fit(X, Y)


@pytest.mark.parametrize("bounds", [(1.0, 1.0), (2.0, 1.0), (0.0, math.inf), 3, (0.0, math.nan)])
def test_target_bounds_are_declared(bounds):
    with pytest.raises(ParameterError, match="target_bounds"):
        _regressor(target_bounds=bounds).fit(X, X[:, 0])


@pytest.mark.parametrize("classes", [[0, 1], [0, 1, 2]])
def test_no_single_row_makes_training_fail(classes):
    """Scores of infinity minus infinity were no number, and no noise can be added to that."""
    rows = X[:60].copy()
    rows[0], rows[1] = 1.7e308, [1.7e308, -1.7e308, 1.7e308]
    assert np.isfinite(_classifier(classes=classes).fit(rows, Y[:60]).coef_).all()
    assert np.isfinite(_regressor().fit(rows, Y[:60]).coef_).all()
