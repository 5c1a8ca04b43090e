"""RMIA against a double loop over pairs of people, written from the formula."""

from __future__ import annotations

import numpy as np
import pytest

from halfmask._errors import ParameterError
from halfmask.assess.attacks.membership import Rmia
from halfmask.assess.attacks.membership._shadows import (
    Shadows,
    balanced_splits,
    best_weight,
    dominated,
    typical,
)


def naive(own, shadowed, inside, population, *, a, gamma):
    """LR(x, z) = [p(x|f)/p(x)] / [p(z|f)/p(z)] for every pair, and the share of z it beats."""

    def p(person):
        out = [m[person] for m, i in zip(shadowed, inside, strict=True) if not i[person]]
        within = [m[person] for m, i in zip(shadowed, inside, strict=True) if i[person]]
        p_out = sum(out) / len(out)
        if a is not None:
            return ((1 + a) * p_out + (1 - a)) / 2
        return 0.5 * (sum(within) / len(within) + p_out)

    scores = []
    for x in range(len(own)):
        ratios = [(own[x] / p(x)) / (own[z] / p(z)) for z in population]
        scores.append(sum(ratio >= gamma for ratio in ratios) / len(ratios))
    return scores


@pytest.mark.parametrize("gamma", [1.0, 2.0])
@pytest.mark.parametrize("a", [None, 0.3, 1.0])
def test_scores_are_those_of_a_naive_loop(a, gamma):
    rng = np.random.default_rng(3)
    own, shadowed, inside = (
        rng.random(20),
        rng.random((6, 20)),
        balanced_splits(20, 6, random_state=2),
    )
    # Nobody is compared with himself here: whether x/y/(x/y) is 1 is a matter of rounding.
    population = list(range(12, 20))

    ratio = own / typical(shadowed, inside, weight=a)
    found = dominated(ratio, ratio[population], gamma)

    expected = naive(own, shadowed.tolist(), inside.tolist(), population, a=a, gamma=gamma)
    np.testing.assert_allclose(found[:12], expected[:12])


def test_an_answer_that_all_models_exclude_has_a_finite_ratio():
    found = typical(np.zeros((4, 6)), balanced_splits(6, 4, random_state=0), weight=None)

    assert (found > 0).all()


def test_the_weight_is_one_that_was_tried():
    inside = balanced_splits(40, 4, random_state=0)
    shadowed = np.where(inside, 0.9, 0.4) * np.random.default_rng(0).uniform(0.9, 1, (4, 40))
    trained = Shadows(inside=inside, of_truth={"original rows": shadowed})

    assert 0.0 <= best_weight(trained, "original rows") <= 1.0


@pytest.mark.parametrize("settings", [{"n_shadows": 3}, {"gamma": 0.5}, {"gamma": float("inf")}])
def test_bad_settings_are_refused(settings):
    with pytest.raises(ParameterError, match=next(iter(settings))):
        Rmia(**settings)
