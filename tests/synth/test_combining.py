"""combine_estimates: intervals hold the truth as often as they say."""

from __future__ import annotations

import math

import numpy as np
import pytest

from halfmask import ParameterError
from halfmask.synth import combine_estimates


def test_by_hand():
    partial = combine_estimates([1.0, 2.0, 3.0], [0.5, 0.5, 0.5], kind="partial")
    assert (partial.estimate, partial.tables) == (2.0, 3)
    assert partial.variance == pytest.approx(0.5 + 1 / 3)
    assert partial.degrees_of_freedom == pytest.approx(2 * (1 + 3 * 0.5) ** 2)
    full = combine_estimates([1.0, 2.0, 3.0], [0.5, 0.5, 0.5], kind="full")
    assert full.variance == pytest.approx(4 / 3 - 0.5)
    assert full.degrees_of_freedom == pytest.approx(2 * (1 - 1.5 / 4) ** 2)


def test_a_negative_variance_becomes_that_within():
    assert combine_estimates([1.0, 1.1], [5.0, 5.0], kind="full").variance == 5.0


def test_tables_that_agree_give_a_normal_interval():
    found = combine_estimates([2.0, 2.0], [1.0, 1.0], kind="partial")
    assert math.isinf(found.degrees_of_freedom)
    low, high = found.interval(0.95)
    assert (low, high) == pytest.approx((2 - 1.959964, 2 + 1.959964))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["full", "partial"])
def test_intervals_hold_the_mean_of_the_population_as_often_as_they_say(kind):
    """Synthesis of a normal mean whose theory is known; ignoring synthesis covers too seldom."""
    rng = np.random.default_rng(0)
    n, m, runs = 100, 5, 2_000
    held = naive = 0
    for _ in range(runs):
        original = rng.normal(0.0, 1.0, n)
        mean, spread = original.mean(), original.std(ddof=1)
        estimates, variances = [], []
        for _ in range(m):
            # As the theory has it: parameters from their posterior for full synthesis; a part of
            # the cells redrawn from the fitted distribution for partial.
            if kind == "full":
                centre = rng.normal(mean, spread / math.sqrt(n))
                drawn = rng.normal(centre, spread, n)
            else:
                drawn = original.copy()
                part = rng.random(n) < 0.5
                centre = rng.normal(original[~part].mean(), spread / math.sqrt((~part).sum()))
                drawn[part] = rng.normal(centre, spread, part.sum())
            estimates.append(drawn.mean())
            variances.append(drawn.var(ddof=1) / n)
        found = combine_estimates(estimates, variances, kind=kind)
        low, high = found.interval(0.95)
        held += low <= 0 <= high
        half = 1.96 * math.sqrt(variances[0])
        naive += abs(estimates[0]) <= half
    assert held / runs > 0.92
    assert naive / runs < held / runs


@pytest.mark.parametrize(
    ("estimates", "variances"),
    [([1.0], [1.0]), ([1.0, 2.0], [1.0]), ([1.0, math.nan], [1.0, 1.0]), ([1.0, 2.0], [-1.0, 1.0])],
)
def test_wrong_input_is_refused(estimates, variances):
    with pytest.raises(ParameterError):
        combine_estimates(estimates, variances, kind="full")


def test_wrong_kinds_and_levels_are_refused():
    with pytest.raises(ParameterError, match="kind"):
        combine_estimates([1.0, 2.0], [1.0, 1.0], kind="hybrid")  # type: ignore[arg-type] # tested
    with pytest.raises(ParameterError, match="level"):
        combine_estimates([1.0, 2.0], [1.0, 1.0], kind="full").interval(95)
