"""The attack model: chosen on rows that it didn't learn from, and never of a handful."""

from __future__ import annotations

import numpy as np
import pytest

from halfmask._errors import DataError, ParameterError
from halfmask.assess.attacks.membership import BlackBox, ShadowModels
from halfmask.assess.attacks.membership._threshold import learn


def test_what_is_held_back_has_a_third_of_each_side():
    member = np.arange(300) < 90
    inputs = np.random.default_rng(0).normal(size=(300, 2)) + member[:, None]

    learned = learn(inputs, member, hidden=(8,), trees=10, random_state=0)

    assert member[learned.held].sum() == 30
    assert (~member[learned.held]).sum() == 70
    assert set(learned.areas) == {"network", "forest"}
    assert max(learned.areas.values()) > 0.75
    assert learned.scores(inputs).shape == (300,)


def test_noise_isnt_learnt_from_what_is_held_back():
    rng = np.random.default_rng(1)
    member = rng.random(2000) < 0.5

    learned = learn(rng.normal(size=(2000, 5)), member, hidden=(8,), trees=20, random_state=0)

    # The standard error of an area of 330 on 330 is 0.023.
    assert max(learned.areas.values()) == pytest.approx(0.5, abs=0.08)


def test_two_members_are_too_few_to_learn_from():
    with pytest.raises(DataError, match="at least 3 known members"):
        learn(np.zeros((10, 1)), np.arange(10) < 2, hidden=(8,), trees=5, random_state=0)


@pytest.mark.slow
def test_twenty_members_are_attacked_and_said_to_be_too_few(make_target, overfitted):
    target = make_target(overfitted.train, n=20, trained_rows=np.zeros((20, 4)))

    for attack in (BlackBox(hidden=(4,), trees=5), ShadowModels(hidden=(4,), trees=5, n_shadows=4)):
        for outcome in attack.run(target, random_state=1):
            assert outcome.trials < outcome.needed


@pytest.mark.parametrize("settings", [{"hidden": (0,)}, {"trees": 0}])
@pytest.mark.parametrize("attack", [BlackBox, ShadowModels])
def test_bad_settings_are_refused(attack, settings):
    with pytest.raises(ParameterError, match=next(iter(settings))):
        attack(**settings)
