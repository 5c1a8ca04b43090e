"""Answers of models are checked, and messages about wrong ones hold no value."""

from __future__ import annotations

import numpy as np
import pytest

from assess.attacks.foreign_models import (  # type: ignore[import-not-found] # beside
    CANARY,
    Model,
    failing,
)
from halfmask._errors import DataError
from halfmask.assess.attacks import ModelTarget
from halfmask.assess.attacks.membership import Gap, Lira, Yeom
from halfmask.assess.attacks.membership._scores import features

LABELS = np.array([0, 1] * 15)


def even(rows):
    return np.full((len(rows), 2), 0.5)


def target(model, labels=LABELS, **more):
    rows = np.zeros((30, 2))
    return ModelTarget(
        model=model,
        members=rows,
        member_labels=labels,
        non_members=rows,
        non_member_labels=labels,
        **more,
    )


def failing_half_way():
    calls = []

    def model(rows):
        calls.append(1)
        if len(calls) > 1:
            raise ValueError(CANARY)
        return even(rows)

    return model


@pytest.mark.parametrize(
    ("model", "given"),
    [
        (failing, r"The model failed to predict \(KeyError\)"),
        (failing_half_way(), r"The model failed to predict \(ValueError\)"),
        (lambda rows: np.full((len(rows), 2), np.nan), "NaN or infinite probabilities for 30 rows"),
        (lambda rows: np.full((len(rows), 3), 1 / 3), r"shape \(30, 2\). Got \(30, 3\)"),
        (lambda rows: even(rows)[1:], r"shape \(30, 2\). Got \(29, 2\)"),
        (lambda rows: even(rows)[:, 0], r"Got \(30,\)"),
        (lambda rows: even(rows) * 4 - 1, "no probabilities for 30 rows"),
        (lambda rows: even(rows) * np.array([-1, 3]), "no probabilities for 30 rows"),
        (lambda rows: np.array([[CANARY] * 2] * len(rows)), r"failed to predict \(ValueError\)"),
        (object(), "must have predict_proba or predict, or be callable"),
        (Model(even(LABELS), ["a", "b"]), "of one type"),
    ],
)
def test_a_model_that_gives_no_probabilities_is_told_what_it_gave(model, given):
    with pytest.raises(DataError, match=given) as caught:
        Yeom().run(target(model), random_state=0)

    assert CANARY not in str(caught.value)
    # A traceback shows the error of the model only as a cause, or as a context that isn't hidden.
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__


@pytest.mark.parametrize(
    "labels",
    [
        np.array([0, None] * 15, dtype=object),
        np.array([0, "b"] * 15, dtype=object),
        np.array([0, np.nan] * 15),
        np.zeros((30, 2)),
    ],
)
def test_labels_that_are_missing_or_mixed_are_refused(labels):
    with pytest.raises(DataError, match="labels of the members"):
        Gap().run(target(even, labels), random_state=0)


def test_labels_of_members_and_others_must_be_alike():
    rows = np.zeros((30, 2))
    with pytest.raises(DataError, match="of one type"):
        Gap().run(
            ModelTarget(
                model=even,
                members=rows,
                member_labels=LABELS,
                non_members=rows,
                non_member_labels=LABELS.astype(str),
            ),
            random_state=0,
        )


def test_too_few_people_are_counted():
    few = ModelTarget(
        model=even,
        members=np.zeros((5, 1)),
        member_labels=LABELS[:5],
        non_members=np.zeros((30, 1)),
        non_member_labels=LABELS,
    )
    with pytest.raises(DataError, match=r"at least 20 .* Got 5 and 30"):
        Gap().run(few, random_state=0)


def test_an_attack_model_sees_answer_label_and_loss():
    found = features(np.array([[0.25, 0.75]]), np.array([0]))

    np.testing.assert_allclose(found, [[0.25, 0.75, 1.0, 0.0, 0.25, np.log(4)]])


def test_training_that_fails_half_way_says_which_model():
    calls = []

    def train(*_):
        calls.append(1)
        if len(calls) == 3:
            raise RuntimeError(CANARY)
        return even

    with pytest.raises(DataError, match=r"Shadow model 3 couldn't be trained \(RuntimeErr") as e:
        Lira(n_shadows=6).run(target(even, train=train), random_state=0)

    assert CANARY not in str(e.value)


def test_a_shadow_model_that_answers_nan_is_named():
    def train(*_):
        return lambda rows: even(rows) * np.nan

    with pytest.raises(DataError, match="Shadow model 1 gave NaN"):
        Lira(n_shadows=6).run(target(even, train=train), random_state=0)
