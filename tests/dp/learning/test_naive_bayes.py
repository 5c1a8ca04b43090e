"""Naive Bayes: noisy sums lead to scikit-learn's models; one row adds no more than stated."""

from __future__ import annotations

import math
import traceback
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.naive_bayes import GaussianNB, MultinomialNB

from halfmask import BudgetError, DataError, ParameterError, SchemaError
from halfmask.dp.accounting import epsilon_of
from halfmask.dp.learning import PrivateGaussianNB, PrivateMultinomialNB, PrivateSGDRegressor
from halfmask.dp.learning._naive_bayes import NoisyClassSums

RNG = np.random.default_rng(2)
X = RNG.normal(size=(900, 3)) + np.repeat([[0.0], [1.0], [2.0]], 300, axis=0)
Y = np.repeat(["a", "b", "c"], 300)
COUNTS = RNG.poisson(np.repeat([[2, 1, 0.2], [0.2, 1, 2]], 400, axis=0)).astype(float)


def _gaussian(**settings):
    usual = {"epsilon": 1.0, "delta": 0.0, "bounds": (-4.0, 6.0), "classes": ["a", "b", "c"]}
    return PrivateGaussianNB(**{**usual, **settings})


def _multinomial(**settings):
    usual = {"epsilon": 1.0, "delta": 0.0, "row_sum": 50.0, "classes": [0, 1]}
    return PrivateMultinomialNB(**{**usual, **settings})


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_they_keep_scikit_learns_contract(delta, failed_checks, declaring):
    gaussian = declaring(PrivateGaussianNB)(
        epsilon=20.0, delta=delta, bounds=(-10.0, 10.0), classes=[0, 1]
    )
    assert failed_checks(gaussian) == {}
    multinomial = declaring(PrivateMultinomialNB)(
        epsilon=20.0, delta=delta, row_sum=10.0, classes=[0, 1]
    )
    assert failed_checks(multinomial) == {}


def test_with_little_noise_they_are_scikit_learns():
    ours, plain = _gaussian(epsilon=1e4).fit(X, Y), GaussianNB().fit(X, Y)
    assert ours.theta_ == pytest.approx(plain.theta_, abs=0.01)
    assert ours.var_ == pytest.approx(plain.var_, rel=0.05)
    assert ours.predict_proba(X) == pytest.approx(plain.predict_proba(X), abs=0.05)

    labels = np.repeat([0, 1], 400)
    rows = COUNTS / COUNTS.max()
    many = _multinomial(epsilon=1e4).fit(rows, labels)
    other = MultinomialNB().fit(rows, labels)
    assert many.feature_log_prob_ == pytest.approx(other.feature_log_prob_, abs=0.01)


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_they_learn_within_their_budget(delta, notes):
    ledger = notes()
    model = _gaussian(delta=delta, ledger=ledger, epsilon=3.0).fit(X, Y)
    assert model.score(X, Y) > 0.42
    assert model.spent_epsilon_ == epsilon_of(model.events_, delta=delta) <= 3.0
    assert ledger.booked[0][0] == model.events_
    with pytest.raises(BudgetError):
        _gaussian(ledger=notes(times=0)).fit(X, Y)


def _norms(model, rows, labels, monkeypatch):
    """Return the norms of what each row adds, and what was stated of them."""
    seen: dict[str, Any] = {}

    def record(self, added, _codes, columns):
        size, l1, l2 = self._norms(columns)
        assert size == added.shape[1]
        seen.update(added=added, l1=l1, l2=l2)
        return np.ones((2, size))

    monkeypatch.setattr(NoisyClassSums, "_noisy_sums", record)
    model.fit(rows, labels)
    added = seen["added"]
    return np.abs(added).sum(axis=1), np.linalg.norm(added, axis=1), seen["l1"], seen["l2"]


@pytest.mark.slow
@given(rows=arrays(np.float64, (4, 3), elements=st.floats(-1e300, 1e300)))
def test_no_row_adds_more_than_stated(rows):
    with pytest.MonkeyPatch.context() as patch:
        model = _gaussian(classes=[0, 1])
        l1s, l2s, l1, l2 = _norms(model, rows, [0, 1, 0, 1], patch)
        assert (l1s <= l1).all()
        assert (l2s <= l2).all()
        assert l1 == 7.0
        for row_sum in (0.5, 2.0, 10.0):
            l1s, l2s, l1, l2 = _norms(
                _multinomial(row_sum=row_sum), np.abs(rows), [0, 1, 0, 1], patch
            )
            assert (l1s <= l1).all()
            assert (l2s <= l2 * (1 + 1e-12)).all()


def test_the_stated_norms_are_reached():
    """So a sensitivity that is off by one would be too small."""
    with pytest.MonkeyPatch.context() as patch:
        l1s, _, l1, _ = _norms(_gaussian(classes=[0, 1]), np.full((2, 3), 6.0), [0, 1], patch)
        assert l1s.max() == l1
        model = _multinomial(row_sum=3.0)
        l1s, l2s, l1, l2 = _norms(model, np.ones((2, 3)), [0, 1], patch)
        assert l1s.max() == pytest.approx(l1)
        assert l2s.max() == pytest.approx(l2)


@pytest.mark.parametrize("bounds", [(1.0, 0.0), ([0, 0], [1, 1]), (0.0, math.inf), 3, "ab"])
def test_bounds_are_declared(bounds):
    with pytest.raises(ParameterError, match="bounds"):
        _gaussian(bounds=bounds).fit(X, Y)


def test_counts_are_not_negative():
    with pytest.raises(DataError, match="Negative"):
        _multinomial().fit(-COUNTS - 1, np.repeat([0, 1], 400))


@pytest.mark.parametrize(
    "estimator",
    [
        _gaussian(),
        _multinomial(classes=["a", "b", "c"]),
        PrivateSGDRegressor(epsilon=1.0, delta=1e-5, target_bounds=(0.0, 1.0), clip_norm=1.0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.parametrize("make", [np.asarray, pl.DataFrame], ids=["array", "frame"])
def test_a_text_among_the_numbers_is_not_quoted(estimator, make):
    """The conversion's own error says which text it is."""
    rows = make([["1.5", "canary"], ["2", "3"]] * 450)

    with pytest.raises(SchemaError, match="cells that are no numbers") as caught:
        estimator.fit(rows, Y if "classes" in estimator.get_params() else np.zeros(900))
    assert "canary" not in "".join(traceback.format_exception(caught.value))
