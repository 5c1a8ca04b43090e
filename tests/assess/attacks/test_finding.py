"""Findings: when an attack may be called resisted, and when nothing follows."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.assess.attacks import Certain, Finding, Outcome, Resampled, SuccessCount


def outcome(share: float, *, trials: int = 10_000, **others: Any) -> Outcome:
    settings = {"success": SuccessCount(round(share * trials), trials), "control": Certain(0.5)}
    return Outcome(attack="test/some", measure="share", **{**settings, **others})


def finding(protected: Outcome, positive_control: Outcome | None, **others: Any) -> Finding:
    return Finding(
        outcome=protected,
        positive_control=positive_control,
        **{"tolerance": 0.03, "min_control_effect": 0.05, "error": 0.05, **others},
    )


@given(
    st.integers(0, 400), st.integers(0, 400), st.integers(1, 400), st.sampled_from([0.001, 0.05])
)
def test_resisted_is_said_only_with_an_upper_bound_and_power(
    protected, positive_control, trials, error
):
    found = finding(
        outcome(0.0, success=SuccessCount(min(protected, trials), trials)),
        outcome(0.0, success=SuccessCount(min(positive_control, 400), 400)),
        error=error,
    )
    high = found.outcome.excess.bounds(error)[1]
    low = found.positive_control.excess.bounds(error)[0]  # type: ignore[union-attr] # it is there
    assert (found.verdict == "resisted") == (high <= 0.03 and low >= 0.05)
    assert (found.verdict == "broken") == (found.outcome.excess.bounds(error / 20)[0] > 0.03)
    assert (found.verdict == "INVALID") == bool(found.why_invalid)
    assert (found.verdict == "not shown") == bool(found.why_not_shown)


@pytest.mark.slow
def test_a_leak_at_the_tolerance_is_called_resisted_as_rarely_as_promised():
    rng = np.random.default_rng(0)
    positive_control = outcome(0.9)
    called = sum(
        finding(outcome(0.0, success=SuccessCount(int(n), 2000)), positive_control).verdict
        == "resisted"
        for n in rng.binomial(2000, 0.53, size=1000)
    )
    assert called <= 70  # 5 % of 1000, and luck


@pytest.mark.slow
def test_a_leak_at_the_tolerance_over_two_equal_references_too():
    # Whichever reference looks higher by luck would make the excess look smaller.
    rng = np.random.default_rng(1)
    positive_control = outcome(0.9)
    called = 0
    for _ in range(1000):
        success, control, baseline = (
            SuccessCount(int(n), 3000) for n in rng.binomial(3000, [0.53, 0.5, 0.5])
        )
        made = outcome(0.0, success=success, control=control, baseline=baseline)
        called += finding(made, positive_control).verdict == "resisted"
    assert called <= 70


@pytest.mark.parametrize(
    ("trials", "needed", "why"),
    [
        (0, 0, "needs at least 1 members, has 0"),
        (50, 60, "needs at least 60 members, has 50"),
        (60, 60, "has 60 members, and needs about 850 to settle it"),
    ],
)
def test_with_too_few_trials_nothing_is_shown(trials, needed, why):
    made = outcome(0.5, trials=trials, needed=needed, needed_of="members")
    found = finding(made, outcome(0.9))
    assert found.verdict == "not shown"
    assert found.why_not_shown == why
    assert why in found.sentence
    assert found.why_invalid == ""


@pytest.mark.parametrize("share", [0.5, 0.51, 0.56, 0.6])
def test_as_many_trials_as_it_takes_settle_it(share):
    few = finding(outcome(share, trials=200), outcome(0.9))
    assert few.verdict == "not shown"
    assert few.trials_needed is not None
    enough = finding(outcome(share, trials=few.trials_needed), outcome(0.9))
    assert enough.verdict == ("resisted" if share < 0.53 else "broken")
    assert enough.trials_needed == 0
    half = finding(outcome(share, trials=few.trials_needed // 2), outcome(0.9))
    assert half.verdict == "not shown"


def test_what_is_at_its_tolerance_is_no_question_of_trials():
    found = finding(outcome(0.53), outcome(0.9))
    assert (found.verdict, found.trials_needed) == ("not shown", None)
    assert "no number of" in found.why_not_shown
    json.dumps(found.to_dict())


def test_an_upper_bound_alone_never_breaks():
    # Right .509 of the time among 2,000: the interval reaches beyond .53, and says no more.
    found = finding(outcome(0.509, trials=2_000), outcome(0.9))
    assert found.excess_high < 0.03 < finding(outcome(0.509, trials=800), outcome(0.9)).excess_high
    assert found.verdict == "resisted"
    assert finding(outcome(0.509, trials=800), outcome(0.9)).verdict == "not shown"


def test_nothing_that_tells_nothing_is_called_broken_by_many_attacks():
    # Twenty attacks that find nothing in truth, in each of 200 reports of few people.
    rng = np.random.default_rng(2)
    accused = sum(
        any(
            finding(outcome(0.0, success=SuccessCount(int(n), 400)), None).verdict == "broken"
            for n in rng.binomial(400, 0.53, size=20)
        )
        for _ in range(200)
    )
    assert accused <= 18  # 5 % of 200, and luck


def test_too_few_to_show_power_is_not_the_same_as_none():
    weak = outcome(0.6, trials=100, needed_of="members")
    found = finding(outcome(0.5, needed_of="members"), weak)
    assert found.verdict == "not shown"
    assert "too few to show that it succeeds without protection" in found.why_not_shown
    assert "it takes about 310 members" in found.why_not_shown
    shown = finding(outcome(0.5), outcome(0.6, trials=found.trials_needed or 0))
    assert shown.verdict == "resisted"


def test_what_is_claimed_is_conceded_to_the_attack_and_to_its_power():
    made: dict[str, Any] = {"control": Certain(0.001), "claimed": 0.1}
    linked = finding(outcome(0.075, trials=2_000, **made), outcome(1.0, **made))
    assert linked.verdict == "resisted"
    assert "0.075 against 0.100 claimed" in linked.sentence
    assert finding(outcome(0.2, trials=2_000, **made), outcome(1.0)).verdict == "broken"
    assert finding(outcome(0.05, **{**made, "claimed": None}), outcome(1.0)).verdict == "broken"
    # An attack that doesn't reach what is claimed can't show that a claim is kept.
    idle = finding(outcome(0.05, **made), outcome(0.08, control=Certain(0.001)))
    assert idle.verdict == "INVALID"


def test_every_sentence_has_its_interval():
    found = finding(outcome(0.55, trials=1_000), outcome(0.9))
    low, high = found.excess_low, found.excess_high
    assert f"an excess of 0.050 [{low:.3f}, {high:.3f}]; not shown" in found.sentence


def test_an_arm_without_trials_is_never_a_break_nor_a_pass():
    # The precision of a value that was never guessed: 0 of 0, beside a control that was measured.
    made = outcome(0.0, success=SuccessCount(0, 0), control=SuccessCount(5, 5000))
    assert finding(made, outcome(0.9)).verdict == "not shown"


def test_a_success_beyond_doubt_is_broken_whatever_else_is_missing():
    for positive_control, trouble in itertools.product(
        (None, outcome(0.5)), ("", "failed: the raw model gave no prediction")
    ):
        found = finding(outcome(0.7, needed=10**6), positive_control, control_failure=trouble)
        assert found.verdict == "broken"


def test_over_a_baseline_of_one_model_too_few_trials_are_never_beyond_doubt():
    lucky: dict[str, Any] = {"baseline": SuccessCount(5000, 10_000), "needed_of": "non-members"}
    few = finding(outcome(0.7, **lucky, needed=10**6, of_one_model=True), outcome(0.9))
    assert few.verdict == "not shown"
    assert few.why_not_shown == "needs at least 1,000,000 non-members, has 10,000"

    enough = finding(outcome(0.7, **lucky, needed=10_000, of_one_model=True), None)
    assert enough.verdict == "broken"
    assert finding(outcome(0.7, **lucky, needed=10**6), None).verdict == "broken"


@pytest.mark.parametrize(
    ("positive_control", "trouble", "why"),
    [
        (None, "", "was not run"),
        (None, "failed: no rows", "failed: no rows (on unprotected data)"),
        (outcome(0.52), "", "does not succeed without protection"),
        (outcome(0.9, trials=0), "", "had nothing to try"),
    ],
)
def test_what_isnt_broken_without_protection_proves_nothing(positive_control, trouble, why):
    found = finding(outcome(0.5), positive_control, control_failure=trouble)
    assert found.verdict == "INVALID"
    assert why in found.why_invalid
    assert why in found.sentence


def test_what_failed_is_no_risk_of_zero():
    found = finding(outcome(0.0, trials=0), outcome(0.9), failure="failed: no rows")
    assert found.verdict == "INVALID"
    assert (found.risk.low, found.risk.high) == (0.0, 1.0)


def test_the_same_excess_weighs_more_by_a_finer_measure():
    # 0.012 of true positives at one false positive in a thousand: twelve times what luck gives.
    made: dict[str, Any] = {"success": SuccessCount(120, 10_000), "control": Certain(0.001)}
    coarse = finding(outcome(0.0, **made), outcome(0.9))
    fine = finding(outcome(0.0, **made, scale=0.13), outcome(0.9))
    assert coarse.verdict == "resisted"
    assert fine.verdict == "broken"
    assert fine.allowed == pytest.approx(0.0039)
    assert "tolerance of 0.0039" in fine.sentence


def test_a_finer_measure_needs_less_power():
    made = outcome(0.0, success=SuccessCount(5, 10_000), control=Certain(0.001), scale=0.13)
    weak = outcome(0.0, success=SuccessCount(200, 10_000), control=Certain(0.001), scale=0.13)
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
    assert finding(made, outcome(0.9)).verdict == "not shown"


def test_the_numbers_go_into_json_as_they_are():
    details = {"rows": np.int64(3), "share": np.float64(0.5), "none": float("nan")}
    found = finding(outcome(0.5, details=details), outcome(0.9))
    content = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert content["details"] == {"rows": 3, "share": 0.5, "none": None}
    assert content["verdict"] == "resisted"
    assert content["unprotected"] == pytest.approx(0.9)
    assert content["value"] == pytest.approx(0.5)


RAW_LEAKS = st.integers(4_000, 6_000)


@given(RAW_LEAKS, RAW_LEAKS, st.integers(0, 20_000), st.booleans())
def test_nothing_to_resist_takes_bounds_on_both_models(protected, raw, needed, other):
    """Never broken, never with a raw model that may leak .05, never by too few trials."""
    made = outcome(0.0, success=SuccessCount(protected, 10_000), needed=needed)
    control = outcome(0.0, success=SuccessCount(raw, 10_000), needed=needed)
    found = finding(made, control, raw_may_resist=other)

    high, raw_high = (each.excess.bounds(0.05)[1] for each in (made, control))
    enough = needed <= 10_000
    expected = other and enough and high <= 0.03 and raw_high < 0.05
    assert (found.verdict == "nothing to resist") == expected
    if expected:
        assert found.trials_needed == 0
        assert "gains less than 0.05 without protection, too" in found.sentence
        json.dumps(found.to_dict())


def test_a_raw_model_of_few_people_stays_invalid():
    """Its excess may be .05: that the attack finds nothing there may be for want of people."""
    found = finding(outcome(0.5), outcome(0.5, trials=200), raw_may_resist=True)

    assert found.verdict == "INVALID"
