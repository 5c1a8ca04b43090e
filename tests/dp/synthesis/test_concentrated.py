"""Zero-concentrated differential privacy against a definition and another library."""

from __future__ import annotations

import math

import pytest

from halfmask import ParameterError
from halfmask.dp.synthesis import epsilon_of_rho, rho_of


@pytest.mark.parametrize("rho", [1e-4, 0.02, 0.3, 5.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-9])
def test_it_is_never_below_gaussian_noise_and_not_far_above(rho, delta):
    """Gaussian noise has exactly this rho, and its epsilon has a closed form."""
    accounting = pytest.importorskip("dp_accounting")
    exact = accounting.get_epsilon_gaussian(1 / math.sqrt(2 * rho), delta)
    found = epsilon_of_rho(rho, delta=delta)
    assert exact <= found <= exact * 1.4
    # Bun and Steinke (2016), proposition 1.3
    assert found <= rho + 2 * math.sqrt(rho * math.log(1 / delta)) + 1e-9


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 3.0, 50.0])
def test_a_budget_is_used_and_not_passed(epsilon):
    rho = rho_of(epsilon, delta=1e-6)
    assert epsilon * 0.999 < epsilon_of_rho(rho, delta=1e-6) <= epsilon
    assert epsilon_of_rho(rho * 1.01, delta=1e-6) > epsilon


def test_numbers_out_of_range_are_refused():
    assert epsilon_of_rho(0.0, delta=1e-6) == 0.0
    for wrong in ({"rho": -1.0, "delta": 0.1}, {"rho": 1.0, "delta": 0.0}):
        with pytest.raises(ParameterError):
            epsilon_of_rho(wrong["rho"], delta=wrong["delta"])
    with pytest.raises(ParameterError):
        rho_of(0.0, delta=1e-6)
