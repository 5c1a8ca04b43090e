"""Epsilon of events: against closed forms and other libraries' numbers, and never below them."""

from __future__ import annotations

import math

import pytest
from scipy.optimize import brentq
from scipy.special import ndtr

from halfmask import BudgetError, ParameterError
from halfmask.dp.accounting import (
    EpsilonDeltaEvent,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    SampledGaussianEvent,
    calibrate,
    epsilon_of,
    event_from_json,
)

LAPLACE = LaplaceEvent(noise_multiplier=10.0, coordinates=1)
GAUSS = GaussianEvent(noise_multiplier=4.0, coordinates=3)
SAMPLED = SampledGaussianEvent(
    noise_multiplier=1.1, sampling_probability=0.01, steps=1000, coordinates=10
)


def _gaussian_epsilon(noise, delta, most=60):
    """Balle and Wang 2018, theorem 8, solved for epsilon."""

    def excess(epsilon):
        a, b = 1 / (2 * noise), epsilon * noise
        return ndtr(a - b) - math.exp(epsilon) * ndtr(-a - b) - delta

    return brentq(excess, 0, most)


@pytest.mark.parametrize("noise", [0.5, 1.0, 4.0, 30.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.01])
def test_one_gaussian_costs_what_the_exact_formula_gives(noise, delta):
    found = epsilon_of([GaussianEvent(noise_multiplier=noise, coordinates=1)], delta=delta)

    exact = _gaussian_epsilon(noise, delta)
    assert exact <= found <= exact * 1.01 + 1e-3


@pytest.mark.parametrize("coordinates", [1, 1000, 2**31])
@pytest.mark.parametrize("epsilon", [36.0, 40.0, 90.0])
def test_gaussian_noise_has_a_price_at_large_epsilons(coordinates, epsilon):
    def events(noise):
        return [GaussianEvent(noise_multiplier=noise, coordinates=coordinates)]

    noise = calibrate(events, epsilon=epsilon, delta=1e-5)
    assert 0.99 * epsilon <= _gaussian_epsilon(noise, 1e-5, most=150) <= epsilon


def test_gaussians_compose_to_one_with_less_noise():
    four = [GaussianEvent(noise_multiplier=4.0, coordinates=1)] * 4

    assert epsilon_of(four, delta=1e-6) == pytest.approx(_gaussian_epsilon(2.0, 1e-6), rel=0.01)


def test_pure_mechanisms_add_up_at_delta_zero():
    events = [LAPLACE, LAPLACE, ExponentialEvent(epsilon=0.3)]

    assert 0.5 <= epsilon_of(events, delta=0.0) <= 0.5 * (1 + 1e-8)


def test_many_pure_mechanisms_cost_less_than_their_sum_at_a_delta():
    assert epsilon_of([LAPLACE] * 100, delta=1e-6) < 6 < epsilon_of([LAPLACE] * 100, delta=0.0)


def test_choices_cost_less_than_other_pure_mechanisms():
    choices = epsilon_of([ExponentialEvent(epsilon=0.1)] * 400, delta=1e-6)

    # rho = 400 * 0.1**2 / 8 (Cesar and Rogers 2021), as (epsilon, delta) by Bun and Steinke 2016.
    assert choices <= 0.5 + 2 * math.sqrt(0.5 * math.log(1e6))


def test_gaussian_noise_has_no_epsilon_without_a_delta():
    assert epsilon_of([GAUSS], delta=0.0) == math.inf


def test_the_deltas_of_events_are_paid_first():
    event = EpsilonDeltaEvent(epsilon=0.1, delta=1e-6)

    assert epsilon_of([event] * 2, delta=1e-6) == math.inf
    assert epsilon_of([event] * 2, delta=2e-6) == pytest.approx(0.2)
    assert epsilon_of([event, GAUSS], delta=1e-6) == math.inf
    assert epsilon_of([event, GAUSS], delta=1e-5) > epsilon_of([GAUSS], delta=1e-5)


@pytest.mark.slow
def test_sampling_lowers_the_cost():
    whole = SampledGaussianEvent(
        noise_multiplier=4.0, sampling_probability=1.0, steps=1, coordinates=3
    )
    assert epsilon_of([whole], delta=1e-5) == pytest.approx(
        epsilon_of([GAUSS], delta=1e-5), rel=1e-3
    )
    # dp-accounting's own PLD figure for DP-SGD with these numbers, its test data aside: 1.5.
    assert epsilon_of([SAMPLED], delta=1e-5) == pytest.approx(1.515, abs=0.01)


def test_no_event_costs_nothing():
    assert epsilon_of([], delta=0.0) == 0.0


def test_so_many_coordinates_that_the_grid_counts_have_no_epsilon():
    """Noise on a grid differs from continuous noise; what differs too much isn't accounted."""
    wide = GaussianEvent(noise_multiplier=4.0, coordinates=10**19)

    assert epsilon_of([wide], delta=1e-5) == math.inf


@pytest.mark.parametrize("event", [LAPLACE, GAUSS, SAMPLED, ExponentialEvent(epsilon=1.0),
                                   EpsilonDeltaEvent(epsilon=1.0, delta=0.0)])  # fmt: skip
def test_events_come_back_from_json(event):
    assert event_from_json(event.to_json()) == event


@pytest.mark.parametrize("written", [
    {}, {"mechanism": "none"}, {"mechanism": "exponential"},
    {"mechanism": "exponential", "epsilon": 1.0, "more": 1},
    {"mechanism": "exponential", "epsilon": "1"}, {"mechanism": "exponential", "epsilon": 0.0},
    {"mechanism": "laplace", "noise_multiplier": math.inf, "coordinates": 1},
    {"mechanism": "gaussian", "noise_multiplier": math.nan, "coordinates": 1},
    {"mechanism": "gaussian", "noise_multiplier": 1.0, "coordinates": 0},
])  # fmt: skip
def test_events_that_cannot_be_are_refused(written):
    with pytest.raises(ParameterError):
        event_from_json(written)


@pytest.mark.parametrize("delta", [-1e-9, 1.0, math.nan, math.inf])
def test_a_delta_outside_of_its_range_is_refused(delta):
    with pytest.raises(ParameterError, match="delta"):
        epsilon_of([GAUSS], delta=delta)


def _one(noise):
    return [GaussianEvent(noise_multiplier=noise, coordinates=1)]


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 8.0])
def test_calibrated_noise_is_enough_and_hardly_more(epsilon):
    noise = calibrate(_one, epsilon=epsilon, delta=1e-6)

    assert epsilon_of(_one(noise), delta=1e-6) <= epsilon
    assert _gaussian_epsilon(noise * 0.98, 1e-6) > epsilon


def test_a_budget_that_no_noise_fits_is_refused():
    with pytest.raises(BudgetError, match="delta 0"):
        calibrate(_one, epsilon=1.0, delta=0.0)


@pytest.mark.parametrize("epsilon", [0, -1, math.inf, math.nan])
def test_a_budget_of_nothing_or_without_end_is_refused(epsilon):
    with pytest.raises(ParameterError, match="epsilon"):
        calibrate(_one, epsilon=epsilon, delta=1e-6)
