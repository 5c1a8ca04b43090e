"""Objective perturbation: its loss bounds what exact densities, and sampled minima, show."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit, softmax
from scipy.stats import norm

from halfmask import ParameterError
from halfmask.dp.accounting import (
    EpsilonDeltaEvent,
    GaussianEvent,
    LaplaceEvent,
    ObjectivePerturbationEvent,
    adaptive_epsilon_of,
    calibrate,
    epsilon_of,
    event_from_json,
)
from halfmask.dp.accounting._objective_loss import loss_tail, objective_renyi

SETTINGS = [(0.7, 0.3), (0.7, 3.0), (0.7, 30.0), (2.0, 1.0), (0.2, 10.0)]


def _event(noise=1.0, curvature=1.0, classes=2):
    return ObjectivePerturbationEvent(
        noise_multiplier=noise, curvature=curvature, classes=classes, coordinates=1
    )


def _worst_delta(noise, curvature, epsilon):
    """Return delta between no row and one row of norm 1, by integrals of both exact densities."""
    penalty = 1 / curvature
    at = np.linspace(-1, 1, 400_001) * (12 * noise + 2) * curvature
    likely = expit(at)
    without = norm.pdf(penalty * at, scale=noise) * penalty
    with_row = norm.pdf(penalty * at + likely - 1, scale=noise) * (penalty + likely * (1 - likely))
    lost = [
        np.maximum(one - math.exp(epsilon) * other, 0).sum() * (at[1] - at[0])
        for one, other in ((without, with_row), (with_row, without))
    ]
    return max(lost)


@pytest.mark.parametrize(("noise", "curvature"), SETTINGS)
def test_exact_densities_stay_within_the_bound(noise, curvature):
    for delta in (1e-3, 0.05):
        epsilon = epsilon_of([_event(noise, curvature)], delta=delta)
        assert _worst_delta(noise, curvature, epsilon) <= delta


def test_the_bound_is_nearly_reached_and_less_noise_exceeds_it():
    """So an accounting for three quarters of the true sensitivity would be refuted."""
    epsilon = epsilon_of([_event(0.66, 3.0)], delta=0.05)
    assert _worst_delta(0.66, 3.0, 0.8 * epsilon) > 0.05
    assert _worst_delta(0.66 * 0.75, 3.0, epsilon) > 0.05


@pytest.mark.parametrize(("noise", "curvature"), SETTINGS)
def test_the_tail_is_that_of_the_worst_residual(noise, curvature):
    """The loss is at most a function of one normal variable and a residual from 0 to 1."""
    normal = np.linspace(-9, 9, 2001)
    t = np.linspace(0, 1, 1001)[:, None]
    loss = (np.log1p(t * (1 - t) * curvature) + (t / noise) ** 2 / 2 + t / noise * normal).max(
        axis=0
    )
    assert (np.diff(loss) >= 0).all()
    above = loss > 0
    tail = loss_tail(_event(noise, curvature), loss[above])
    assert (norm.sf(normal[above]) <= tail + 1e-6).all()
    # From where the residual is 1 the tail is exact.
    exact = loss[above] >= max(curvature, 0.1)
    assert tail[exact] == pytest.approx(norm.sf(normal[above][exact]), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("share", [1.0, 0.6])
def test_sampled_minima_of_several_classes_stay_within_the_bound(share):
    """Without rows the minimum is minus the noise; the density with a row follows from it."""
    classes, penalty, epsilon = 3, 0.5, 3.0
    noise = calibrate(lambda n: [_event(n, 1 / penalty, classes)], epsilon=epsilon, delta=0.02)
    scale = noise * math.sqrt(2) * share
    linear = np.random.default_rng(0).normal(scale=scale, size=(400_000, classes))
    likely = softmax(-linear / penalty, axis=1)
    other = linear - likely
    other[:, 0] += 1
    determinant = np.linalg.det(
        np.eye(classes)
        + (likely[:, :, None] * np.eye(classes) - likely[:, :, None] * likely[:, None]) / penalty
    )
    loss = ((other**2).sum(axis=1) - (linear**2).sum(axis=1)) / (2 * scale**2) - np.log(determinant)
    added = np.maximum(1 - np.exp(epsilon - loss), 0).mean()
    removed = np.maximum(np.exp(-loss) - math.exp(epsilon), 0).mean()
    assert bool(max(added, removed) <= 0.02) is (share == 1.0)


def test_a_small_curvature_costs_what_gaussian_noise_costs():
    for curvature in (0.01, 1.0):
        epsilon = epsilon_of([_event(4.0, curvature)], delta=1e-5)
        plain = epsilon_of([GaussianEvent(noise_multiplier=4.0, coordinates=1)], delta=1e-5)
        assert plain <= epsilon * 1.0001
        assert epsilon <= max(plain * 1.01, curvature)
    # A large one costs at least the determinant.
    assert epsilon_of([_event(1e4, 50.0)], delta=1e-5) >= math.log1p(50 / 4)


def test_it_composes_with_other_events():
    one = epsilon_of([_event(8.0)], delta=1e-6)
    many = epsilon_of([_event(8.0)] * 4, delta=1e-6)
    assert one < many < 3 * one
    others = [LaplaceEvent(noise_multiplier=10.0, coordinates=1)]
    assert many < epsilon_of([_event(8.0)] * 4 + others, delta=1e-6) < many + 0.11
    paid = [_event(8.0), EpsilonDeltaEvent(epsilon=0.5, delta=5e-7)]
    assert one < epsilon_of(paid, delta=1e-6) < one + 0.6
    assert epsilon_of([_event()], delta=0.0) == math.inf


@pytest.mark.parametrize("order", [1.5, 2, 5])
@pytest.mark.parametrize(("noise", "curvature"), SETTINGS)
@pytest.mark.parametrize("classes", [2, 4])
def test_renyi_differential_privacy_is_the_integral_of_the_tail(order, noise, curvature, classes):
    event, a = _event(noise, curvature, classes), order - 1
    highest = event.determinant_loss + 0.5 / noise**2 + (10 + a / noise) / noise
    at = np.linspace(0, highest, 200_001)
    with np.errstate(divide="ignore"):
        logs = np.log(loss_tail(event, at)) + a * at + math.log(a * at[1])
    integral = np.logaddexp(0.0, np.logaddexp.reduce(logs)) / a

    found = objective_renyi(event, order)
    assert integral * (1 - 1e-3) - 1e-6 <= found
    # The tail is the least of two bounds, and each has a figure of its own.
    assert found <= integral * 1.05 + 1.2 * math.log(2 * classes) / a + 1e-3


@pytest.mark.mostly_slow
@pytest.mark.parametrize("order", [2, 9, 129, 513])
@pytest.mark.parametrize(("noise", "curvature"), [*SETTINGS, (4.0, 10.0), (4.0, 0.5)])
def test_renyi_differential_privacy_bounds_the_worst_residual(order, noise, curvature):
    """By an integral over the normal variable, in logarithms, however rare the worst is."""
    a = order - 1
    normal = np.linspace(-12, 12 + a / noise, 20_001)
    t = np.linspace(0, 1, 301)[:, None]
    with_noise = (t / noise) ** 2 / 2 + t / noise * normal
    cells = norm.logpdf(normal) + math.log(normal[1] - normal[0])
    exact, flat = (
        np.logaddexp.reduce(a * (each + with_noise).max(axis=0) + cells) / a
        for each in (np.log1p(t * (1 - t) * curvature), t * (1 - t) * curvature)
    )
    found = objective_renyi(_event(noise, curvature), order)

    assert exact * (1 - 1e-3) <= found
    assert found <= min(flat, exact + math.log1p(curvature / 4)) * 1.02 + math.log(3) / a


@pytest.mark.parametrize("curvature", [0.5, 30.0])
def test_charges_that_depend_on_answers_compose(curvature):
    charge = [_event(8.0, curvature), GaussianEvent(noise_multiplier=80.0, coordinates=1)]
    one, many = (adaptive_epsilon_of([charge] * n, budget=10.0, delta=1e-5) for n in (1, 6))
    assert one < many < 6 * one
    plain = [GaussianEvent(noise_multiplier=8.0, coordinates=1)]
    assert adaptive_epsilon_of([plain] * 6, budget=10.0, delta=1e-5) < many


def test_it_is_written_and_read():
    assert event_from_json(_event().to_json()) == _event()


@pytest.mark.parametrize("given", [{"noise": 0.0}, {"curvature": -1.0}, {"classes": 1}])
def test_numbers_that_cannot_be_are_refused(given):
    with pytest.raises(ParameterError):
        _event(**given)
