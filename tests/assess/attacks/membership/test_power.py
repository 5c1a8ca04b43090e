"""Every attack breaks what learnt people by heart, and none breaks what learnt nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import halfmask as hm
from halfmask.assess.attacks import ATTACKS, ModelTarget
from halfmask.assess.attacks import attack as run_battery
from halfmask.assess.attacks.membership import (
    ATTACKS as MEMBERSHIP,
)
from halfmask.assess.attacks.membership import BlackBox, Gap, Lira, Rmia, ShadowModels, Yeom

ALL: list[Any] = [
    Gap(),
    Yeom(),
    BlackBox(hidden=(16,), trees=30),
    ShadowModels(hidden=(16,), trees=30, n_shadows=8),
    Lira(n_shadows=8),
    Lira(n_shadows=8, online=False),
    Lira(n_shadows=8, per_person_spread=True),
    Rmia(n_shadows=8),
    Rmia(n_shadows=8, online=False),
    Rmia(n_shadows=8, gamma=2.0),
]
each = pytest.mark.parametrize("attack", ALL, ids=repr)


@pytest.mark.slow
@each
def test_an_overfitted_model_is_broken(attack, overfitted, outcomes):
    found = outcomes(attack.run(overfitted, random_state=0))

    assert found.value("balanced accuracy, original rows") > 0.65
    for outcome in found.found:
        if "AUC" in outcome.measure:
            assert outcome.success.value > 0.7
            assert outcome.excess.bounds(0.001)[0] > 0.1


@each
def test_a_constant_model_is_not(attack, constant_target, outcomes):
    found = outcomes(attack.run(constant_target, random_state=0))

    assert found.value("balanced accuracy, original rows") == pytest.approx(0.5, abs=0.06)
    for outcome in found.found:
        if "AUC" in outcome.measure:
            assert outcome.success.value == pytest.approx(0.5, abs=0.06)
        assert outcome.excess.bounds(0.01)[0] <= 0.0


@pytest.mark.slow
@each
def test_a_model_that_was_trained_on_neither_is_not(attack, make_target, overfitted):
    """People of the pool are in the shadow models, but none was in the model."""
    elsewhere = make_target(overfitted.train, seed=1)
    reference = ModelTarget(
        model=elsewhere.model,
        members=overfitted.members,
        member_labels=overfitted.member_labels,
        non_members=overfitted.non_members,
        non_member_labels=overfitted.non_member_labels,
        train=overfitted.train,
    )

    for outcome in attack.run(reference, random_state=0):
        assert outcome.excess.bounds(0.001)[0] <= 0.0


def test_all_are_in_the_registry():
    assert {attack.name: attack for attack in MEMBERSHIP}.items() <= ATTACKS.items()


def noisy(n, seed):
    """People whose label mostly follows from their row, one in five not."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 3))
    labels = ((rows[:, 0] + rows[:, 1] > 0) ^ (rng.random(n) < 0.2)).astype(int)
    return rows, labels


def forest(rows, labels, seed):
    return RandomForestClassifier(25, random_state=seed, n_jobs=1).fit(rows, labels)


def masked(rows, labels):
    return hm.Anonymizer(guarantees=[hm.KAnonymity(k=50)]).fit_transform(rows, labels)


def anonymizing(rows, labels, seed):
    """Train on rows of which every fifty and more are alike."""
    return forest(masked(rows, labels), labels, seed)


def noisy_target(train, **more):
    rows, labels = noisy(4000, seed=5)
    return ModelTarget(
        model=train(rows[:2000], labels[:2000], 0),
        members=rows[:2000],
        member_labels=labels[:2000],
        non_members=rows[2000:],
        non_member_labels=labels[2000:],
        train=train,
        **more,
    )


@pytest.mark.slow
def test_training_on_anonymized_rows_is_resisted_and_on_raw_rows_is_not():
    rows, labels = noisy(4000, seed=5)
    protected = noisy_target(anonymizing, trained_rows=masked(rows[:2000], labels[:2000]))
    usual: list[Any] = [
        Gap(),
        Yeom(),
        BlackBox(hidden=(16,), trees=30),
        Lira(n_shadows=6),
        Rmia(n_shadows=6),
    ]

    report = run_battery(
        protected,
        unprotected=noisy_target(forest),
        attacks=usual,
        tolerance=0.1,
        min_control_effect=0.1,
    )

    verdicts = {
        (finding.outcome.attack, finding.outcome.measure): finding.verdict
        for finding in report.findings
    }
    for attack in usual:
        assert verdicts[attack.name, "balanced accuracy, original rows"] == "resisted"
        assert (attack.name, "balanced accuracy, trained rows") in verdicts
    # Raw rows have no trained rows beside them: the original ones show the power of the attack.
    assert all(finding.positive_control is not None for finding in report.findings)
    # 2,000 people can't show what happens at one in a thousand.
    rare = "membership/lira, TPR at 0.1 % FPR, original rows, everyone"
    assert dict(report.too_few)[rare] == "needs at least 10,000 non-members, has 2,000"
