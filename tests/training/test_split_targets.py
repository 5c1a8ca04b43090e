"""Split targets: of models, callables, predictions and labels, and no cell in an error."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from halfmask._errors import DataError, ParameterError
from halfmask.training import _split_targets, cross_fitted
from halfmask.training._split_targets import drawn, is_several, split_targets_of

ROWS = np.random.default_rng(0).normal(size=(60, 2))
Y = (ROWS[:, 0] > 0).astype(int)


def of(guide, y=Y, estimator=None):
    return split_targets_of(guide, estimator or LogisticRegression(), ROWS, y, cv=3, random_state=0)


def test_a_row_is_never_predicted_by_a_model_that_saw_it():
    # The nearest neighbour of a row that was seen is the row itself: it would be always right.
    y = np.random.default_rng(1).integers(0, 2, 60)
    kept = cross_fitted(KNeighborsClassifier(1), ROWS, y, cv=3, random_state=0)
    right = (kept.argmax(axis=1) == y).mean()
    assert 0.3 < right < 0.7
    seen = split_targets_of("fitted", KNeighborsClassifier(1), ROWS, y, cv=3, random_state=0)
    assert (seen.argmax(axis=1) == y).all()


def test_numbers_are_cross_fitted_too():
    numbers = np.arange(60.0)
    said = cross_fitted(KNeighborsRegressor(1), ROWS, numbers, cv=3, random_state=0)
    assert said.shape == (60, 1)
    assert not np.equal(said[:, 0], numbers).any()


def test_each_row_gets_its_own_prediction():
    class Echo(RegressorMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn ships no types
        def fit(self, rows, y):
            assert len(rows) == len(y) == 40
            return self

        def predict(self, rows):
            return rows[:, 0]

    assert np.array_equal(cross_fitted(Echo(), ROWS, Y, cv=3, random_state=0)[:, 0], ROWS[:, 0])


@pytest.mark.slow
def test_the_seed_decides_and_nothing_else():
    first, again = of("cross-fitted"), of("cross-fitted")
    assert np.array_equal(first, again)
    other = split_targets_of("cross-fitted", LogisticRegression(), ROWS, Y, cv=3, random_state=1)
    assert not np.array_equal(first, other)


def test_rare_classes_have_a_probability_each():
    y = Y.copy()
    y[:2] = 7
    said = of("cross-fitted", y)
    assert said.shape == (60, 3)
    assert np.allclose(said.sum(axis=1), 1)
    y[0] = 9
    with pytest.raises(DataError, match="one row only"):
        of("cross-fitted", y)


def test_labels_lead_a_column_each_and_numbers_as_they_are():
    texts = np.array(["a", "c", "b"] * 20)
    assert of("labels", texts)[:3].tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 0]]
    numbers = np.arange(60)
    assert of("labels", numbers, LinearRegression()).tolist() == [[x] for x in range(60)]


def test_models_are_asked_for_what_they_give():
    labels = np.array(["no", "yes"])[Y]
    soft = LogisticRegression().fit(ROWS, labels)
    assert np.array_equal(of(soft), soft.predict_proba(ROWS))
    hard = LinearSVC().fit(ROWS, labels)
    assert np.array_equal(of(hard), np.equal(hard.predict(ROWS)[:, None], hard.classes_))
    line = LinearRegression().fit(ROWS, Y)
    assert np.array_equal(of(line)[:, 0], line.predict(ROWS))


def test_several_guides_lead_side_by_side():
    both = of(["labels", lambda rows: rows[:, 1], np.arange(60)])
    assert both.shape == (60, 4)
    assert np.array_equal(both[:, 2], ROWS[:, 1])
    assert np.array_equal(both[:, 3], np.arange(60))


def masked(said):
    """Return answers that are all masked, and good ones for who looks below."""
    return np.ma.masked_array(said, mask=True)


class MaskedChances(ClassifierMixin, BaseEstimator):  # type: ignore[misc] # the same
    classes_ = np.arange(2)

    def predict(self, rows):
        return np.ones(len(rows), int)

    def predict_proba(self, rows):
        return masked(np.tile([0.25, 0.75], (len(rows), 1)))


class MaskedLabels(ClassifierMixin, BaseEstimator):  # type: ignore[misc] # the same
    classes_ = np.arange(2)

    def predict(self, rows):
        return masked(np.zeros(len(rows), int))


class MaskedNumbers(RegressorMixin, BaseEstimator):  # type: ignore[misc] # the same
    def predict(self, rows):
        return masked(np.zeros(len(rows)))


@pytest.mark.parametrize(
    ("said", "error", "message"),
    [
        (np.zeros(59), ParameterError, "60 rows"),
        (np.zeros((60, 1, 1)), ParameterError, "60 rows"),
        (np.array([["CANARY"]] * 60), ParameterError, "must be numbers"),
        (np.r_[np.nan, np.inf, np.zeros(58)], DataError, "2 of 60 rows"),
        (np.ma.masked_equal(np.arange(60.0), 3), ParameterError, "split_targets .* 1 masked cells"),
        (lambda rows: rows[:5], ParameterError, "60 rows"),
        (
            [np.ma.masked_equal([0.1, 0.9], 0.9), *[[0.1, 0.9]] * 59],
            ParameterError,
            "split_targets .* 1 masked",
        ),
        (lambda rows: np.ma.masked_less(rows[:, 1], np.inf), DataError, "predicts .* 60 masked"),
        (MaskedChances(), DataError, "predicts .* 120 masked"),
        (MaskedLabels(), DataError, "predicts .* 60 masked"),
        (MaskedNumbers(), DataError, "predicts .* 60 masked"),
        (lambda _: float("CANARY"), DataError, "ValueError"),
        (LogisticRegression(), DataError, "NotFittedError"),
        ([], ParameterError, "empty list"),
        ("CANARY", ParameterError, "another text"),
    ],
)
def test_what_is_no_guide_is_refused_and_not_shown(said, error, message):
    with pytest.raises(error, match=message) as caught:
        of(said)
    assert "CANARY" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_guide_that_fails_in_one_fold_fails_with_its_name_only():
    class Failing(ClassifierMixin, BaseEstimator):  # type: ignore[misc] # the same
        def fit(self, _, y):
            self.classes_ = np.unique(y)
            return self

        def predict(self, rows):
            if (rows == ROWS[-1]).all(axis=1).any():
                message = "CANARY"
                raise KeyError(message)
            return np.zeros(len(rows), dtype=int)

    with pytest.raises(DataError, match="KeyError") as caught:
        cross_fitted(Failing(), ROWS, Y, cv=3, random_state=0)
    assert "CANARY" not in str(caught.value)


def test_a_list_of_what_is_said_of_rows_is_one_guide():
    shares = np.column_stack([1 - 0.9 * Y, 0.9 * Y])
    names = np.where(Y, "yes", "no")
    for one in (shares, shares[:, 1], names):
        for listed in (one.tolist(), tuple(one.tolist()), list(one)):
            assert np.array_equal(of(listed), of(one))
    assert of(["labels", "labels"]).shape == (60, 4), "these are two"
    assert of([shares, names]).shape == (60, 4), "and so are these"
    two = split_targets_of(
        ["labels", "labels"], LogisticRegression(), ROWS[:2], Y[:2], cv=2, random_state=0
    )
    assert two.shape[0] == 2


def test_whole_numbers_beside_a_classifier_say_which_and_not_how_much():
    codes = np.arange(60) % 3 * 10
    assert np.array_equal(of(codes), of(codes.astype(str)))
    assert of(codes, estimator=LinearRegression()).shape == (60, 1)
    assert of(codes.astype(float)).shape == (60, 1), "numbers with a point are no codes"
    assert of(np.arange(60)).shape == (60, 1), "as many codes as rows name no classes"
    assert np.array_equal(of(Y.astype(bool)), of("labels"))


@pytest.mark.parametrize("guide", [0.5, {"a": 1}])
def test_what_says_nothing_of_rows_is_no_guide(guide):
    with pytest.raises(ParameterError, match=f"Got a value of type {type(guide).__name__}"):
        of(guide)


@pytest.mark.parametrize(
    ("guide", "several"),
    [
        (["labels", "cross-fitted"], True),
        (["yes", "no"], False),
        ([DecisionTreeClassifier(), DecisionTreeClassifier()], True),
        ([np.mean, np.median], True),
        ([0.5, 0.25], False),
        ([[0.5, 0.2, 0.3], [0.1, 0.2, 0.7]], False),
        ([[0.5, 0.5], [0.1, 0.9]], True),
        ([np.zeros((2, 3)), np.zeros((2, 3))], True),
        (["labels"], True),
        (np.zeros(2), False),
    ],
)
def test_a_list_is_of_guides_or_of_what_is_said_of_each_row(guide, several):
    """Of two rows: a list of two is one thing of each, unless its members say something of both."""
    assert is_several(guide, 2) is several


def test_a_model_learns_so_many_rows_and_each_label(monkeypatch):
    sizes = []

    class Sized(KNeighborsClassifier):  # type: ignore[misc] # scikit-learn ships no types
        def fit(self, rows, y):
            sizes.append((len(rows), len(np.unique(y))))
            return super().fit(rows, y)

    rare = np.where(np.arange(60) < 3, 2, Y)
    monkeypatch.setattr(_split_targets, "MOST_LEARNED", 2)
    found = cross_fitted(Sized(1), ROWS, rare, cv=3, random_state=0)
    assert found.shape == (60, 3)
    assert all(3 <= rows <= 5 and labels == 3 for rows, labels in sizes)
    numbers = drawn(LinearRegression(), ROWS[:, 0], 10, seed=0)
    assert len(np.unique(numbers)) == 10
    assert np.array_equal(drawn(LinearRegression(), ROWS[:, 0], 60, seed=0), np.arange(60))
