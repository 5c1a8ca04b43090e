"""LiRA against a double loop over people and models, written from the paper."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest

from halfmask._errors import ParameterError
from halfmask.assess.attacks.membership import Lira
from halfmask.assess.attacks.membership._shadows import balanced_splits, likelihood_ratios, logits


def case(n_people=15, n_models=8):
    rng = np.random.default_rng(7)
    inside = balanced_splits(n_people, n_models, random_state=1)
    return rng.normal(size=n_people), rng.normal(size=(n_models, n_people)) + inside, inside


def log_density(x, mean, spread):
    return -((x - mean) ** 2) / (2 * spread**2) - math.log(spread * math.sqrt(2 * math.pi))


def naive_sides(shadowed, inside, person):
    column = list(zip(shadowed[:, person].tolist(), inside[:, person].tolist(), strict=True))
    return [x for x, was in column if was], [x for x, was in column if not was]


def naive_spreads(shadowed, inside):
    """The pooled standard deviation within persons, inside and outside."""
    people = range(shadowed.shape[1])
    sides = [naive_sides(shadowed, inside, person) for person in people]
    # As many models for everyone, so that the pooled variance is the mean of the variances.
    return [math.sqrt(statistics.fmean(statistics.variance(s[i]) for s in sides)) for i in (0, 1)]


@pytest.mark.parametrize("per_person_spread", [False, True])
@pytest.mark.parametrize("online", [False, True])
def test_scores_are_those_of_a_naive_loop(online, per_person_spread):
    seen, shadowed, inside = case()
    for_all = naive_spreads(shadowed, inside)
    expected = []
    for person, x in enumerate(seen.tolist()):
        within, without = naive_sides(shadowed, inside, person)
        spreads = (
            [statistics.pstdev(within), statistics.pstdev(without)]
            if per_person_spread
            else for_all
        )
        out_mean = statistics.fmean(without)
        if online:
            score = log_density(x, statistics.fmean(within), spreads[0])
            score -= log_density(x, out_mean, spreads[1])
        else:
            score = (x - out_mean) / spreads[1]
        expected.append(score)

    found = likelihood_ratios(
        seen, shadowed, inside, online=online, per_person_spread=per_person_spread
    )

    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_the_offline_score_orders_as_the_papers_test_does():
    seen, shadowed, inside = case()
    outside = [naive_sides(shadowed, inside, person)[1] for person in range(len(seen))]
    below = [
        statistics.NormalDist(statistics.fmean(o), statistics.pstdev(o)).cdf(x)
        for o, x in zip(outside, seen.tolist(), strict=True)
    ]

    found = likelihood_ratios(seen, shadowed, inside, online=False, per_person_spread=True)

    assert np.argsort(found).tolist() == np.argsort(below).tolist()


def test_certain_answers_have_a_finite_logit():
    scaled = logits(np.array([0.0, 0.5, 1.0]), 1e-3)

    np.testing.assert_allclose(scaled, [-math.log(999), 0.0, math.log(999)], atol=1e-12)


def test_models_that_all_say_the_same_give_finite_scores():
    found = likelihood_ratios(
        np.ones(6),
        np.ones((4, 6)),
        balanced_splits(6, 4, random_state=0),
        online=True,
        per_person_spread=True,
    )

    assert found.tolist() == [0.0] * 6


@pytest.mark.parametrize("settings", [{"n_shadows": 5}, {"n_shadows": 4}, {"clip": 0.5}])
def test_bad_settings_are_refused(settings):
    with pytest.raises(ParameterError, match=next(iter(settings))):
        Lira(**settings)
