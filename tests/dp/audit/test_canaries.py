"""Guesses about planted rows: against a simulation of randomized response."""

from __future__ import annotations

import math

import numpy as np
import pytest

from halfmask import ParameterError
from halfmask.dp.audit import audit_canaries


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_randomized_response_is_refuted_only_below_its_epsilon(epsilon):
    """Each guess is right with e^epsilon / (1 + e^epsilon), the most that epsilon allows."""
    draws = np.random.default_rng(1).random((200, 500)) < 1 / (1 + math.exp(-epsilon))
    low = [
        audit_canaries(
            canaries=500, guesses=500, correct=int(right), delta=0.0, confidence=0.95
        ).low
        for right in draws.sum(axis=1)
    ]
    assert np.mean(np.array(low) > epsilon) <= 0.09
    assert np.mean(low) > 0.6 * epsilon


def test_a_larger_delta_lowers_the_bound():
    bounds = [
        audit_canaries(canaries=200, guesses=200, correct=180, delta=d, confidence=0.95).low
        for d in (0.0, 1e-4, 1e-2)
    ]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] > bounds[2]


def test_guesses_at_chance_refute_nothing():
    found = audit_canaries(canaries=100, guesses=100, correct=50, delta=0.0, confidence=0.95)
    assert found.low == 0.0


@pytest.mark.parametrize("given", [{"correct": 11}, {"guesses": 21}, {"delta": -1.0}])
def test_counts_that_cannot_be_are_refused(given):
    asked = {"canaries": 20, "guesses": 10, "correct": 5, "delta": 0.0, "confidence": 0.9}
    with pytest.raises(ParameterError):
        audit_canaries(**{**asked, **given})
