"""What is measured of scores: areas, rates, thresholds, the worst subgroup."""

from __future__ import annotations

from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from halfmask.assess.attacks import Finding
from halfmask.assess.attacks.membership._scores import (
    ORIGINAL,
    TRAINED,
    Area,
    MembershipScores,
    View,
    best_threshold,
    caught_at,
    measured,
)

sides = st.lists(st.integers(0, 6), min_size=1, max_size=20)


def pooled(high, low):
    values = np.array([*high, *low], dtype=float)
    return values, np.arange(len(values)) < len(high)


@pytest.mark.slow
@given(sides, sides)
def test_an_area_is_scikit_learns(high, low):
    values, member = pooled(high, low)

    area = Area.of(values, member)

    assert area.value == pytest.approx(roc_auc_score(member, values))
    assert area.trials == min(len(high), len(low))
    lower, upper = area.bounds(0.05)
    assert 0 <= lower <= area.value + 1e-12
    assert area.value - 1e-12 <= upper <= 1


def test_bounds_of_an_area_hold_as_often_as_they_say():
    rng = np.random.default_rng(0)
    truth = 0.714  # the standard normal distribution at 0.8 / sqrt(2)
    member = np.arange(160) < 60
    found = [Area.of(rng.normal(size=160) + 0.8 * member, member).bounds(0.05) for _ in range(400)]

    # One-sided: 5 % each, 20 of 400; beyond 36 of 400 is one chance in 5,000.
    assert sum(low > truth for low, _ in found) <= 36
    assert sum(high < truth for _, high in found) <= 36
    # And they are no wider than they need be: half of the width of a bound for any distribution.
    assert np.mean([high - low for low, high in found]) < 0.2


def test_a_perfect_area_isnt_certain():
    values, member = pooled(range(10, 15), range(5))

    low, high = Area.of(values, member).bounds(0.05)

    assert high == 1.0
    assert low == pytest.approx(0.05 ** (1 / 5))  # five of five, by hand


def test_nobody_has_an_area_that_may_be_anything():
    area = Area.of(np.ones(3), np.ones(3, dtype=bool))

    assert area.bounds(0.05) == (0.0, 1.0)
    assert area.trials == 0


@pytest.mark.slow
@given(sides, sides)
def test_no_threshold_is_better_than_the_best(high, low):
    values, member = pooled(high, low)

    threshold = best_threshold(values, member)

    if len(set(member.tolist())) == 2:
        reached = [balanced_accuracy_score(member, values >= cut) for cut in values]
        assert balanced_accuracy_score(member, values >= threshold) == pytest.approx(max(reached))


def test_what_guesses_catches_as_many_members_as_others():
    """The rate holds on average over draws, and for scores that are all equal too."""
    rng = np.random.default_rng(1)
    member = np.arange(600) < 300
    for draw in (lambda: rng.normal(size=600), lambda: np.zeros(600)):
        found = [caught_at(draw(), member, 0.05, random_state=s)[0].value for s in range(200)]
        # k = 15 of 301; the standard error of the mean is 0.0013.
        assert np.mean(found) == pytest.approx(15 / 301, abs=0.005)


def test_members_that_stand_out_are_caught():
    values, member = pooled([9.0] * 50, np.linspace(0, 1, 1000))

    caught, control = caught_at(values, member, 0.01, random_state=0)

    assert (caught.successes, caught.trials) == (50, 50)
    assert (control.successes, control.trials) == (10, 1000)


def test_a_rate_needs_non_members():
    values, member = pooled(range(50), range(50))

    caught, control = caught_at(values, member, 0.001, random_state=0)

    assert caught.successes == 0
    assert control.successes == 0


def view(n, group=None):
    rng = np.random.default_rng(0)
    member = np.arange(2 * n) < n
    return View(
        rows="original rows",
        probabilities=np.full((2 * n, 2), 0.5),
        truth=np.zeros(2 * n, dtype=np.int64),
        member=member,
        known=rng.random(2 * n) < 0.5,
        group=group,
    )


def test_an_unlucky_stranger_breaks_nothing_with_too_few_people():
    """A hundred of 2,500 are caught where a model of others happens to catch nobody."""
    people = replace(view(2500), rows=TRAINED)
    ordered = np.random.default_rng(1).random(5000)
    result = np.where(np.arange(5000) < 100, 2.0, ordered)
    scores, others = (MembershipScores.unlearned(values, people) for values in (result, -ordered))

    found = measured("it", people, scores, random_state=0, reference=(people, others))

    verdicts = {
        o.measure: Finding(
            outcome=o,
            positive_control=None,
            tolerance=0.03,
            min_control_effect=0.05,
            error=0.05 / 8,
        ).verdict
        for o in found
    }
    assert verdicts["TPR at 0.1 % FPR, trained rows"] == "not shown"  # needs 10,000
    assert verdicts["TPR at 1 % FPR, trained rows"] == "broken"  # needs 1,000
    alone = measured("it", replace(people, rows=ORIGINAL), scores, random_state=0)
    assert not any(o.of_one_model for o in alone)


def run(values, seen):
    found = measured("test", seen, MembershipScores.unlearned(values, seen), random_state=0)
    return {(outcome.measure, outcome.group): outcome for outcome in found}


def test_rates_say_how_many_non_members_they_need():
    seen = view(1000)
    found = run(np.random.default_rng(2).normal(size=2000), seen)

    assert found["TPR at 1 % FPR, original rows", "everyone"].needed == 0  # it has them
    scarce = found["TPR at 0.1 % FPR, original rows", "everyone"]
    assert (scarce.needed, scarce.needed_of) == (10_000, "non-members")
    assert scarce.trials == 1000


def test_the_worst_subgroup_is_found_and_measured_on_the_other_half():
    n = 1000
    group = np.tile(np.arange(4), 2 * n // 4)
    seen = view(n, group)
    values = np.random.default_rng(3).normal(size=2 * n)
    values += 2.0 * (seen.member & (group == 2))

    found = run(values, seen)

    worst = found["AUC, original rows", "worst group"]
    judged = ~seen.known & (group == 2)
    assert worst.details["group"] == 2.0
    assert worst.success.value == pytest.approx(roc_auc_score(seen.member[judged], values[judged]))
    assert worst.success.value > found["AUC, original rows", "everyone"].success.value + 0.2
    assert found["balanced accuracy, original rows", "worst group"].success.value > 0.75


def test_a_worst_subgroup_of_noise_isnt_broken():
    seen = view(1000, np.tile(np.arange(8), 250))

    found = run(np.random.default_rng(4).normal(size=2000), seen)

    assert found["AUC, original rows", "worst group"].excess.bounds(0.01)[0] <= 0.0


def test_subgroups_of_a_handful_arent_looked_at():
    seen = view(100, np.arange(200) // 10)

    found = run(np.random.default_rng(5).normal(size=200), seen)

    assert {group for _, group in found} == {"everyone"}


def test_precision_is_told_as_if_members_and_others_were_as_many():
    seen = view(200)
    values = seen.member.astype(float)

    outcome = run(values, seen)["balanced accuracy, original rows", "everyone"]

    assert outcome.success.value == 1.0
    assert outcome.details["precision"] == 1.0
    assert outcome.details["recall"] == 1.0
