"""Discreet: guides that are given aren't printed, all else is."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from halfmask.anonymize.training import AnonymizedEstimator
from halfmask.guarantees import KAnonymity


def of(guide):
    return AnonymizedEstimator(LogisticRegression(), guarantees=[KAnonymity(k=10)], guide=guide)


@pytest.mark.parametrize(
    "guide", [np.array(["CANARY"] * 30), ["labels", np.array(["CANARY"] * 30)], ("CANARY",)]
)
def test_a_guide_that_is_given_isnt_printed(guide):
    model = of(guide)
    assert "CANARY" not in repr(model) + model._repr_html_()
    assert "guide='given'" in repr(model)
    assert model.guide is guide
    assert type(clone(model).guide) is type(guide)


def test_all_else_is_printed():
    assert "k=10" in repr(of("labels"))
    assert "guide='labels'" in repr(of("labels"))
    assert "guide=LogisticRegression" in repr(of(LogisticRegression()))
    assert "guide" not in repr(of("cross-fitted"))
