"""Noise on vectors: its law, its grid, and what isn't accepted."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy.stats import kstest

from halfmask import DataError, ParameterError
from halfmask.dp.accounting import SampledGaussianEvent, epsilon_of
from halfmask.dp.accounting._events import (
    SAMPLED_BEYOND,
    SAMPLED_DISTANCE,
    SAMPLED_RATIOS,
    SAMPLED_RENYI,
)
from halfmask.dp.noise import FixedPoint, GaussianMechanism, LaplaceMechanism, choose

BOTH = [LaplaceMechanism, GaussianMechanism]


@pytest.mark.parametrize(
    ("kind", "law"), [(LaplaceMechanism, "laplace"), (GaussianMechanism, "norm")]
)
@pytest.mark.parametrize("scale", [1e-6, 0.7, 3e9])
def test_noise_has_the_stated_law(kind, law, scale):
    noisy = kind(sensitivity=scale, scale=scale).release(np.full(10_000, scale)) - scale

    assert kstest(noisy / scale, law).pvalue > 1e-9
    # Power: two thirds of the noise are 11 standard errors away.
    assert kstest(noisy / scale * 1.5, law).pvalue < 1e-9


@pytest.mark.parametrize("kind", BOTH)
def test_margins_hold_as_often_as_stated(kind):
    mechanism = kind(sensitivity=1.0, scale=2.0)
    inside = np.abs(mechanism.release(np.zeros(4000))) <= mechanism.margin(0.9)

    # 6.3 standard errors.
    assert inside.mean() == pytest.approx(0.9, abs=0.03)


@pytest.mark.parametrize("kind", BOTH)
def test_all_outputs_lie_on_one_grid_that_the_data_does_not_choose(kind):
    mechanism = kind(sensitivity=1.0, scale=1.0)
    step = 2.0**-40
    for value in (0.0, 1.0, 1 / 3, 12345.678):
        assert (np.fmod(mechanism.release([value] * 50), step) == 0).all()


@pytest.mark.parametrize("kind", BOTH)
def test_large_numbers_keep_their_noise(kind):
    mechanism = kind(sensitivity=1.0, scale=1.0)
    noisy = mechanism.release(np.array([2**62 + 1, -(2**62)]))
    assert np.abs(noisy / 2.0**62 - [1, -1]).max() < 1e-15
    noisy = mechanism.release([1e12] * 100) - 1e12
    assert 0.3 < noisy.std() < 3


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("wrong", [0, -1.0, math.inf, math.nan, None, True])
def test_no_scale_and_no_sensitivity_outside_of_their_range(kind, wrong):
    with pytest.raises(ParameterError, match="scale"):
        kind(sensitivity=1.0, scale=wrong)
    with pytest.raises(ParameterError, match="sensitivity"):
        kind(sensitivity=wrong, scale=1.0)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("wrong", [[math.nan], [1.0, math.inf], ["7"], [None]])
def test_only_finite_numbers_get_noise(kind, wrong):
    with pytest.raises(DataError) as caught:
        kind(sensitivity=1.0, scale=1.0).release(wrong)
    assert "7" not in str(caught.value)


@pytest.mark.parametrize("kind", BOTH)
def test_shapes_are_kept(kind):
    mechanism = kind(sensitivity=1.0, scale=1.0)
    assert mechanism.release(np.zeros((3, 2))).shape == (3, 2)
    assert mechanism.release([]).shape == (0,)


def test_rounding_to_the_grid_raises_the_scale():
    """A vector of many entries moves by one step more in each."""
    mechanism = LaplaceMechanism(sensitivity=2.0**-30, scale=1.0)
    assert mechanism._raised(1000) >= 1 + 1000 * 2.0**-40 / 2.0**-30
    gaussian = GaussianMechanism(sensitivity=2.0**-30, scale=1.0)
    assert gaussian._raised(10000) >= 1 + 100 * 2.0**-40 / 2.0**-30


@pytest.mark.parametrize("steps", [4.0, 16.0, 100.0])
def test_noise_on_a_grid_is_as_near_to_continuous_noise_as_stated(steps):
    """Summed exactly on small grids: the distance falls with the square of the scale."""
    from scipy.stats import dlaplace, laplace, norm  # noqa: PLC0415 # slow to import

    at = np.arange(-int(40 * steps), int(40 * steps) + 1)
    for discrete, law in (
        (dlaplace.pmf(at, 1 / steps), laplace(scale=steps)),
        (np.exp(-(at**2) / (2 * steps**2)), norm(scale=steps)),
    ):
        rounded = law.cdf(at + 0.5) - law.cdf(at - 0.5)
        distance = np.abs(discrete / discrete.sum() - rounded).sum() / 2
        assert distance <= SAMPLED_DISTANCE * (2.0**40 / steps) ** 2


@pytest.mark.parametrize("steps", [4.0, 16.0, 100.0])
def test_ratios_to_continuous_noise_are_as_stated(steps):
    """Within 32 standard deviations; a ratio falls with the scale, or with its square."""
    from scipy.special import log_ndtr  # noqa: PLC0415 # slow to import

    at = np.arange(0, int(32 * steps) + 1)
    exact = -(at**2) / (2 * steps**2)
    whole = math.log(2 * np.exp(exact).sum() - 1)
    below, above = (log_ndtr(-(at + half) / steps) for half in (-0.5, 0.5))
    ratios = exact - whole - (below + np.log(-np.expm1(above - below)))
    # The floats of the reference are exact to about 1e-12 of logarithms of up to 512.
    assert np.abs(ratios).max() <= SAMPLED_RATIOS["gaussian"] * (2.0**40 / steps) ** 2 + 1e-9
    assert log_ndtr(-32.0) < math.log(SAMPLED_BEYOND / 4)
    r = math.exp(-1 / steps)
    middle, elsewhere = (1 - r) / (1 + r) / -math.expm1(-0.5 / steps), 1 / math.cosh(0.5 / steps)
    most = SAMPLED_RATIOS["laplace"] * 2.0**40 / steps
    assert max(abs(math.log(middle)), abs(math.log(elsewhere))) <= most


@pytest.mark.parametrize("shift", [1, 2**20, 2**39, 3 * 2**40, 50 * 2**40])
def test_renyi_costs_of_noise_on_a_grid_are_as_stated(shift):
    """Geometric sums of discrete Laplace noise of 2**40 steps, in 120 digits."""
    with localcontext() as context:
        context.prec = 120
        steps = Decimal(2**40)
        r = (-1 / steps).exp()
        for order in (2, 3, 5, 17, 129, 513):
            a, twice = order - 1, 2 * order - 1
            left, right = (a * shift / steps).exp(), (-order * shift / steps).exp()
            between = left * (r**twice - r ** (twice * shift)) / (1 - r**twice)
            discrete = (1 - r) / (1 + r) * ((left + right) / (1 - r) + between)
            continuous = (order * left + a * right) / twice
            assert (discrete.ln() - continuous.ln()) / a <= SAMPLED_RENYI


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 3.0, 20.0, 40.0, 90.0])
def test_calibrated_mechanisms_cost_at_most_the_budget(epsilon):
    laplace = LaplaceMechanism.calibrated(sensitivity=3.0, epsilon=epsilon)
    assert epsilon * 0.999 < epsilon_of([laplace.event(5)], delta=0.0) <= epsilon
    gaussian = GaussianMechanism.calibrated(sensitivity=3.0, epsilon=epsilon, delta=1e-6)
    assert epsilon_of([gaussian.event(5)], delta=1e-6) <= epsilon
    assert gaussian.scale == pytest.approx(3.0 * gaussian.noise_multiplier)


@pytest.mark.slow
def test_the_exponential_mechanism_chooses_as_often_as_stated():
    scores = np.array([0.0, 1.0, 2.0])
    chosen = [choose(scores, sensitivity=1.0, epsilon=2.0) for _ in range(3000)]

    wanted = np.exp(scores) / np.exp(scores).sum()
    # 6.4 standard errors; with two thirds of the noise one is off by 0.09.
    assert np.bincount(chosen, minlength=3) / 3000 == pytest.approx(wanted, abs=0.055)


def test_scores_of_any_size_can_be_chosen_from():
    assert choose([-1e300, 1e300, 0.0], sensitivity=1e-3, epsilon=1.0) == 1
    assert choose([1e30, 4e31], sensitivity=1e29, epsilon=1.0) == 1
    assert choose([0], sensitivity=1.0, epsilon=1.0) == 0
    assert choose([2**62, -(2**62)], sensitivity=1.0, epsilon=10.0) == 0


@pytest.mark.parametrize("wrong", [[], [[1.0]], [math.nan], [math.inf, 0.0]])
def test_choices_that_cannot_be_made_are_refused(wrong):
    with pytest.raises(DataError):
        choose(wrong, sensitivity=1.0, epsilon=1.0)


@pytest.mark.parametrize("wrong", [0.0, math.nan, math.inf])
def test_choices_without_a_price_are_refused(wrong):
    with pytest.raises(ParameterError):
        choose([1.0], sensitivity=1.0, epsilon=wrong)


def test_numbers_cut_toward_zero_have_no_larger_norm():
    grid = FixedPoint(exponent=-10)
    vectors = np.random.default_rng(0).normal(size=(50, 7))
    cut = grid.numbers(grid.toward_zero(vectors))
    assert (np.linalg.norm(cut, axis=1) <= np.linalg.norm(vectors, axis=1)).all()
    assert np.abs(cut - vectors).max() < grid.step


def test_integers_too_wide_for_floats_stay_exact():
    wide = 2**60 + 1
    assert FixedPoint(exponent=-2).rounded(np.array([wide]))[0] == 4 * wide
    assert FixedPoint(exponent=2).rounded(np.array([wide]))[0] == 2**58
    with pytest.raises(DataError, match="too large"):
        FixedPoint(exponent=-10).toward_zero([1e300])


@pytest.mark.parametrize("exponent", [1.5, 2000, -2000, True])
def test_exponents_outside_of_their_range_are_refused(exponent):
    with pytest.raises(ParameterError, match="exponent"):
        FixedPoint(exponent=exponent)


@pytest.mark.slow
def test_a_sampled_sum_has_an_event_of_its_own():
    event = SampledGaussianEvent(
        noise_multiplier=1.0, sampling_probability=0.5, steps=2, coordinates=4
    )
    assert epsilon_of([event], delta=1e-5) < epsilon_of(
        [GaussianMechanism(sensitivity=1.0, scale=1.0).event(4)] * 2, delta=1e-5
    )
