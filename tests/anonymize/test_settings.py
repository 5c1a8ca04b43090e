"""Settings: what is of another kind is told by its parameter, by every estimator alike."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import halfmask as hm
from halfmask._errors import ParameterError
from halfmask.anonymize import Anonymizer, Guided
from halfmask.data import Intervals
from halfmask.minimize import Minimizer
from halfmask.training import AnonymizedEstimator

ROWS = np.random.default_rng(0).normal(size=(60, 2))
Y = (ROWS[:, 0] > 0).astype(int)
TWO = hm.KAnonymity(k=2)


def anonymizer(**settings):
    return Anonymizer(**{"guarantees": [TWO]} | settings).fit(ROWS, Y)


def model(**settings):
    usual = {"guarantees": [TWO], "split_targets": "labels", "representative": "centroid"}
    return AnonymizedEstimator(LogisticRegression(), **usual | settings).fit(ROWS, Y)


def minimizer(**settings):
    usual = {"target_accuracy": 0.9, "random_state": 0}
    return Minimizer(lambda rows: rows[:, 0] > 0, **usual | settings).fit(ROWS)


@pytest.mark.parametrize("fit", [anonymizer, model])
@pytest.mark.parametrize("guarantees", [None, TWO, ["CANARY"], {"k": 3}, hm.KAnonymity])
def test_guarantees_are_a_list_of_them(fit, guarantees):
    with pytest.raises(ParameterError, match="'guarantees' parameter") as caught:
        fit(guarantees=guarantees)
    assert "CANARY" not in str(caught.value)
    assert fit(guarantees=(TWO,)) is not None


@pytest.mark.parametrize("method", ["guided", Guided, 3])
def test_a_method_is_one(method):
    with pytest.raises(ParameterError, match="'method' parameter"):
        anonymizer(method=method)
    assert anonymizer(method=Guided()) is not None


@pytest.mark.parametrize("fit", [anonymizer, minimizer])
@pytest.mark.parametrize("hierarchies", [{"x0": 3}, {"x0": "CANARY"}, [3]])
def test_hierarchies_are_hierarchies_or_their_rules(fit, hierarchies):
    with pytest.raises(ParameterError, match="'hierarchies' parameter") as caught:
        fit(hierarchies=hierarchies)
    assert "CANARY" not in str(caught.value)
    assert fit(hierarchies={"x0": Intervals(widths=(1, 10))}) is not None


@pytest.mark.parametrize("fit", [anonymizer, model])
def test_one_text_is_no_list_of_columns(fit):
    with pytest.raises(ParameterError, match="'quasi_identifiers' parameter"):
        fit(quasi_identifiers="x0")
    assert fit(quasi_identifiers=["x0"]) is not None


@pytest.mark.parametrize("setting", ["features", "categorical"])
def test_one_text_is_no_list_of_features(setting):
    with pytest.raises(ParameterError, match=f"'{setting}' parameter"):
        minimizer(**{setting: "x0"})
    assert minimizer(features=["x0"]) is not None
