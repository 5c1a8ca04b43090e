"""Audits of whole trainings: no fit of ours is refuted, weakened ones are.

A training on many columns, leaves or classes that share no row is many runs at once: each has a
canary of its own, and noise of its own.
"""

from __future__ import annotations

import numpy as np
import pytest

from halfmask.dp.audit import audit_canaries, audit_neighbours
from halfmask.dp.learning import (
    PrivateBoostingClassifier,
    PrivateGaussianNB,
    PrivateLogisticRegression,
    PrivateSGDClassifier,
    _boosting,
    _logistic_regression,
    _naive_bayes,
    _private_estimator,
    _sgd,
)
from halfmask.dp.learning._objective_noise import ObjectiveNoise
from halfmask.dp.noise import GaussianMechanism, LaplaceMechanism

pytestmark = pytest.mark.slow
#: Canaries of one training.
AT_ONCE = 500
#: Of each audit.
SURE = 1 - 1e-6


def _audited(statistics, *, delta, runs):
    """Audit trainings whose function of "with canaries?" returns a statistic for each canary."""

    def draw(with_canaries):
        def drawn(n):
            return np.concatenate([statistics(with_canaries) for _ in range(n // AT_ONCE)])

        return drawn

    return audit_neighbours(draw(True), draw(False), delta=delta, runs=runs, confidence=SURE)


def _with_a_sixth_of_the_noise(*, sensitivity, scale):
    return GaussianMechanism(sensitivity=sensitivity, scale=scale / 6)


def _with_a_third_of_the_noise(*, sensitivity, scale):
    return GaussianMechanism(sensitivity=sensitivity, scale=scale / 3)


class TestObjectivePerturbation:
    """The penalty is weak, and a row opposes each canary, so that their residuals are large."""

    @staticmethod
    def _low(norm=1.0):
        def coefficients(with_canaries):
            rows, labels = np.eye(AT_ONCE), np.zeros(AT_ONCE, dtype=int)
            if with_canaries:
                rows, labels = np.vstack([rows, rows * norm]), np.repeat([0, 1], AT_ONCE)
            model = PrivateLogisticRegression(
                epsilon=2.0, delta=0.05, row_norm=1.0, classes=[0, 1], C=4.0,
                fit_intercept=False, perturbation="objective",
            )  # fmt: skip
            return model.fit(rows, labels).coef_[0]

        return _audited(coefficients, delta=0.05, runs=12_000)

    def test_ours_is_not_refuted(self):
        assert 0.5 < self._low().low <= 2.0

    def test_half_of_the_noise_is_refuted(self, monkeypatch):
        def weak(noise):
            scale = noise.event.noise_multiplier * noise.lipschitz
            return GaussianMechanism(sensitivity=noise.lipschitz, scale=scale / 2)

        monkeypatch.setattr(ObjectiveNoise, "in_the_loss", property(weak))
        assert self._low().refutes(2.0)

    def test_rows_twice_as_long_as_declared_are_refuted(self, monkeypatch):
        monkeypatch.setattr(_logistic_regression, "within_norm", lambda rows, _norm: rows)
        assert self._low(norm=2.0).refutes(2.0)


class TestStochasticGradients:
    """Each canary has a column of its own; without them there are as many rows of zeros."""

    @staticmethod
    def _low(norm=1.0):
        def coefficients(with_canaries):
            rows = np.eye(AT_ONCE) * (norm if with_canaries else 0.0)
            model = PrivateSGDClassifier(
                epsilon=2.0, delta=0.05, classes=[0, 1], clip_norm=0.2, steps=20,
                learning_rate=0.02, fit_intercept=False,
            )  # fmt: skip
            return model.fit(rows, np.ones(AT_ONCE, dtype=int)).coef_[0]

        return _audited(coefficients, delta=0.05, runs=4000)

    def test_ours_is_not_refuted(self):
        assert self._low().low <= 2.0

    def test_a_sixth_of_the_noise_is_refuted(self, monkeypatch):
        monkeypatch.setattr(_sgd, "GaussianMechanism", _with_a_sixth_of_the_noise)
        assert self._low().refutes(2.0)

    def test_gradients_that_are_not_clipped_are_refuted(self, monkeypatch):
        def plain(residuals, units, lengths, *, clip_norm):  # noqa: ARG001 # as clipped_sum has it
            return (residuals * lengths[:, None]).T @ units * 2.0**-18

        assert self._low(norm=20.0).low <= 2.0
        monkeypatch.setattr(_sgd, "clipped_sum", plain)
        assert self._low(norm=20.0).refutes(2.0)


class TestBoosting:
    """Each bin is a leaf of its own, with a canary among forty rows of the other label."""

    @staticmethod
    def _low():
        def shapes(with_canaries):
            bins = np.repeat(np.arange(AT_ONCE), 40)
            labels = np.zeros(len(bins), dtype=int)
            if with_canaries:
                bins = np.append(bins, np.arange(AT_ONCE))
                labels = np.append(labels, np.ones(AT_ONCE, dtype=int))
            model = PrivateBoostingClassifier(
                epsilon=2.0, delta=0.05, bounds=(0.0, float(AT_ONCE)), classes=[0, 1],
                bins=AT_ONCE, leaves=AT_ONCE, rounds=10, learning_rate=10.0,
            )  # fmt: skip
            return model.fit(bins[:, None] + 0.5, labels).shapes_[0, :, 0]

        return _audited(shapes, delta=0.05, runs=4000)

    def test_ours_is_not_refuted(self):
        assert self._low().low <= 2.0

    def test_a_third_of_the_noise_is_refuted(self, monkeypatch):
        monkeypatch.setattr(_boosting, "GaussianMechanism", _with_a_third_of_the_noise)
        assert self._low().refutes(2.0)


class TestNaiveBayes:
    """Each class has a canary by a fair coin, and one training is enough: its sums are guessed."""

    CLASSES, OTHERS, GUESSES = 20_000, 12, 2500

    def _low(self, *, largest=1.0, confidence=SURE):
        inside = np.random.default_rng().random(self.CLASSES) < 0.5
        places = np.arange(self.CLASSES)
        rows = np.tile([0.7, -0.7], self.CLASSES * self.OTHERS // 2)
        rows = np.append(rows, np.full(inside.sum(), largest))
        labels = np.append(np.repeat(places, self.OTHERS), places[inside])
        model = PrivateGaussianNB(
            epsilon=2.0, delta=0.0, bounds=(-1.0, 1.0), classes=places.tolist()
        ).fit(rows[:, None], labels)  # fmt: skip

        counts = model.class_prior_ * self.CLASSES * (self.OTHERS + 0.5)
        means, squares = model.theta_[:, 0], model.var_[:, 0] + model.theta_[:, 0] ** 2
        sums = np.column_stack([counts, counts * means, counts * squares])
        without = self.OTHERS * np.array([1.0, 0.0, 0.49])
        likelier = (np.abs(sums - without) - np.abs(sums - without - 1)).sum(axis=1)
        surest = np.argsort(-np.abs(likelier))[: self.GUESSES]
        correct = int(((likelier > 0) == inside)[surest].sum())
        return audit_canaries(
            canaries=self.CLASSES, guesses=self.GUESSES, correct=correct, delta=0.0,
            confidence=confidence,
        )  # fmt: skip

    def test_ours_is_not_refuted(self):
        assert 1.0 < self._low().low <= 2.0

    def test_two_thirds_of_the_noise_are_refuted(self, monkeypatch):
        class Weak(LaplaceMechanism):
            @classmethod
            def calibrated(cls, *, sensitivity, epsilon):
                return LaplaceMechanism(sensitivity=1.0, scale=sensitivity / epsilon * 2 / 3)

        monkeypatch.setattr(_private_estimator, "LaplaceMechanism", Weak)
        monkeypatch.setattr(PrivateGaussianNB, "_spend", lambda _self, _events: None)
        assert self._low(confidence=0.999).refutes(2.0)

    def test_values_that_are_not_clipped_are_refuted(self, monkeypatch):
        monkeypatch.setattr(_naive_bayes, "scaled", lambda rows, _low, _high: rows)
        assert self._low(largest=30.0, confidence=0.999).refutes(2.0)
