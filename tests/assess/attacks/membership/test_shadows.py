"""Shadow models: who trains which, and that they are trained once."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from halfmask.assess.attacks._rows import join_rows, take_rows
from halfmask.assess.attacks.membership import BlackBox, Gap, Lira, Rmia, ShadowModels, Yeom
from halfmask.assess.attacks.membership import _shadows as module
from halfmask.assess.attacks.membership._shadows import balanced_splits


def counting(train):
    calls = []

    def counted(rows, labels, seed):
        calls.append((np.asarray(rows), labels))
        return train(rows, labels, seed)

    return counted, calls


def test_everyone_trains_half_of_the_models_and_two_models_share_nobody():
    inside = balanced_splits(31, 6, random_state=0)

    assert inside.sum(axis=0).tolist() == [3] * 31
    assert not (inside[0::2] & inside[1::2]).any()
    assert (inside[0] != inside[2]).any()


@pytest.mark.slow
def test_three_attacks_train_once_and_another_seed_again(overfitted, make_target):
    train, calls = counting(overfitted.train)
    target = make_target(train, n=60)
    calls.clear()
    attacks: list[Any] = [ShadowModels(n_shadows=4), Lira(n_shadows=6), Rmia(n_shadows=6)]

    for attack in attacks:
        attack.run(target, random_state=0)
    assert len(calls) == 6

    Lira(n_shadows=6).run(target, random_state=1)
    assert len(calls) == 12


def test_shadow_models_train_on_original_rows_of_their_half(overfitted, make_target):
    train, calls = counting(overfitted.train)
    target = make_target(train, n=60, trained_rows=np.zeros((60, 4)))
    calls.clear()

    Lira(n_shadows=6).run(target, random_state=3)

    everyone = np.concatenate([target.members, target.non_members])
    labels = np.concatenate([target.member_labels, target.non_member_labels])
    for (rows, of_rows), inside in zip(calls, balanced_splits(120, 6, random_state=3), strict=True):
        np.testing.assert_array_equal(rows, everyone[inside])
        np.testing.assert_array_equal(of_rows, labels[inside])


@pytest.mark.slow
def test_what_was_trained_dies_with_its_target(overfitted, make_target):
    gc.collect()
    before = len(module._TRAINED)
    target = make_target(overfitted.train, n=40)
    Lira(n_shadows=6).run(target, random_state=0)
    assert len(module._TRAINED) == before + 1

    del target
    gc.collect()
    assert len(module._TRAINED) == before


@pytest.mark.parametrize("attack", [Lira(), Rmia(), ShadowModels()], ids=repr)
def test_a_target_without_train_lacks_it(attack, constant_target):
    assert attack.missing_inputs(constant_target) == ""
    assert "train" in attack.missing_inputs(
        type(constant_target)(**fields(constant_target, train=None))
    )


def fields(target, **changed):
    names = ("model", "members", "member_labels", "non_members", "non_member_labels", "train")
    return {name: getattr(target, name) for name in names} | changed


WRAPS = {
    "polars": lambda rows: pl.DataFrame(rows, schema=list("abcd")),
    "pandas": lambda rows: pd.DataFrame(rows, columns=list("abcd")).set_index(
        np.arange(len(rows)) * 7
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("wrap", WRAPS.values(), ids=WRAPS)
@pytest.mark.parametrize("attack", [Gap(), Yeom(), Lira(n_shadows=6), Rmia(n_shadows=4)], ids=repr)
def test_frames_give_what_arrays_give(attack, wrap, overfitted, make_target):
    array = make_target(overfitted.train, n=60)
    frame = make_target(overfitted.train, n=60, wrap=wrap)

    assert attack.run(frame, random_state=0) == attack.run(array, random_state=0)


@pytest.mark.parametrize("wrap", [np.asarray, *WRAPS.values()], ids=["numpy", *WRAPS])
def test_rows_are_taken_and_joined_as_the_kind_they_are(wrap):
    rows = np.arange(12.0).reshape(3, 4)

    both = join_rows(wrap(rows), wrap(rows + 100))
    some = take_rows(both, np.array([4, 0]))

    assert type(some) is type(wrap(rows))
    np.testing.assert_array_equal(np.asarray(some), [rows[1] + 100, rows[0]])


@pytest.mark.slow
def test_the_same_seed_gives_the_same_outcomes(overfitted, make_target):
    first, second = (make_target(overfitted.train, n=60) for _ in range(2))
    attack = ShadowModels(n_shadows=4, hidden=(8,), trees=5)

    assert attack.run(first, random_state=4) == attack.run(second, random_state=4)


@pytest.mark.slow
@pytest.mark.parametrize(
    "attack",
    [
        Gap(),
        Yeom(),
        BlackBox(hidden=(8,), trees=20),
        ShadowModels(n_shadows=4, hidden=(8,), trees=20),
        Lira(n_shadows=6),
        Rmia(n_shadows=4),
    ],
    ids=repr,
)
def test_members_are_scored_by_trained_rows_beside_a_model_of_others(
    attack, overfitted, make_target, outcomes
):
    """Rows that look otherwise than any person's aren't taken for rows that the model has seen."""
    rng = np.random.default_rng(9)
    elsewhere = make_target(overfitted.train, trained_rows=rng.normal(size=(400, 4)).round())
    same = make_target(overfitted.train, trained_rows=overfitted.members)

    for target, least, most in ((elsewhere, -1.0, 0.0), (same, 0.05, 1.0)):
        found = outcomes(attack.run(target, random_state=0))
        outcome = found.one("balanced accuracy, trained rows")
        assert found.value("balanced accuracy, original rows") > 0.65
        assert outcome.baseline is not None
        assert outcome.control_measure == "balanced accuracy, original rows"
        assert least <= outcome.excess.bounds(0.001)[0] <= most


def test_trained_rows_without_a_way_to_train_have_no_baseline(overfitted, make_target, outcomes):
    whole = make_target(overfitted.train, trained_rows=overfitted.members)
    target = type(whole)(**fields(whole, train=None), trained_rows=whole.trained_rows)

    found = outcomes(Yeom().run(target, random_state=0))

    assert found.one("AUC, trained rows").baseline is None
    assert found.one("AUC, trained rows").success == found.one("AUC, original rows").success


@pytest.mark.slow
def test_groups_reach_the_outcomes(overfitted, make_target, outcomes):
    groups = (("few", "many"), np.tile([0, 1, 1, 1], 200))
    target = make_target(overfitted.train, groups=groups)

    for attack in (Gap(), Yeom(), Lira(n_shadows=6)):
        found = outcomes(attack.run(target, random_state=0))
        outcome = found.one("balanced accuracy, original rows", "worst group")
        assert outcome.success.value > 0.6
        assert outcome.details["group"] in {0.0, 1.0}
