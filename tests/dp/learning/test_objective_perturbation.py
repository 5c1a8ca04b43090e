"""Objective perturbation: scikit-learn's minimum, certified; what it can't keep it refuses."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from halfmask import BudgetError, DivergenceError, ParameterError
from halfmask.dp.accounting import epsilon_of
from halfmask.dp.learning import PrivateLogisticRegression, _logistic_minimum
from halfmask.dp.learning._logistic_minimum import logistic_minimum

RNG = np.random.default_rng(6)
X = RNG.normal(size=(400, 3))
Y = (X @ [2.0, -1.0, 0.0] + RNG.logistic(size=400) > 0).astype(int)


def _model(**settings):
    usual = {"epsilon": 1.0, "delta": 1e-5, "row_norm": 2.0, "classes": [0, 1], "C": 0.1}
    return PrivateLogisticRegression(perturbation="objective", **{**usual, **settings})


@pytest.mark.slow
def test_it_keeps_scikit_learns_contract(failed_checks, declaring):
    model = declaring(PrivateLogisticRegression)(
        epsilon=20.0, delta=1e-3, row_norm=5.0, classes=[0, 1], perturbation="objective"
    )
    assert failed_checks(model) == {}


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_with_little_noise_it_is_scikit_learns(classes):
    labels = np.argmax(X[:, :classes], axis=1)
    rows, labels = np.tile(X, (100, 1)), np.tile(labels, 100)
    plain = LogisticRegression(C=0.01, fit_intercept=False, tol=1e-8).fit(rows, labels)
    model = _model(
        epsilon=50.0, C=0.01, row_norm=10.0, fit_intercept=False, classes=range(classes)
    ).fit(rows, labels)

    assert model.coef_ == pytest.approx(plain.coef_, abs=0.1)
    assert model.predict_proba(X) == pytest.approx(plain.predict_proba(X), abs=0.1)


@pytest.mark.slow
def test_it_is_nearer_to_the_minimum_than_output_perturbation():
    """Ten of each: the noise on the coefficients is about ten times as large."""
    rows, labels = np.tile(X, (5, 1)), np.tile(Y, 5)
    plain = LogisticRegression(C=0.1, fit_intercept=False, tol=1e-8).fit(rows, labels)
    errors = {
        way: np.mean([
            np.linalg.norm(
                _model(fit_intercept=False)
                .set_params(perturbation=way, row_norm=5.0)
                .fit(rows, labels)
                .coef_
                - plain.coef_
            )
            for _ in range(10)
        ])
        for way in ("objective", "output")
    }  # fmt: skip
    assert errors["objective"] < errors["output"] / 3


def test_what_it_cost_is_within_the_budget_and_booked(notes):
    ledger = notes()
    model = _model(ledger=ledger).fit(X, Y)

    assert model.spent_epsilon_ == epsilon_of(model.events_, delta=1e-5) <= 1.0
    assert ledger.booked == [(model.events_, "training of PrivateLogisticRegression")]
    loss, output = model.events_
    assert loss.curvature == pytest.approx(0.1 * (2.0**2 + 1))
    assert output.noise_multiplier == pytest.approx(10 * loss.noise_multiplier)
    assert model.mechanism_.scale == pytest.approx(loss.noise_multiplier * math.sqrt(5))
    with pytest.raises(BudgetError):
        _model(ledger=notes(times=0)).fit(X, Y)


def test_a_solver_that_ends_too_early_leaves_no_model(monkeypatch):
    monkeypatch.setattr(_logistic_minimum, "cg", lambda _a, b, **_: (np.zeros_like(b), 1))
    model = _model()
    with pytest.raises(DivergenceError, match="minimum"):
        model.fit(X, Y)
    assert not hasattr(model, "coef_")


def test_floats_that_cannot_certify_the_minimum_leave_no_model():
    """Rounding alone may be larger than what the noise covers."""
    with pytest.raises(DivergenceError, match="minimum"):
        logistic_minimum(X, Y, np.zeros((1, 3)), penalty=1.0, tolerance=1e-12, longest=1e3)


@pytest.mark.parametrize("penalty", [1e-3, 1.0, 1e3])
def test_the_minimum_is_as_near_as_certified(penalty):
    """The gradient again, with products and sums of fractions."""
    linear, tolerance = RNG.normal(size=(1, 3)) * 5, 1e-9
    longest = float(np.linalg.norm(X, axis=1).max())
    found = logistic_minimum(X, Y, linear, penalty=penalty, tolerance=tolerance, longest=longest)[0]
    residuals = expit(X @ found) - Y
    for column in range(3):
        exact = sum(
            Fraction(a) * Fraction(b)
            for a, b in zip(residuals.tolist(), X[:, column].tolist(), strict=True)
        )
        exact += Fraction(penalty) * Fraction(found[column]) + Fraction(linear[0, column])
        assert abs(exact) <= tolerance * 1.001


@pytest.mark.parametrize("given", [
    {"delta": 0.0}, {"C": 100.0}, {"epsilon": 1e-9, "C": 1e-10},
])  # fmt: skip
def test_what_no_noise_keeps_is_refused_before_it_is_booked(given, notes):
    ledger = notes()
    with pytest.raises(BudgetError):
        _model(ledger=ledger, **given).fit(X, Y)
    assert not ledger.booked


@pytest.mark.slow
def test_the_hint_of_a_large_c_leads_to_one_that_fits():
    with pytest.raises(BudgetError, match="C = 100") as caught:
        _model(C=100.0).fit(X, Y)
    most = float(str(caught.value).split("Choose C below ")[1].split(",")[0])
    assert most == pytest.approx(4 * math.expm1(1.0) / 5, rel=0.02)
    _model(C=most / 4).fit(X, Y)


def test_the_perturbation_is_one_of_two():
    with pytest.raises(ParameterError, match="perturbation"):
        _model().set_params(perturbation="input").fit(X, Y)
