"""Outcomes: what a success is compared with, and how many trials it rests on."""

from __future__ import annotations

from typing import Any

import pytest

from halfmask._errors import ParameterError
from halfmask.assess.attacks import Certain, Outcome, SuccessCount


def outcome(success: Any, control: Any, **others: Any) -> Outcome:
    return Outcome(attack="test/some", measure="share", success=success, control=control, **others)


def test_the_excess_is_over_the_higher_of_control_and_baseline():
    low, high = SuccessCount(50, 100), SuccessCount(70, 100)
    one = outcome(SuccessCount(80, 100), low, baseline=high)
    other = outcome(SuccessCount(80, 100), high, baseline=low)
    assert one.reference is high
    assert other.reference is high
    assert one.excess.value == pytest.approx(0.1)
    assert other.excess.value == pytest.approx(0.1)


def test_an_excess_over_two_references_holds_for_the_one_that_only_looks_lower():
    # The control looks a hair lower than the baseline, and is far less sure.
    shaky = SuccessCount(5, 10)
    sure = outcome(SuccessCount(600, 1000), Certain(0.51))
    both = outcome(SuccessCount(600, 1000), shaky, baseline=Certain(0.51))
    assert both.excess.value == sure.excess.value
    assert both.excess.bounds(0.05)[0] < sure.excess.bounds(0.05)[0] - 0.1
    assert both.excess.bounds(0.05)[1] >= sure.excess.bounds(0.05)[1]


def test_over_nothing_the_excess_is_the_exact_share():
    success = SuccessCount(0, 500)
    assert outcome(success, Certain(0.0)).excess is success


def test_trials_are_those_of_the_smallest_arm_that_was_measured():
    assert outcome(SuccessCount(1, 90), Certain(0.5)).trials == 90
    assert outcome(SuccessCount(1, 90), SuccessCount(1, 40), baseline=Certain(0.5)).trials == 40
    assert outcome(Certain(0.25, 80), Certain(0.0)).trials == 80


def test_an_arm_that_was_to_be_measured_and_had_no_trial_is_the_smallest():
    assert outcome(SuccessCount(0, 0), SuccessCount(5, 100)).trials == 0
    assert outcome(SuccessCount(5, 100), Certain(0.5), baseline=SuccessCount(0, 0)).trials == 0


@pytest.mark.parametrize("settings", [{"scale": 0.0}, {"scale": 1.5}, {"needed": -1}])
def test_settings_are_checked(settings):
    with pytest.raises(ParameterError, match="Outcome"):
        outcome(SuccessCount(1, 2), Certain(0.5), **settings)
