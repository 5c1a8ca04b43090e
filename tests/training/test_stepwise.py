"""Answers in steps: trees do, what is smooth doesn't, and of labels alone nothing is told."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

from halfmask._errors import DataError
from halfmask.training._stepwise import all_or_nothing, answers_in_steps

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(1500, 4))
NUMBERS = ROWS[:, 0] + ROWS[:, 1] * ROWS[:, 2] + 0.3 * RNG.normal(size=1500)
LABELS = (NUMBERS > 0).astype(int)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "steps"),
    [
        (DecisionTreeClassifier(random_state=0), True),
        (ExtraTreeClassifier(random_state=0), True),
        (RandomForestClassifier(100, random_state=0), True),
        (HistGradientBoostingClassifier(max_iter=30, random_state=0), True),
        (LogisticRegression(), False),
        (SVC(), False),
        (Perceptron(random_state=0), False),
    ],
)
def test_classifiers(estimator, steps):
    assert answers_in_steps(estimator, ROWS, LABELS, seed=0) is steps
    narrow = make_pipeline(FunctionTransformer(np.float32), estimator)
    assert answers_in_steps(narrow, ROWS, LABELS, seed=0) is steps


def test_a_network_of_sure_answers_is_smooth():
    network = MLPClassifier((20,), max_iter=30, learning_rate_init=0.01, random_state=0)
    narrow = make_pipeline(FunctionTransformer(np.float32), network)
    sure = (10 * ROWS[:, 0] > 0).astype(int)
    assert not answers_in_steps(narrow, ROWS, sure, seed=0)


@pytest.mark.parametrize(
    ("estimator", "steps"),
    [
        (DecisionTreeRegressor(random_state=0), True),
        (RandomForestRegressor(30, random_state=0), True),
        (LinearRegression(), False),
    ],
)
def test_regressors(estimator, steps):
    assert answers_in_steps(estimator, ROWS, NUMBERS, seed=0) is steps


def test_rare_labels_are_among_the_rows():
    labels = np.zeros(1500, dtype=int)
    labels[-1] = 1
    assert not answers_in_steps(LogisticRegression(), ROWS, labels, seed=0)


@pytest.mark.parametrize(
    ("estimator", "sure"),
    [
        (DecisionTreeClassifier(random_state=0), True),
        (DecisionTreeClassifier(max_depth=3, random_state=0), False),
        (RandomForestClassifier(20, random_state=0), False),
        (HistGradientBoostingClassifier(max_iter=30, random_state=0), False),
        (Perceptron(random_state=0), False),
    ],
)
def test_a_lone_tree_that_is_grown_to_the_end_is_sure_of_everybody(estimator, sure):
    assert all_or_nothing(estimator, ROWS, LABELS, seed=0) is sure
    assert not all_or_nothing(DecisionTreeRegressor(random_state=0), ROWS, NUMBERS, seed=0)


class Loud(DecisionTreeClassifier):  # type: ignore[misc] # scikit-learn ships no types
    def predict_proba(self, *_):
        raise ValueError("xqcanary")


@pytest.mark.parametrize("ask", [answers_in_steps, all_or_nothing])
def test_a_model_that_fails_to_answer_quotes_nothing(ask):
    rows = np.random.default_rng(0).normal(size=(60, 2))
    with pytest.raises(DataError, match=r"Loud couldn't predict \d+ rows \(ValueError\)") as caught:
        ask(Loud(), rows, (rows[:, 0] > 0).astype(int), seed=0)
    assert "xqcanary" not in str(caught.value)
