"""Prepared: what every k of the same rows begins with is what a fit begins with."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

import halfmask as hm
from halfmask._errors import ColumnNotFoundError, ParameterError
from halfmask.training import AnonymizedEstimator, guidance
from halfmask.training._prepared import prepared

RNG = np.random.default_rng(0)
ROWS = pl.DataFrame(RNG.normal(size=(240, 3)), schema=["age", "weight", "income"])
LABELS = (ROWS["age"] + ROWS["income"] > 0).to_numpy().astype(int)


def of(**settings):
    usual: dict[str, Any] = {
        "guarantees": [hm.KAnonymity(k=5)],
        "quasi_identifiers": ["weight", "age"],
    }
    return AnonymizedEstimator(LogisticRegression(), **usual | settings)


@pytest.mark.slow
@pytest.mark.parametrize("folds", [2, 5])
@pytest.mark.parametrize("seed", [0, 3])
def test_the_guide_is_cross_fitted_as_the_estimator_says(folds, seed):
    model = of(folds=folds, seed=seed)
    found = prepared(model, ROWS, LABELS, guide="cross-fitted")
    expected = guidance(
        "cross-fitted",
        LogisticRegression(),
        found.encoded,
        LABELS,
        recoded=np.array([True, True, False]),
        folds=folds,
        seed=seed,
    )
    assert np.array_equal(found.guidance.said, expected.said)
    assert found.guidance.alone is not None
    assert expected.alone is not None
    assert np.array_equal(found.guidance.alone, expected.alone)


@pytest.mark.slow
def test_rows_are_encoded_as_the_model_of_a_fit_sees_them():
    model = of().fit(ROWS, LABELS)
    found = prepared(of(), ROWS, LABELS, guide="labels")
    assert np.array_equal(found.encoded, model.encode(ROWS))
    assert found.names == ["age", "weight"]
    assert found.table.equals(ROWS)
    assert found.encoding.depends_.tolist() == [True, True, False]


def test_the_guide_that_is_given_leads_and_not_the_estimators_own():
    found = prepared(of(guide="cross-fitted"), ROWS, LABELS, guide="labels")
    assert np.array_equal(found.guidance.said.argmax(axis=1), LABELS)
    assert set(np.unique(found.guidance.said)) == {0.0, 1.0}


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"folds": 1}, ParameterError),
        ({"guarantees": hm.KAnonymity(k=5)}, ParameterError),
        ({"quasi_identifiers": ["shoe"]}, ColumnNotFoundError),
    ],
)
def test_what_cant_be_fitted_is_refused_before_anything_is_trained(settings, error):
    with pytest.raises(error):
        prepared(of(**settings), ROWS, LABELS, guide="cross-fitted")
