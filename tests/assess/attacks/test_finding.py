"""Findings: when an attack may be called resisted, and when nothing follows."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.assess.attacks import Certain, Counted, Finding, Outcome, Resampled


def outcome(share: float, *, trials: int = 10_000, **others: Any) -> Outcome:
    settings = {"success": Counted(round(share * trials), trials), "control": Certain(0.5)}
    return Outcome(attack="test/some", measure="share", **{**settings, **others})


def finding(protected: Outcome, power: Outcome | None, **others: Any) -> Finding:
    return Finding(
        outcome=protected,
        power=power,
        **{"tolerance": 0.03, "least_power": 0.05, "error": 0.05, **others},
    )


@given(
    st.integers(0, 400), st.integers(0, 400), st.integers(1, 400), st.sampled_from([0.001, 0.05])
)
def test_resisted_is_said_only_with_an_upper_bound_and_power(protected, power, trials, error):
    said = finding(
        outcome(0.0, success=Counted(min(protected, trials), trials)),
        outcome(0.0, success=Counted(min(power, 400), 400)),
        error=error,
    )
    high = said.outcome.excess.bounds(error)[1]
    low = said.power.excess.bounds(error)[0]  # type: ignore[union-attr] # it is there
    assert (said.verdict == "resisted") == (high <= 0.03 and low >= 0.05)
    assert (said.verdict == "INVALID") == bool(said.why_invalid)


def test_a_leak_at_the_tolerance_is_called_resisted_as_rarely_as_promised():
    rng = np.random.default_rng(0)
    power = outcome(0.9)
    called = sum(
        finding(outcome(0.0, success=Counted(int(n), 2000)), power).verdict == "resisted"
        for n in rng.binomial(2000, 0.53, size=1000)
    )
    assert called <= 70  # 5 % of 1000, and luck


def test_a_leak_at_the_tolerance_over_two_equal_references_too():
    # Whichever reference looks higher by luck would make the excess look smaller.
    rng = np.random.default_rng(1)
    power = outcome(0.9)
    called = 0
    for _ in range(1000):
        success, control, baseline = (
            Counted(int(n), 3000) for n in rng.binomial(3000, [0.53, 0.5, 0.5])
        )
        made = outcome(0.0, success=success, control=control, baseline=baseline)
        called += finding(made, power).verdict == "resisted"
    assert called <= 70


@pytest.mark.parametrize(
    ("trials", "needed", "expected"), [(0, 0, "INVALID"), (50, 60, "INVALID"), (60, 60, "broken")]
)
def test_without_trials_enough_nothing_follows(trials, needed, expected):
    made = outcome(0.5, trials=trials, needed=needed, needed_of="members")
    said = finding(made, outcome(0.9))
    assert said.verdict == expected
    assert (f"needs at least {max(1, needed)} members" in said.why_invalid) == (
        expected == "INVALID"
    )


def test_an_arm_without_trials_is_never_a_break_nor_a_pass():
    # The precision of a value that was never guessed: 0 of 0, beside a control that was measured.
    made = outcome(0.0, success=Counted(0, 0), control=Counted(5, 5000))
    assert finding(made, outcome(0.9)).verdict == "INVALID"


def test_a_success_beyond_doubt_is_broken_whatever_else_is_missing():
    for power, trouble in itertools.product(
        (None, outcome(0.5)), ("", "failed: the raw model gave no prediction")
    ):
        said = finding(outcome(0.7, needed=10**6), power, power_failure=trouble)
        assert said.verdict == "broken"


def test_over_a_baseline_of_one_model_too_few_trials_are_never_beyond_doubt():
    lucky: dict[str, Any] = {"baseline": Counted(5000, 10_000), "needed_of": "non-members"}
    few = finding(outcome(0.7, **lucky, needed=10**6, of_one_model=True), outcome(0.9))
    assert few.verdict == "INVALID"
    assert few.why_invalid == "needs at least 1,000,000 non-members, has 10,000"

    enough = finding(outcome(0.7, **lucky, needed=10_000, of_one_model=True), None)
    assert enough.verdict == "broken"
    assert finding(outcome(0.7, **lucky, needed=10**6), None).verdict == "broken"


@pytest.mark.parametrize(
    ("power", "trouble", "why"),
    [
        (None, "", "was not run"),
        (None, "failed: no rows", "failed: no rows (on unprotected data)"),
        (outcome(0.52), "", "does not succeed without protection"),
        (outcome(0.9, trials=0), "", "had nothing to try"),
    ],
)
def test_what_isnt_broken_without_protection_proves_nothing(power, trouble, why):
    said = finding(outcome(0.5), power, power_failure=trouble)
    assert said.verdict == "INVALID"
    assert why in said.why_invalid
    assert why in said.sentence


def test_what_failed_is_no_risk_of_zero():
    said = finding(outcome(0.0, trials=0), outcome(0.9), failure="failed: no rows")
    assert said.verdict == "INVALID"
    assert (said.risk.low, said.risk.high) == (0.0, 1.0)


def test_the_same_excess_weighs_more_by_a_finer_measure():
    # 0.012 of true positives at one false positive in a thousand: twelve times what luck gives.
    made: dict[str, Any] = {"success": Counted(120, 10_000), "control": Certain(0.001)}
    coarse = finding(outcome(0.0, **made), outcome(0.9))
    fine = finding(outcome(0.0, **made, scale=0.13), outcome(0.9))
    assert coarse.verdict == "resisted"
    assert fine.verdict == "broken"
    assert fine.allowed == pytest.approx(0.0039)
    assert "tolerance of 0.0039" in fine.sentence


def test_a_finer_measure_needs_less_power():
    made = outcome(0.0, success=Counted(5, 10_000), control=Certain(0.001), scale=0.13)
    weak = outcome(0.0, success=Counted(200, 10_000), control=Certain(0.001), scale=0.13)
    assert finding(made, weak).verdict == "resisted"


def test_a_census_needs_no_power_and_no_interval():
    none = outcome(0.0, success=Certain(0.0, 12), control=Certain(0.0), census=True)
    some = outcome(0.0, success=Certain(0.04, 12), control=Certain(0.0), census=True)
    assert finding(none, None).verdict == "resisted"
    assert finding(some, None).verdict == "broken"
    assert finding(none, None, failure="failed: no leaves").verdict == "INVALID"


def test_an_area_without_spread_is_no_proof():
    # A bootstrap of few people that all rank alike has no spread; it knows little all the same.
    made = outcome(0.0, success=Resampled.of(0.5, [0.5] * 500, 20))
    assert finding(made, outcome(0.9)).verdict == "broken"


def test_the_numbers_go_into_json_as_they_are():
    details = {"rows": np.int64(3), "share": np.float64(0.5), "none": float("nan")}
    said = finding(outcome(0.5, details=details), outcome(0.9))
    told = json.loads(json.dumps(said.to_dict(), allow_nan=False))
    assert told["details"] == {"rows": 3, "share": 0.5, "none": None}
    assert told["verdict"] == "resisted"
    assert told["unprotected"] == pytest.approx(0.9)
    assert told["value"] == pytest.approx(0.5)
