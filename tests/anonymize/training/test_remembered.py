"""Remembered: what depends on rows as they are is found once, and never for what differs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

import halfmask as hm
from halfmask.anonymize.training import AnonymizedEstimator, guidance
from halfmask.anonymize.training._remembered import Remembered
from halfmask.anonymize.training._trials import Judge

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(600, 4))
LABELS = (ROWS[:, 0] + ROWS[:, 3] + RNG.normal(size=600) > 0).astype(int)
RECODED = np.array([True, True, True, False])


def judge(**others):
    usual = {
        "estimator": DecisionTreeClassifier(max_depth=3),
        "encoded": ROWS,
        "labels": LABELS,
        "depends": RECODED,
        "guarantees": (),
        "seed": 0,
    }
    return Judge(**usual | others)


class Counted:
    """Counts how often something had to be found."""

    def __init__(self):
        self.times = 0

    def __call__(self):
        self.times += 1
        return self.times


def test_what_is_asked_again_is_found_once():
    remembered, find = Remembered(), Counted()
    assert [remembered.once("it", judge(), find) for _ in range(3)] == [1, 1, 1]
    alike = judge(
        estimator=DecisionTreeClassifier(max_depth=3), encoded=ROWS.copy(), labels=LABELS.copy()
    )
    assert remembered.once("it", alike, find) == 1
    assert Remembered().once("it", judge(), find) == 2


def test_nothing_that_was_found_is_remembered_too():
    remembered, found = Remembered(), []
    for _ in range(2):
        assert remembered.once("it", judge(), lambda: found.append(1)) is None
    assert found == [1]


CHANGED = ROWS.copy()
CHANGED[599, 3] += 1e-12
EXCHANGED = LABELS.copy()
EXCHANGED[7] = 1 - EXCHANGED[7]
OBJECTS = LABELS.astype(object)
LONG = list(range(5000))


@pytest.mark.parametrize(
    "other",
    [
        {"encoded": CHANGED},
        {"encoded": ROWS[::-1]},
        {"encoded": ROWS.reshape(1200, 2)},
        {"labels": EXCHANGED},
        {"labels": LABELS.astype(float)},
        {"labels": OBJECTS},
        {"depends": ~RECODED},
        {"seed": 1},
        {"estimator": DecisionTreeClassifier(max_depth=4)},
        {"estimator": RandomForestClassifier(max_depth=3)},
        {"estimator": make_pipeline(DecisionTreeClassifier(max_depth=3))},
    ],
)
def test_what_differs_in_anything_is_found_anew(other):
    remembered, find = Remembered(), Counted()
    remembered.once("it", judge(), find)
    assert remembered.once("it", judge(**other), find) == 2
    assert remembered.once("it", judge(**other), find) == 2


def test_another_question_is_another():
    remembered, find = Remembered(), Counted()
    remembered.once("it", judge(), find)
    assert remembered.once("something else", judge(), find) == 2


@pytest.mark.parametrize("kind", [np.array, list])
def test_long_settings_are_told_apart_in_the_middle(kind):
    remembered, find = Remembered(), Counted()
    for change in (0, 1):
        values = LONG.copy()
        values[2500] += change
        step = FunctionTransformer(kw_args={"values": kind(values)})
        pipeline = make_pipeline(step, DecisionTreeClassifier())
        remembered.once("it", judge(estimator=pipeline), find)
    assert find.times == 2


def test_labels_that_are_objects_are_told_by_what_they_are():
    remembered, find = Remembered(), Counted()
    for labels in (OBJECTS, OBJECTS.copy(), EXCHANGED.astype(object)):
        remembered.once("it", judge(labels=labels), find)
    assert find.times == 2


def forest(k, guide, trained):
    class Forest(RandomForestClassifier):  # type: ignore[misc] # scikit-learn ships no types
        def fit(self, rows, labels, sample_weight=None):
            trained.append(len(rows))
            return super().fit(rows, labels, sample_weight)

    Forest.__module__, Forest.__qualname__ = "tests", "Forest"
    return AnonymizedEstimator(
        Forest(8, random_state=0),
        guarantees=[hm.KAnonymity(k=k)],
        quasi_identifiers=[0, 1, 2],
        guide=guide,
    ).fit(ROWS, LABELS)


def test_fits_that_share_a_guidance_train_less_and_give_the_same():
    encoded = forest(20, "cross-fitted", []).encode(ROWS)
    model = RandomForestClassifier(8, random_state=0)
    led = [
        guidance("cross-fitted", model, encoded, LABELS, recoded=RECODED, folds=3, seed=0)
        for _ in range(3)
    ]
    shared: list[int] = []
    alone: list[int] = []
    together = [forest(k, led[0], shared) for k in (20, 50)]
    apart = [forest(k, each, alone) for k, each in zip((20, 50), led[1:], strict=True)]
    assert len(shared) < len(alone)
    for one, other in zip(together, apart, strict=True):
        assert one.trials_ == other.trials_
        assert np.array_equal(one.points_, other.points_)
        assert np.array_equal(one.predict_proba(ROWS), other.predict_proba(ROWS))


def test_a_guidance_of_some_rows_remembers_nothing_of_others():
    led = guidance(
        LABELS.astype(float), DecisionTreeClassifier(), ROWS, LABELS,
        recoded=RECODED, folds=3, seed=0,
    )  # fmt: skip
    find = Counted()
    led.remembered.once("it", judge(), find)
    some = led.of(np.arange(300))
    few = replace(judge(), encoded=ROWS[:300], labels=LABELS[:300])
    assert some.remembered.once("it", few, find) == 2
