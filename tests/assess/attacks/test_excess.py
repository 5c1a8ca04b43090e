"""The residual risk, against the values that the paper's own implementation tests."""

from __future__ import annotations

import pytest

from halfmask.assess.attacks import SuccessCount
from halfmask.assess.attacks._attack import (
    MeasuredExcess,
    residual_details,
    residual_risk,
    wilson,
)


@pytest.mark.parametrize(
    ("trials", "right", "value", "margin", "digits"),
    [
        # Published golden values of success rates at 95 %.
        (1000, 850, 0.849, 0.022, 3),
        (1000, 0, 0.002, 0.002, 3),
        (100, 23, 0.23998824451588613, 0.08155558571285167, 14),
    ],
)
def test_success_rates(trials: int, right: int, value: float, margin: float, digits: int):
    rate = wilson(right, trials)

    assert round(rate.value, digits) == round(value, digits)
    assert round(rate.margin, digits) == round(margin, digits)


def test_residual_risk():
    risk = residual_risk(MeasuredExcess(0.9, 0.02), MeasuredExcess(0.85, 0.02))

    # Published golden value: 0.333 +- 0.16.
    assert risk.value == pytest.approx(0.333, abs=5e-4)
    assert risk.margin == pytest.approx(0.16, abs=5e-3)


def test_a_control_that_always_succeeds_leaves_nothing():
    assert residual_risk(MeasuredExcess(1.0, 0.0), MeasuredExcess(1.0, 0.0)) == (0.0, 1.0)


def test_nothing_is_said_of_arms_without_trials():
    assert residual_details(SuccessCount(0, 0), SuccessCount(1, 2)) == {}
    assert residual_details(SuccessCount(90, 100), SuccessCount(10, 100))["residual_risk"] > 0.8
