"""As they are: what depends on rows as they are is found once, and never for what differs."""

from __future__ import annotations

import copy
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import halfmask as hm
from halfmask.training import AnonymizedEstimator, guidance
from halfmask.training._as_they_are import AsTheyAre
from halfmask.training._trials import Judge

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
    remembered, find = AsTheyAre(), Counted()
    assert [remembered.once("it", judge(), find) for _ in range(3)] == [1, 1, 1]
    alike = judge(
        estimator=DecisionTreeClassifier(max_depth=3), encoded=ROWS.copy(), labels=LABELS.copy()
    )
    assert remembered.once("it", alike, find) == 1
    assert AsTheyAre().once("it", judge(), find) == 2


def test_nothing_that_was_found_is_remembered_too():
    remembered, found = AsTheyAre(), []
    for _ in range(2):
        assert remembered.once("it", judge(), lambda: found.append(1)) is None
    assert found == [1]


CHANGED = ROWS.copy()
CHANGED[599, 3] += 1e-12
EXCHANGED = LABELS.copy()
EXCHANGED[7] = 1 - EXCHANGED[7]
OBJECTS = LABELS.astype(object)
LONG = list(range(5000))
ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)


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
    remembered, find = AsTheyAre(), Counted()
    remembered.once("it", judge(), find)
    assert remembered.once("it", judge(**other), find) == 2
    assert remembered.once("it", judge(**other), find) == 2


def test_another_question_is_another():
    remembered, find = AsTheyAre(), Counted()
    remembered.once("it", judge(), find)
    assert remembered.once("something else", judge(), find) == 2


@pytest.mark.parametrize("kind", [np.array, list])
def test_long_settings_are_told_apart_in_the_middle(kind):
    remembered, find = AsTheyAre(), Counted()
    for change in (0, 1):
        values = LONG.copy()
        values[2500] += change
        step = FunctionTransformer(kw_args={"values": kind(values)})
        pipeline = make_pipeline(step, DecisionTreeClassifier())
        remembered.once("it", judge(estimator=pipeline), find)
    assert find.times == 2


def test_labels_that_are_objects_are_told_by_what_they_are():
    remembered, find = AsTheyAre(), Counted()
    for labels in (LABELS, LABELS, EXCHANGED):
        # texts that are made anew each time: equal, and others
        made = np.array([f"label {each}" for each in labels], dtype=object)
        remembered.once("it", judge(labels=made), find)
    assert find.times == 2


@pytest.mark.parametrize(
    "labels",
    [
        np.array([Decimal(int(each)) for each in LABELS], dtype=object),
        LABELS.astype("datetime64[D]"),
    ],
)
def test_by_labels_of_other_kinds_nothing_is_remembered(labels):
    remembered, find = AsTheyAre(), Counted()
    for _ in range(2):
        remembered.once("it", judge(labels=labels), find)
    assert find.times == 2


@pytest.mark.parametrize(
    "nameless",
    [
        DecisionTreeClassifier(random_state=np.random.RandomState(0)),  # as users do
        make_pipeline(FrozenEstimator(DecisionTreeClassifier().fit(ROWS, LABELS))),
        make_pipeline(FunctionTransformer(kw_args={"of": object()})),
        make_pipeline(FunctionTransformer(kw_args={"of": np.array([object()])})),
        make_pipeline(
            FunctionTransformer(kw_args={"of": np.ma.masked_array([1, 2], [False, True])})
        ),
        make_pipeline(FunctionTransformer(StandardScaler().fit(ROWS).transform)),
        make_pipeline(FunctionTransformer(kw_args={"of": ENDLESS})),
    ],
)
def test_of_what_cant_be_told_from_others_nothing_is_remembered(nameless):
    remembered, find = AsTheyAre(), Counted()
    for _ in range(2):
        remembered.once("it", judge(estimator=nameless), find)
    assert find.times == 2


