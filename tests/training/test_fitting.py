"""Fitting: models of others may quote rows and labels in their errors; ours don't."""

from __future__ import annotations

import traceback

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import halfmask as hm
from halfmask._errors import DataError, GuaranteeNotMetError
from halfmask.training import AnonymizedEstimator, accuracy_by_k
from halfmask.training._fitting import asking, fitted

CANARY = "xqcanary"
RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(90, 2))
NUMBERS = ROWS[:, 0] + RNG.normal(size=90)
LABELS = np.where(ROWS[:, 0] > 0, CANARY, "b")


class Picky(ClassifierMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn ships no types
    """Quotes a label."""

    def fit(self, rows, y):  # noqa: ARG002 # scikit-learn's
        raise ValueError(f"bad label {max(y)}")

    def predict(self, rows):  # noqa: ARG002 # the same
        raise AssertionError("never fitted")


def of(estimator, **settings):
    usual = {"guarantees": [hm.KAnonymity(k=5)], "representative": "centroid"}
    return AnonymizedEstimator(estimator, **usual | settings)


def told(run, *, keeps=None):
    with pytest.raises(DataError) as caught:
        run()
    assert CANARY not in str(caught.value)
    if keeps is not None:  # what a caller brings fails by its own error, which he has to see
        assert isinstance(caught.value.__cause__, keeps)
        return str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return str(caught.value)


def test_what_can_be_fitted_is_a_copy_that_is():
    tree = DecisionTreeClassifier(random_state=0)
    found = fitted(tree, ROWS, LABELS)
    assert not hasattr(tree, "tree_")
    assert (found.predict(ROWS) == LABELS).all()
    with asking(found, "score", ROWS):
        assert found.score(ROWS, LABELS) == 1.0


@pytest.mark.parametrize("split_targets", ["cross-fitted", "fitted", "labels"])
def test_a_fit_that_fails_tells_only_how(split_targets):
    said = told(
        lambda: of(Picky(), split_targets=split_targets).fit(ROWS, LABELS), keeps=ValueError
    )
    assert "Picky couldn't be fitted" in said
    assert "(ValueError)" in said
    assert "encoder=" in said


def test_an_error_of_ours_stays_what_it_is():
    class Ours(Picky):
        def fit(self, rows, y):  # noqa: ARG002 # the same
            raise GuaranteeNotMetError("missed")

    with pytest.raises(GuaranteeNotMetError, match="missed"):
        of(Ours()).fit(ROWS, LABELS)


def test_texts_are_no_numbers_of_a_regressor():
    assert "y must be numbers" in told(lambda: of(Ridge()).fit(ROWS, LABELS))
    one = NUMBERS.astype(object)
    assert of(Ridge()).fit(ROWS, one).score(ROWS, NUMBERS) > 0.3
    one[7] = CANARY
    told(lambda: of(Ridge()).fit(ROWS, one))
    told(lambda: accuracy_by_k(of(Ridge()), ROWS, one, ks=[5], cv=2))


@pytest.mark.slow
def test_preprocessing_by_name_belongs_into_the_encoder():
    frame = pd.DataFrame(ROWS, columns=["age", "hours"]).assign(sex=np.where(NUMBERS > 0, "f", "m"))
    encoder = make_column_transformer((OneHotEncoder(), ["sex"]), (StandardScaler(), ["age"]))
    inside = of(make_pipeline(encoder, LogisticRegression()))
    assert "encoder=" in told(lambda: inside.fit(frame, LABELS), keeps=ValueError)
    assert of(LogisticRegression(), encoder=encoder).fit(frame, LABELS).score(frame, LABELS) > 0.7


class Turning:
    """Answers so many times, then fails and quotes a cell; each model counts for all."""

    answers = 0

    def _turned(self):
        type(self).answers -= 1
        if type(self).answers < 0:
            raise ValueError(CANARY)


class TurningTree(Turning, DecisionTreeClassifier):  # type: ignore[misc] # scikit-learn's
    def predict(self, rows, check_input=True):  # noqa: FBT002 # the same
        self._turned()
        return super().predict(rows, check_input)

    def predict_proba(self, rows, check_input=True):  # noqa: FBT002 # the same
        self._turned()
        return super().predict_proba(rows, check_input)


class TurningLine(Turning, LogisticRegression):  # type: ignore[misc] # scikit-learn's
    def predict(self, rows):
        self._turned()
        return super().predict(rows)

    def predict_proba(self, rows):
        self._turned()
        return super().predict_proba(rows)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [TurningTree, TurningLine])
@pytest.mark.parametrize("representative", ["chosen", "centroid"])
@pytest.mark.parametrize("split_targets", ["cross-fitted", "fitted", "labels"])
def test_a_model_that_fails_at_any_answer_quotes_nothing(kind, representative, split_targets):
    kind.answers = 10**6
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(120, 3))
    labels = (rows[:, 0] + rng.normal(size=120) > 0).astype(int)

    def fit():
        made = AnonymizedEstimator(
            kind(),
            guarantees=[hm.KAnonymity(k=5)],
            quasi_identifiers=[0, 1],
            split_targets=split_targets,
            representative=representative,
        )
        return made.fit(rows, labels)

    fit()
    needed = 10**6 - kind.answers
    told, turns = [], np.unique(np.linspace(0, needed - 1, 8).astype(int))
    for turn in turns.tolist():
        kind.answers = turn
        try:
            fit()
        except DataError as error:
            told.append("".join(traceback.format_exception(error)))
    assert len(told) > len(turns) / 2 or not needed
    assert all("ValueError" in each and CANARY not in each for each in told)
