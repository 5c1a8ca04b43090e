"""RedactedReprMixin: split targets that are given aren't printed, all else is."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from halfmask.guarantees import KAnonymity
from halfmask.training import AnonymizedEstimator


def of(guide):
    return AnonymizedEstimator(
        LogisticRegression(), guarantees=[KAnonymity(k=10)], split_targets=guide
    )


@pytest.mark.parametrize(
    "guide", [np.array(["CANARY"] * 30), ["labels", np.array(["CANARY"] * 30)], ("CANARY",)]
)
def test_a_guide_that_is_given_isnt_printed(guide):
    model = of(guide)
    assert "CANARY" not in repr(model) + model._repr_html_()
    assert "split_targets='given'" in repr(model)
    assert model.split_targets is guide
    assert type(clone(model).split_targets) is type(guide)


@pytest.mark.parametrize("representative", ["centroid", "quantile-spread"])
def test_a_notebook_shows_no_point(representative):
    model = of("labels").set_params(representative=representative, encoder=FunctionTransformer())
    model.fit(pl.DataFrame({"age": [70_001 + n % 9 for n in range(60)]}), [0, 1] * 30)
    assert "7000" in str(model.representatives_)
    for shown in (model._repr_html_(), make_pipeline(model)._repr_html_()):
        assert "representatives_" in shown
        assert "not shown" in shown
        assert "n_features_in_" in shown
        assert "7000" not in shown


@pytest.mark.slow
def test_a_notebook_shows_no_category_and_no_label():
    model = of("labels")
    jobs = pl.DataFrame({"job": [f"CANARY{n % 3}" for n in range(60)]})
    model.fit(jobs, [f"CANARY{n % 2}" for n in range(60)])
    assert "CANARY" not in repr(model) + model._repr_html_()
    assert model.get_feature_names_out()[0] == "job_CANARY0"


def test_all_else_is_printed():
    assert "k=10" in repr(of("labels"))
    assert "split_targets='labels'" in repr(of("labels"))
    assert "split_targets=LogisticRegression" in repr(of(LogisticRegression()))
    assert "split_targets" not in repr(of("cross-fitted"))
    assert "split_targets=None" in repr(of(None))
