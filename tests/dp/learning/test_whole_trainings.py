"""Audits of whole trainings: no fit of ours is refuted, weakened ones are.

A training on many columns, leaves or classes that share no row is many runs at once: each has a
canary of its own, and noise of its own.
"""

from __future__ import annotations

import numpy as np
import pytest

from halfmask.dp.audit import audit_neighbours
from halfmask.dp.learning import PrivateLogisticRegression, _logistic_regression
from halfmask.dp.learning._objective_noise import ObjectiveNoise
from halfmask.dp.noise import GaussianMechanism

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