def test_functions_are_told_apart_by_themselves():
    remembered, find = AsTheyAre(), Counted()
    ways = [lambda rows, by=by: rows * by for by in (1, 2)]
    for way in (*ways, *ways):
        step = FunctionTransformer(way)
        remembered.once("it", judge(estimator=make_pipeline(step, shallow())), find)
    assert find.times == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (0.1, 0.1 + 1e-16),
        (1, 1.0),
        (1, True),
        ("1", 1),
        (None, "None"),
        ([1], (1,)),
        ({"a": 1}, {"a": 2}),
        (np.float32(1), np.float64(1)),
        (np.array([1.0, 2.0]), np.array([1.0, 2.0 + 1e-15])),
        (np.array([[1.0, 2.0]]), np.array([1.0, 2.0])),
        (int, float),
    ],
)
def test_settings_are_told_apart_to_the_last_digit(one, other):
    remembered, find = AsTheyAre(), Counted()
    for value in (one, other, copy.copy(one), copy.copy(other)):
        step = FunctionTransformer(kw_args={"value": value})
        remembered.once("it", judge(estimator=make_pipeline(step, shallow())), find)
    assert find.times == 2


def test_what_is_fitted_within_a_model_tells_it_apart():
    remembered, find = AsTheyAre(), Counted()
    for shift in (0.0, 1.0, 1.0):
        scaler = FrozenEstimator(StandardScaler().fit(ROWS + shift))
        remembered.once("it", judge(estimator=make_pipeline(scaler, shallow())), find)
    assert find.times == 2


def shallow():
    return DecisionTreeClassifier(max_depth=3)


def made_anew(depth):
    """Return a class of the same name, as a cell of a notebook does that is run again."""

    class Mine(DecisionTreeClassifier):  # type: ignore[misc] # scikit-learn ships no types
        def fit(self, rows, labels, sample_weight=None):
            return self.set_params(max_depth=depth).fit(rows, labels, sample_weight)

    Mine.__module__, Mine.__qualname__ = "test_notebook", "Mine"
    return Mine


def test_a_class_that_was_defined_anew_is_another():
    remembered, find = AsTheyAre(), Counted()
    for depth in (1, 2):
        mine = made_anew(depth)
        remembered.once("it", judge(estimator=mine()), find)
        remembered.once("it", judge(estimator=make_pipeline(mine())), find)
    assert find.times == 4


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy])  # pickle goes the same way
def test_copies_remember_nothing(way):
    remembered, find = AsTheyAre(), Counted()
    remembered.once("it", judge(), find)
    copied = way(remembered)
    assert isinstance(copied, AsTheyAre)
    assert copied.once("it", judge(), find) == 2


class Slotted:
    __slots__ = ("depth",)


class WithSlots(Slotted, DecisionTreeClassifier):  # type: ignore[misc] # the same
    pass


class AlsoADict(dict[str, int], DecisionTreeClassifier):  # type: ignore[misc] # the same
    pass


@pytest.mark.parametrize("kind", [WithSlots, AlsoADict])
def test_what_holds_more_than_its_dict_isnt_told_from_others(kind):
    remembered, find = AsTheyAre(), Counted()
    for _ in range(2):
        remembered.once("it", judge(estimator=kind()), find)
    assert find.times == 2


class Forest(RandomForestClassifier):  # type: ignore[misc] # scikit-learn ships no types
    trained = 0

    def fit(self, rows, labels, sample_weight=None):
        type(self).trained += 1
        return super().fit(rows, labels, sample_weight)


def forest(k, guide):
    return AnonymizedEstimator(
        Forest(8, random_state=0),
        guarantees=[hm.KAnonymity(k=k)],
        quasi_identifiers=[0, 1, 2],
        guide=guide,
    ).fit(ROWS, LABELS)


@pytest.mark.slow
def test_fits_that_share_a_guidance_train_less_and_give_the_same():
    encoded, model = forest(20, "cross-fitted").encode(ROWS), Forest(8, random_state=0)
    led = [
        guidance("cross-fitted", model, encoded, LABELS, recoded=RECODED, folds=3, seed=0)
        for _ in range(3)
    ]
    Forest.trained = 0
    together = [forest(k, led[0]) for k in (20, 50)]
    shared, Forest.trained = Forest.trained, 0
    apart = [forest(k, each) for k, each in zip((20, 50), led[1:], strict=True)]
    assert 0 < shared < Forest.trained
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
    led.as_they_are.once("it", judge(), find)
    assert led.of(np.arange(300)).as_they_are.once("it", judge(), find) == 2
