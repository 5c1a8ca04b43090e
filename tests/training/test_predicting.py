"""PredictMixin: predictions of the trained model, and no cell in its errors."""

from __future__ import annotations

import traceback

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC

from halfmask._errors import DataError
from halfmask.guarantees import KAnonymity
from halfmask.training import AnonymizedEstimator
from halfmask.training._predicting import PredictMixin

CANARY = "xqcanary"
WAYS = ["predict", "predict_proba", "predict_log_proba", "decision_function"]
ROWS = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])


class Halved(PredictMixin):
    """Encodes by halving, so that what the model was asked can be told from the rows."""

    def __init__(self, model):
        self.estimator = self.model_ = model

    def rows_for_model(self, X):
        return np.asarray(X) / 2


class Echo:
    """Answers with what it was asked."""

    def _said(self, rows):
        return rows

    predict = predict_proba = predict_log_proba = decision_function = _said

    def score(self, rows, y, sample_weight=None):
        weight = 1.0 if sample_weight is None else sample_weight.sum()
        return float(rows.sum() + y.sum() * weight)


class Loud:
    """Quotes a cell whatever it is asked."""

    def _said(self, *_, **__):
        raise ValueError(CANARY)

    predict = predict_proba = predict_log_proba = decision_function = score = _said


@pytest.mark.parametrize("way", WAYS)
def test_the_model_is_asked_of_encoded_rows(way):
    assert (getattr(Halved(Echo()), way)(ROWS) == ROWS / 2).all()


def test_the_score_is_the_models_own_with_weights():
    halved = Halved(Echo())
    assert halved.score(ROWS, [1, 0, 1]) == 4.0
    assert halved.score(ROWS, [1, 0, 1], sample_weight=[1, 1, 2]) == 10.0


@pytest.mark.slow
def test_scores_take_labels_as_a_fit_does():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 2))
    labels = (rows[:, 0] > 0).astype(int)
    nullable = pd.Series(labels, dtype="Int64")
    ours = AnonymizedEstimator(LogisticRegression(), guarantees=[KAnonymity(k=5)])
    ours.fit(rows, nullable)
    assert ours.score(rows, nullable) == ours.score(rows, labels)


@pytest.mark.parametrize("way", [*WAYS, "score"])
def test_only_the_kind_of_a_models_error_is_told(way):
    labels = [[0, 1, 1]] if way == "score" else []
    with pytest.raises(DataError, match=r"Loud couldn't \w+ 3 rows \(ValueError\)") as caught:
        getattr(Halved(Loud()), way)(ROWS, *labels)
    assert CANARY not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("model", "can"),
    [
        (LogisticRegression(), WAYS),
        (LinearSVC(), ["predict", "decision_function"]),
        (LinearRegression(), ["predict"]),
    ],
)
def test_it_can_what_the_model_can_before_and_after_the_fit(model, can):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 2))
    labels = (rows[:, 0] > 0).astype(float if can == ["predict"] else int)
    ours = AnonymizedEstimator(model, guarantees=[KAnonymity(k=5)])
    assert [way for way in WAYS if hasattr(ours, way)] == can
    ours.fit(rows, labels)
    assert [way for way in WAYS if hasattr(ours, way)] == can
    assert all(len(getattr(ours, way)(rows)) == 60 for way in can)
