"""The floating-point attack (Mironov 2012): it reads the input from naive noise, not from ours."""

from __future__ import annotations

import numpy as np
import pytest

from halfmask.dp.noise import LaplaceMechanism

SCALE = 1.0
INPUTS = (0.0, 0.1)
DRAWS = 4000


def _naive(value, n, rng):
    """Laplace noise as textbooks and many libraries draw it: a logarithm of a uniform float."""
    noise = -SCALE * np.log(1 - rng.random(n))
    return value + np.where(rng.random(n) < 0.5, noise, -noise)


def _ours(value, n, _rng):
    return LaplaceMechanism(sensitivity=0.1, scale=SCALE).release(np.full(n, value))


def _reachable(outputs, value):
    """Whether some uniform float leads from a value to an output, bit by bit."""
    nearest = np.rint(np.exp(-np.abs(outputs - value) / SCALE) * 2.0**53)
    found = np.zeros(outputs.shape, dtype=bool)
    for uniform in (nearest + step for step in range(-8, 9)):
        noise = -SCALE * np.log(np.clip(uniform, 1, None) * 2.0**-53)
        found |= (value + noise == outputs) | (value - noise == outputs)
    return found


@pytest.mark.parametrize(("mechanism", "is_read"), [(_naive, True), (_ours, False)])
def test_inputs_are_read_from_naive_noise_alone(mechanism, is_read):
    """A guess is the input from which alone the output can come, else a coin."""
    rng = np.random.default_rng(3)
    right = []
    for truth, value in enumerate(INPUTS):
        outputs = mechanism(value, DRAWS, rng)
        from_first, from_second = (_reachable(outputs, each) for each in INPUTS)
        coin = rng.random(DRAWS) < 0.5
        guess = np.where(from_first == from_second, coin, from_second)
        right.append(guess == truth)
    accuracy = np.concatenate(right).mean()
    if is_read:
        assert accuracy > 0.8
    else:  # epsilon is 0.1: at most 0.525
        assert accuracy < 0.56
