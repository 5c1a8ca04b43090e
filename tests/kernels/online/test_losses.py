"""Losses of online learning: their slopes, and the steps of importance weights."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from halfmask.kernels.online.losses import (
    HINGE,
    LOGISTIC,
    QUANTILE,
    SQUARED,
    invariant_step,
    loss_of,
    pull,
)

LOSSES = [LOGISTIC, HINGE, SQUARED, QUANTILE]
TAU = 0.3
margins = st.floats(-20, 20)
labels = st.sampled_from([0.0, 1.0])
reaches = st.floats(1e-3, 50)


def kink(loss, label):
    """Where the loss has two slopes."""
    return {HINGE: 2 * label - 1, QUANTILE: label}.get(loss, math.inf)


@pytest.mark.parametrize("loss", LOSSES)
@given(margin=margins, label=labels)
def test_the_pull_is_minus_the_losses_slope(loss, margin, label):
    """As finite differences have it."""
    assume(abs(margin - kink(loss, label)) > 1e-3)
    near = 1e-5
    above, below = (loss_of(loss, margin + side, label, TAU) for side in (near, -near))

    assert pull(loss, margin, label, TAU) == pytest.approx(
        -(above - below) / (2 * near), rel=1e-4, abs=1e-5
    )


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
@given(margin=st.floats(-4, 4), label=labels, weight=st.floats(0.1, 5), reach=st.floats(0.05, 2))
def test_a_step_is_the_limit_of_many_small_ones(loss, margin, label, weight, reach):
    """Ten thousand plain steps of a share of the weight come to the same."""
    steps, along = 10_000, margin
    for _ in range(steps):
        along += weight / steps * pull(loss, along, label, TAU) * reach
    step = invariant_step(loss, margin, label, TAU, weight, reach)

    assert margin + step * reach == pytest.approx(along, abs=5e-3)


@pytest.mark.parametrize("loss", LOSSES)
@given(margin=margins, label=labels, one=st.floats(0.01, 9), two=st.floats(0.01, 9), reach=reaches)
def test_two_weights_one_after_another_are_their_sum(loss, margin, label, one, two, reach):
    """A row of weight h is h rows of weight one."""
    whole = invariant_step(loss, margin, label, TAU, one + two, reach)
    first = invariant_step(loss, margin, label, TAU, one, reach)
    second = invariant_step(loss, margin + first * reach, label, TAU, two, reach)

    assert first + second == pytest.approx(whole, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("loss", [HINGE, SQUARED, QUANTILE])
@given(margin=margins, label=labels, weight=st.floats(0, 1e6), reach=reaches)
def test_no_step_goes_beyond_its_aim(loss, margin, label, weight, reach):
    """However much a row counts."""
    aim = 2 * label - 1 if loss == HINGE else label
    after = margin + invariant_step(loss, margin, label, TAU, weight, reach) * reach

    assert min(margin, aim) - 1e-6 <= after <= max(margin, aim) + 1e-6


@given(margin=st.floats(-60, 60), label=labels, distance=st.floats(1e-9, 1e5))
def test_the_logistic_step_solves_its_equation(margin, label, distance):
    """The margin ends where ``q + exp(q)`` has grown by the distance."""
    sign = 2 * label - 1
    start = sign * margin
    far = sign * invariant_step(LOGISTIC, margin, label, TAU, distance, 1.0)

    assert far >= 0
    grown = math.exp(start) * math.expm1(far) if start < 40 else distance
    assert far + grown == pytest.approx(distance, rel=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_losses_are_never_negative_nor_infinite(loss):
    """Also far from the label."""
    for margin in np.linspace(-1e4, 1e4, 101):
        cost = loss_of(loss, margin, 1.0, TAU)
        assert 0 <= cost < math.inf
