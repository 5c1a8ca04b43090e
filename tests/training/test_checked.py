"""Checked: what can't be fitted is told by its parameter, before anything is learned."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.exceptions import DataConversionWarning
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import halfmask as hm
from halfmask._errors import DataError, ParameterError
from halfmask.training import AnonymizedEstimator
from halfmask.training._checked import checked, flat, learns, seed_of

ROWS = np.arange(12.0).reshape(6, 2)
LABELS = np.array(["CANARY", "b"] * 3)


def told(estimator=None, **settings):
    model = DecisionTreeClassifier() if estimator is None else estimator
    return AnonymizedEstimator(model, guarantees=[hm.KAnonymity(k=2)], **settings)


def test_what_can_be_fitted_is_returned_as_a_table():
    table = checked(told(), ROWS, LABELS)
    assert table.equals(pl.DataFrame(ROWS, schema=["x0", "x1"]))
    numbers = checked(told(DecisionTreeRegressor()), ROWS, np.zeros(6))
    assert numbers.equals(table), "of numbers one is enough"


@pytest.mark.parametrize(
    ("setting", "least"),
    [("cv", 2), ("random_state", 0), ("verbose", 0)],
)
def test_whole_numbers_are_large_enough(setting, least):
    def read(value):
        model = told(**{setting: value})
        seed_of(model.random_state)
        return checked(model, ROWS, LABELS)

    assert read(least).height == 6
    for wrong in (least - 1, least + 0.5, "many"):
        with pytest.raises(ParameterError, match=setting):
            read(wrong)


@pytest.mark.parametrize("none", [[], (), np.array([], dtype=int)])
@pytest.mark.parametrize("rows", [ROWS, pl.DataFrame(ROWS)], ids=["array", "polars"])
def test_without_a_quasi_identifier_nothing_is_fitted(none, rows):
    with pytest.raises(ParameterError, match=r"'quasi_identifiers'.*names no column"):
        told(quasi_identifiers=none, predict_on="chosen").fit(rows, LABELS)


def test_a_seed_is_drawn_as_scikit_learn_does():
    state = np.random.RandomState(3)
    assert seed_of(7) == 7
    assert seed_of(state) == np.random.RandomState(3).randint(2**31 - 1)
    assert 0 <= seed_of(None) < 2**31


@pytest.mark.parametrize(
    ("setting", "wrong"),
    [("predict_on", "recoded"), ("representative", "mean"), ("representative", ["centroid"])],
)
def test_words_are_of_those_there_are(setting, wrong):
    with pytest.raises(ParameterError, match=setting):
        checked(told(**{setting: wrong}), ROWS, LABELS)


@pytest.mark.parametrize("setting", ["membership_penalty"])
def test_a_penalty_is_no_less_than_nothing(setting):
    for right in (0.0, 2.5):
        assert checked(told(**{setting: right}), ROWS, LABELS).height == 6
    for wrong in (-0.01, float("inf"), float("nan"), "much"):
        with pytest.raises(ParameterError, match=setting):
            checked(told(**{setting: wrong}), ROWS, LABELS)


@pytest.mark.parametrize(
    ("labels", "error", "words"),
    [
        (LABELS[:5], ParameterError, "as many rows"),
        (np.column_stack([LABELS, LABELS]), ParameterError, "must be one column"),
        (np.array(["CANARY"] * 6), ParameterError, "two classes. Got one class"),
        (np.array(["CANARY", None] * 3, dtype=object), DataError, "missing"),
        (
            np.array([dt.date(2020, 1, 1 + n % 2) for n in range(6)]),
            ParameterError,
            "type: unknown",
        ),
    ],
)
def test_labels_are_one_for_each_row_and_no_message_shows_one(labels, error, words):
    with pytest.raises(error, match=words) as raised:
        checked(told(), ROWS, labels)
    assert "CANARY" not in str(raised.value)


def test_labels_of_one_column_are_one_column_with_a_warning():
    labels = LABELS[:, None]
    with pytest.warns(DataConversionWarning, match="column-vector"):
        assert np.array_equal(flat(labels), LABELS)
    assert flat(list(LABELS)).shape == (6,)
    with pytest.raises(ParameterError, match="requires y to be passed"):
        flat(None)


def test_masked_labels_are_refused():
    masked = np.ma.masked_array([0, 1] * 3, [False] * 5 + [True])
    with pytest.raises(ParameterError, match="y is a masked array with 1 masked cells"):
        told().fit(ROWS, masked)


def test_numbers_that_arent_whole_are_no_labels():
    numbers = np.array([0.5, 1, 2, 0.5, 1, 2])
    with pytest.raises(ParameterError, match="Unknown label type: continuous"):
        checked(told(), ROWS, numbers)
    assert checked(told(), ROWS, np.round(numbers)).height == 6
    assert checked(told(DecisionTreeRegressor()), ROWS, numbers).height == 6


def test_numbers_in_columns_that_may_lack_some_are_numbers():
    codes = pd.Series([0, 1] * 3, dtype="Int64")
    assert flat(codes).dtype == np.int64
    assert told().fit(ROWS, codes).predict(ROWS).dtype == np.int64
    assert flat(np.array(["a", 1], dtype=object)).dtype == object
    amounts = [Decimal(each) for each in range(6)]
    assert told(DecisionTreeRegressor()).fit(ROWS, amounts).score(ROWS, amounts) > 0


@pytest.mark.parametrize(
    "estimator", [KMeans(), BaseEstimator(), None, DecisionTreeClassifier, len]
)
def test_what_learns_neither_labels_nor_numbers_is_refused(estimator):
    with pytest.raises(ParameterError, match="'estimator' parameter must be a classifier or a reg"):
        learns(estimator)
    if estimator is not None:
        with pytest.raises(ParameterError, match="classifier or a regressor"):
            checked(told(estimator), ROWS, LABELS)


def test_a_table_without_rows_has_no_labels():
    with pytest.raises(ParameterError, match=r"two classes. Got no label"):
        checked(told(), ROWS[:0], LABELS[:0])
