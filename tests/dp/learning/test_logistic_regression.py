"""Output perturbation: the sensitivity is that of the proof, and refuted where it isn't."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from halfmask import BudgetError, DivergenceError, ParameterError, SchemaError
from halfmask.dp.accounting import epsilon_of
from halfmask.dp.audit import audit_neighbours
from halfmask.dp.learning import PrivateLogisticRegression, _logistic_minimum
from halfmask.dp.learning._logistic_minimum import logistic_minimum

RNG = np.random.default_rng(5)
X = RNG.normal(size=(400, 3))
Y = (X @ [2.0, -1.0, 0.0] + RNG.logistic(size=400) > 0).astype(int)


def _model(**settings):
    usual = {"epsilon": 1.0, "delta": 1e-5, "row_norm": 2.0, "classes": [0, 1], "C": 0.1}
    return PrivateLogisticRegression(**{**usual, **settings})


def _close(**settings):
    return _model(epsilon=1e7, delta=0.0, **settings)


def _minimum(rows, codes, outputs, *, penalty, limit):
    """Return the minimum as near as output perturbation needs it."""
    return logistic_minimum(
        rows,
        codes,
        np.zeros((outputs, rows.shape[1])),
        penalty=penalty,
        tolerance=1e-4 * limit,
        longest=1.0,
    )


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_it_keeps_scikit_learns_contract(delta, failed_checks, declaring):
    model = declaring(PrivateLogisticRegression)(
        epsilon=20.0, delta=delta, row_norm=100.0, classes=[0, 1]
    )
    assert failed_checks(model) == {}


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_without_noise_it_is_scikit_learns(C):
    """Rows within the norm, no intercept: both minimise the same loss."""
    plain = LogisticRegression(C=C, fit_intercept=False, tol=1e-8).fit(X, Y)
    ours = _close(C=C, row_norm=100.0, fit_intercept=False).fit(X, Y)

    assert ours.coef_ == pytest.approx(plain.coef_, abs=0.02)
    assert ours.predict_proba(X[:5]) == pytest.approx(plain.predict_proba(X[:5]), abs=0.02)


def test_several_classes_are_multinomial():
    labels = np.array(["a", "b", "c"])[np.argmax(X, axis=1)]
    plain = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-8).fit(X, labels)
    ours = _close(C=1.0, row_norm=100.0, fit_intercept=False, classes=["c", "a", "b"]).fit(
        X, labels
    )

    assert ours.coef_ == pytest.approx(plain.coef_, abs=0.03)
    assert ours.decision_function(X).shape == (400, 3)
    assert (ours.predict(X) == labels).mean() > 0.9


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_no_row_moves_the_minimum_by_more_than_the_sensitivity(classes, seed):
    rng = np.random.default_rng(seed)
    rows, codes = rng.normal(size=(6, 3)), rng.integers(0, classes, 6)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    outputs, limit = (1, 1.0) if classes == 2 else (3, math.sqrt(2))

    def minimum(kept):
        return _minimum(rows[:kept], codes[:kept], outputs, penalty=0.5, limit=limit)

    moved = np.linalg.norm(minimum(6) - minimum(5))
    assert moved <= 2.0 * limit * (1 + 2e-4)


def test_the_sensitivity_is_nearly_reached():
    """A row on the wrong side of many: two fifths of the stated sensitivity would be too little."""
    rows = np.array([[1.0]] * 2 + [[-1.0]])
    with_it = _minimum(rows, np.array([1, 1, 1]), 1, penalty=10.0, limit=1.0)
    without = _minimum(rows[:2], np.array([1, 1]), 1, penalty=10.0, limit=1.0)

    assert 0.045 < np.abs(with_it - without).max() <= 0.1 * (1 + 2e-4)


@pytest.mark.parametrize(("share", "refuted"), [(1.0, False), (0.3, True)])
def test_an_audit_refutes_a_third_of_the_noise_and_not_ours(share, refuted):
    """One row against an empty side; the minimum is exact, so only noise differs between runs."""
    rows = np.array([[1.0]] * 2 + [[-1.0]])
    mechanism = _model(epsilon=2.0, delta=0.0, row_norm=1.0, fit_intercept=False)
    mechanism.fit(rows, [1, 1, 1])
    noise = mechanism.mechanism_
    used = type(noise)(sensitivity=noise.sensitivity, scale=noise.scale * share)
    tables = [
        float(_minimum(rows[:n], np.ones(n, int), 1, penalty=10.0, limit=1.0)[0, 0]) for n in (3, 2)
    ]
    found = audit_neighbours(
        lambda n: used.release([tables[0]] * n),
        lambda n: used.release([tables[1]] * n),
        delta=0.0,
        runs=16_000,
        confidence=0.9999,
    )
    assert found.refutes(2.0) is refuted


def test_long_rows_are_scaled_down_and_nothing_of_one_row_is_larger():
    far = np.vstack([X, [[1e200, 0, 0]]])
    model = _close(row_norm=1.0).fit(far, [*Y, 0])
    near = _close(row_norm=1.0).fit(np.vstack([X, [[1.0, 0, 0]]]), [*Y, 0])

    assert model.coef_ == pytest.approx(near.coef_, abs=0.01)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_what_it_cost_is_within_the_budget_and_booked(delta, notes):
    ledger = notes()
    model = _model(delta=delta, ledger=ledger).fit(X, Y)

    assert model.spent_epsilon_ == epsilon_of(model.events_, delta=delta) <= 1.0
    assert ledger.booked == [(model.events_, "training of PrivateLogisticRegression")]
    assert clone(model).ledger is ledger


def test_a_spent_ledger_stops_the_training(notes):
    model = _model(ledger=notes(times=0))
    with pytest.raises(BudgetError):
        model.fit(X, Y)
    assert not hasattr(model, "coef_")


def test_a_solver_that_ends_too_early_leaves_no_model(monkeypatch):
    monkeypatch.setattr(_logistic_minimum, "cg", lambda _a, b, **_: (np.zeros_like(b), 1))
    model = _model()
    with pytest.raises(DivergenceError, match="minimum"):
        model.fit(X, Y)
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        *itertools.product(["epsilon", "row_norm"], [0, -1.0, math.inf, math.nan, None]),
        *itertools.product(["C"], [0, -1.0, math.inf, math.nan, "1"]),  # None is the default
    ],
)
def test_parameters_outside_of_their_ranges_are_refused(name, wrong):
    with pytest.raises(ParameterError, match=name):
        _model(**{name: wrong}).fit(X, Y)


@pytest.mark.parametrize("classes", [[], [1], [0, 0, 1], "01", [[0, 1]]])
def test_classes_are_declared(classes):
    with pytest.raises(ParameterError, match="classes"):
        _model(classes=classes).fit(X, Y)


def test_a_label_that_is_not_declared_is_refused_without_its_value():
    with pytest.raises(SchemaError, match="1 rows") as caught:
        _model().fit(X, [*Y[:-1], 77])
    assert "77" not in str(caught.value)


def test_a_missing_label_is_refused_by_its_own_name():
    """scikit-learn takes it for a regression target."""
    with pytest.raises(SchemaError, match="labels of 1 rows"):
        _model(classes=["no", "yes"]).fit(X, ["no", None, *["yes"] * (len(X) - 2)])
