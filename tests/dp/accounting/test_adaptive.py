"""Budgets that depend on answers: the best of all analysts gets no more than the budget."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

from halfmask import ParameterError
from halfmask.dp.accounting import (
    EpsilonDeltaEvent,
    GaussianEvent,
    LaplaceEvent,
    SampledGaussianEvent,
    adaptive_epsilon_of,
    epsilon_of,
)

#: Answers of randomized response, whose privacy loss is up or down by so many units.
STEPS = (1, 4)
UNIT, BUDGET, DELTA = 0.1, 3.0, 0.003


def _fits_the_filter(counts):
    """Whether the filter lets so many answers of each kind through."""
    charges = [
        [EpsilonDeltaEvent(epsilon=step * UNIT, delta=0.0)]
        for step, n in zip(STEPS, counts, strict=True)
        for _ in range(n)
    ]
    return adaptive_epsilon_of(charges, budget=BUDGET, delta=DELTA) <= BUDGET


def _fits_if_it_were_fixed(counts):
    """Whether so many answers are (budget, delta)-private if nobody chose them: exactly."""
    losses, at = np.ones(1), np.zeros(1)
    for step, n in zip(STEPS, counts, strict=True):
        ups = np.arange(n + 1)
        chances = binom.pmf(ups, n, 1 / (1 + math.exp(-step * UNIT)))
        at = (at[:, None] + step * (2 * ups - n)).ravel()
        losses = (losses[:, None] * chances).ravel()
    return losses @ np.maximum(0.0, 1 - np.exp(BUDGET - at * UNIT)) <= DELTA


def _excess(loss):
    return max(0.0, 1 - math.exp(BUDGET - loss * UNIT))


def _delta_of_the_best_analyst(fits):
    """Return the delta of the analyst who chooses each answer by those before, or stops.

    Backward induction over the counts of answers and the loss: exact, and no code of ours but the
    rule that is judged.
    """
    allowed = cache(fits)

    @cache
    def value(counts, loss):
        best = _excess(loss)
        for at, step in enumerate(STEPS):
            more = tuple(n + (at == place) for place, n in enumerate(counts))
            if allowed(more):
                up = 1 / (1 + math.exp(-step * UNIT))
                asked = up * value(more, loss + step) + (1 - up) * value(more, loss - step)
                best = max(best, asked)
        return best

    return value((0, 0), 0)


def test_no_analyst_gets_more_than_the_budget():
    assert _fits_the_filter((50, 0))  # far beyond the sum of epsilons
    assert 0 < _delta_of_the_best_analyst(_fits_the_filter) <= DELTA


@pytest.mark.slow
def test_an_analyst_gets_more_where_sequences_are_taken_for_fixed():
    """Power: exact accounting of fixed sequences, as the ledger had it, is beaten."""
    assert _delta_of_the_best_analyst(_fits_if_it_were_fixed) > DELTA * 1.4


@pytest.mark.parametrize("n", [10, 300])
def test_each_order_pays_its_part_of_delta(n):
    """The filters of all ten orders together cost half of delta."""
    charges = [[GaussianEvent(noise_multiplier=30.0, coordinates=1)]] * n
    found = adaptive_epsilon_of(charges, budget=3.0, delta=1e-6)

    orders = 1 + 2.0 ** np.arange(10)
    costs = orders * n / (2 * 30.0**2)
    # Canonne, Kamath and Steinke 2020, proposition 12.
    bounds = costs + np.log1p(-1 / orders) - np.log(1e-6 / 20 * orders) / (orders - 1)
    assert bounds.min() <= found <= bounds.min() * 1.001
    assert found > epsilon_of([event for (event,) in charges], delta=1e-6)


def test_the_sum_of_epsilons_holds_without_a_delta():
    charges = [[LaplaceEvent(noise_multiplier=10.0, coordinates=2)]] * 3

    assert 0.3 <= adaptive_epsilon_of(charges, budget=1.0, delta=0.0) <= 0.3 * (1 + 1e-8)
    assert adaptive_epsilon_of([], budget=1.0, delta=0.0) == 0.0


@pytest.mark.slow
def test_the_first_charge_is_one_that_no_answer_chose():
    steps = SampledGaussianEvent(
        noise_multiplier=1.1, sampling_probability=0.01, steps=1000, coordinates=10
    )
    first = adaptive_epsilon_of([[steps]], budget=3.0, delta=1e-5)
    assert first == epsilon_of([steps], delta=1e-5)
    both = adaptive_epsilon_of([[steps], [steps]], budget=9.0, delta=1e-5)
    assert both > epsilon_of([steps] * 2, delta=1e-5)


def _paid(delta):
    return [EpsilonDeltaEvent(epsilon=0.1, delta=delta)]


@pytest.mark.parametrize(
    ("charges", "fits"),
    [
        ([_paid(1e-6), _paid(0.0)], True),
        ([_paid(1e-6), _paid(1e-9)], False),
        ([_paid(1.1e-6)], False),
        ([_paid(0.0), _paid(5e-7)], True),
        ([_paid(0.0), _paid(5.1e-7)], False),
        ([_paid(4e-7), _paid(2e-7), _paid(1e-7)], True),
        ([_paid(4e-7), _paid(2e-7), _paid(1.1e-7)], False),
    ],
)
def test_later_charges_may_spend_half_of_delta(charges, fits):
    found = adaptive_epsilon_of(charges, budget=1.0, delta=1e-6)
    assert math.isfinite(found) is fits


def test_noise_on_a_grid_counts_at_the_budget():
    """It has to hold for all ways that charges could go, whose epsilon may be larger."""
    wide = [GaussianEvent(noise_multiplier=100.0, coordinates=10**13)]
    assert adaptive_epsilon_of([wide] * 2, budget=1.0, delta=1e-5) < 1.0
    assert adaptive_epsilon_of([wide] * 2, budget=30.0, delta=1e-100) < 30.0
    assert adaptive_epsilon_of([wide] * 2, budget=90.0, delta=1e-200) == math.inf


@pytest.mark.parametrize("budget", [3.0, 32.0, 36.0, 60.0, 100.0, 1000.0])
def test_what_charges_cost_does_not_hang_on_a_large_budget(budget):
    gaussian = [GaussianEvent(noise_multiplier=18.0, coordinates=3)]
    mixed = [LaplaceEvent(noise_multiplier=9.0, coordinates=2**31), *gaussian]
    for charge in (gaussian, mixed):
        small, large = (
            adaptive_epsilon_of([charge] * 12, budget=b, delta=1e-5) for b in (3, budget)
        )
        assert small == pytest.approx(large, rel=1e-6)
        assert 0.5 < large < 3


def test_gaussian_noise_is_not_counted_beyond_an_epsilon_of_100():
    loud = [GaussianEvent(noise_multiplier=0.2, coordinates=1)]
    assert adaptive_epsilon_of([loud] * 2, budget=99.0, delta=1e-5) < 99
    assert adaptive_epsilon_of([loud] * 20, budget=1000.0, delta=1e-5) == math.inf


@pytest.mark.parametrize(
    ("budget", "delta"), [(0.0, 1e-6), (math.inf, 1e-6), (math.nan, 1e-6), (1.0, 1.0)]
)
def test_budgets_that_are_none_are_refused(budget, delta):
    with pytest.raises(ParameterError):
        adaptive_epsilon_of([], budget=budget, delta=delta)
