"""What the inner model wants and says: its labels, its own errors, its precision, its progress."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import GaussianNB

import halfmask as hm
from halfmask._errors import DataError, ParameterError
from halfmask.training import _fitting

ROWS = np.random.default_rng(0).normal(size=(80, 2))
PLACES = (ROWS[:, 0] > 0).astype(int)
TEXTS = np.where(PLACES == 1, "CANARY", "b")


class LikeXGBoost(ClassifierMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn's
    """Takes labels 0, 1, 2, ... only, as XGBClassifier does, and says so in its words."""

    def fit(self, rows, y):
        self.classes_ = np.unique(y)
        wanted = np.arange(len(self.classes_))
        if self.classes_.dtype.kind not in "iu" or not np.array_equal(self.classes_, wanted):
            raise ValueError(
                "Invalid classes inferred from unique values of `y`.  "
                f"Expected: {wanted}, got {self.classes_}"
            )
        self.model_ = GaussianNB().fit(rows, y)
        return self

    def predict(self, rows):
        return self.model_.predict(rows)


class Single(GaussianNB):  # type: ignore[misc] # the same
    """Takes single precision only, as networks on a graphics card do."""

    def fit(self, rows, y):
        if rows.dtype != np.float32:
            raise TypeError("expected Float, got Double")
        return super().fit(rows, y)

    def predict(self, rows):
        if rows.dtype != np.float32:
            raise TypeError("expected Float, got Double")
        return super().predict(rows)


def of(estimator, **settings):
    usual = {"guarantees": [hm.KAnonymity(k=5)], "representative": "centroid"}
    return hm.AnonymizedEstimator(estimator, **usual | settings)


def test_labels_that_a_model_doesnt_take_are_told_as_that_with_the_cause():
    with pytest.raises(DataError, match="couldn't be fitted") as told:
        of(LikeXGBoost()).fit(ROWS, TEXTS)
    assert "LabelEncoder" in str(told.value)
    assert str(told.value).index("LabelEncoder") < str(told.value).index("encoder=")
    assert "CANARY" not in str(told.value)
    assert isinstance(told.value.__cause__, ValueError)
    assert "Invalid classes" in str(told.value.__cause__)
    assert (of(LikeXGBoost()).fit(ROWS, PLACES).predict(ROWS) == PLACES).mean() > 0.9


def test_whole_numbers_that_dont_begin_at_0_are_told_alike():
    with pytest.raises(DataError, match="0, 1, 2"):
        of(LikeXGBoost()).fit(ROWS, PLACES + 1)


@pytest.mark.parametrize(
    "y", [np.column_stack([PLACES, 1 - PLACES]), np.zeros((80, 3)), np.zeros((80, 1, 1))]
)
def test_y_of_several_columns_is_told_as_that(y):
    shape = re.escape(str(y.shape))
    with pytest.raises(ParameterError, match=rf"y must be one column.*Got shape {shape}") as told:
        of(GaussianNB()).fit(ROWS, y)
    assert "as many rows" not in str(told.value)
    assert "argmax" in str(told.value)


def test_weights_of_rows_are_refused_in_words():
    with pytest.raises(ParameterError, match="takes no sample_weight: guarantees count rows"):
        of(GaussianNB()).fit(ROWS, PLACES, sample_weight=np.ones(80))
    with pytest.raises(ParameterError, match=r"takes rows and labels\. Got epochs too"):
        of(GaussianNB()).fit(ROWS, PLACES, epochs=3)


@pytest.mark.slow
@pytest.mark.parametrize("representative", ["centroid", "chosen", "quantile-spread"])
@pytest.mark.parametrize("kind", ["array", "polars", "pandas"])
def test_rows_in_single_precision_reach_the_model_so(kind, representative):
    rows = ROWS.astype(np.float32)
    frame = pl.DataFrame(rows)
    given = {"array": rows, "polars": frame, "pandas": frame.to_pandas()}[kind]
    model = of(Single(), representative=representative).fit(given, PLACES)
    assert (model.predict(given) == PLACES).mean() > 0.8
    assert model.encode(given).dtype == np.float32
    assert model.transform(given).dtype == np.float32
    assert of(GaussianNB()).fit(ROWS, PLACES).encode(ROWS).dtype == np.float64


def test_an_encoder_of_ones_own_says_the_precision():
    class Narrow(BaseEstimator):  # type: ignore[misc] # the same
        def fit(self, rows, y=None):  # noqa: ARG002 # the same
            return self

        def transform(self, rows):
            return np.asarray(rows, dtype=np.float32)

    model = of(Single(), encoder=Narrow()).fit(ROWS, PLACES)
    assert (model.predict(ROWS) == PLACES).mean() > 0.8


def test_a_fit_that_is_asked_to_tells_what_it_is_at(capsys):
    of(GaussianNB(), verbose=2).fit(ROWS, PLACES)
    said = capsys.readouterr().out.splitlines()
    assert all(re.fullmatch(r"\[AnonymizedEstimator\] .* \(\d+\.\d s\)", line) for line in said)
    assert "encoding rows and predicting split targets" in said[0]
    assert "model 1: training GaussianNB on" in said[1]
    assert any("partitioning" in line for line in said)
    assert any("retraining" in line for line in said)
    trained = sum("training GaussianNB" in line for line in said)
    assert f"done, {trained} models were trained" in said[-1]
    of(GaussianNB()).fit(ROWS, PLACES)
    assert capsys.readouterr().out == ""


def test_with_1_only_stages_are_told_while_trainings_are_quick(capsys, monkeypatch):
    monkeypatch.setattr(_fitting, "SECONDS", 1e9)
    of(GaussianNB(), verbose=1).fit(ROWS, PLACES)
    assert "training GaussianNB" not in capsys.readouterr().out
    monkeypatch.setattr(_fitting, "SECONDS", 0.0)
    of(GaussianNB(), verbose=1).fit(ROWS, PLACES)
    assert "training GaussianNB" in capsys.readouterr().out


def test_a_fit_that_fails_leaves_no_progress_behind(capsys):
    with pytest.raises(DataError):
        of(LikeXGBoost(), verbose=2).fit(ROWS, TEXTS)
    capsys.readouterr()
    of(GaussianNB()).fit(ROWS, PLACES)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("verbose", [-1, 0.5, "yes"])
def test_how_much_is_told_is_a_whole_number(verbose):
    with pytest.raises(ParameterError, match="verbose"):
        of(GaussianNB(), verbose=verbose).fit(ROWS, PLACES)
