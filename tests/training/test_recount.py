"""Counting again: classes that are too small are seen, whatever made them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from halfmask._errors import DataError, GuaranteeNotMetError
from halfmask.guarantees import AverageRisk, DistinctLDiversity, KAnonymity, TCloseness
from halfmask.training import AnonymizedEstimator
from halfmask.training._recount import (
    count_again,
    judge_again,
    labels_known,
)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=1), st.integers(1, 5))
def test_a_class_smaller_than_k_is_seen(rows, k):
    written = np.array(rows, dtype=float)
    small = sum(count < k for count in Counter(rows).values())
    if small:
        with pytest.raises(GuaranteeNotMetError, match=f" {small} classes"):
            count_again(written, guarantees=[KAnonymity(k=k)])
    else:
        count_again(written, guarantees=[KAnonymity(k=k)])


def test_without_columns_all_rows_are_one_class():
    count_again(np.zeros((5, 0)), guarantees=[KAnonymity(k=5)])
    with pytest.raises(GuaranteeNotMetError):
        count_again(np.zeros((5, 0)), guarantees=[KAnonymity(k=6)])


def test_columns_that_arent_next_to_each_other_are_read_right():
    wide = np.arange(12.0).reshape(4, 3)
    wide[:, 0] = wide[:, 2] = 1.0
    count_again(wide[:, [True, False, True]], guarantees=[KAnonymity(k=4)])


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from("abc")), min_size=1))
def test_a_class_that_misses_a_guarantee_on_a_column_is_seen(rows):
    written = np.array([[float(cell), 7.0] for cell, _ in rows])
    columns = {"label": pl.Series([label for _, label in rows])}
    promised = [KAnonymity(k=99), DistinctLDiversity(l=2, column="label")]
    poor = sum(len({b for a, b in rows if a == cell}) < 2 for cell in {a for a, _ in rows})
    if poor:
        with pytest.raises(GuaranteeNotMetError, match=f" {poor} classes miss DistinctLDiversity"):
            judge_again(written, columns, guarantees=promised)
    else:
        judge_again(written, columns, guarantees=promised)


def test_without_columns_the_table_is_judged_as_one_class():
    alike = {"label": pl.Series(["a", "a"])}
    judge_again(np.zeros((2, 0)), alike, guarantees=[TCloseness(t=0.0, column="label")])
    with pytest.raises(GuaranteeNotMetError):
        judge_again(np.zeros((2, 0)), alike, guarantees=[DistinctLDiversity(l=2, column="label")])


def test_numbers_are_as_far_as_their_sizes_order_them():
    # By text 10 is next to 1; by size 2 is. Each half is .25 away from the table by size.
    pay = {"pay": pl.Series([1, 2, 9, 10])}
    near, far = np.array([[0.0], [1.0], [0.0], [1.0]]), np.array([[0.0], [0.0], [1.0], [1.0]])
    close = TCloseness(t=0.2, column="pay", distance="ordered")
    judge_again(near, pay, guarantees=[close])
    with pytest.raises(GuaranteeNotMetError, match="2 classes"):
        judge_again(far, pay, guarantees=[close])


def test_guarantees_on_a_column_ask_for_no_number_of_rows():
    count_again(np.arange(3.0)[:, None], guarantees=[DistinctLDiversity(l=2, column="label")])


def test_a_guarantee_of_the_whole_table_is_counted_again():
    label, rows = {"label": pl.Series(["a"] * 4)}, np.array([[0.0], [0.0], [1.0], [2.0]])
    judge_again(rows, label, guarantees=[AverageRisk(risk=0.75)])
    with pytest.raises(GuaranteeNotMetError, match="AverageRisk"):
        judge_again(rows, label, guarantees=[AverageRisk(risk=0.7)])


@pytest.mark.parametrize(
    "labels",
    [
        np.array([1.0, np.nan]),
        np.array(["CANARY", None], dtype=object),
        np.array(["CANARY", float("nan")], dtype=object),
        np.array(["CANARY", pd.NA], dtype=object),
    ],
)
def test_missing_labels_are_refused_and_not_shown(labels):
    with pytest.raises(DataError, match="missing in 1 of 2") as caught:
        labels_known(labels)
    assert "CANARY" not in str(caught.value)


def test_labels_of_two_types_are_refused():
    with pytest.raises(DataError, match="texts and other"):
        labels_known(np.array(["a", 1], dtype=object))
    for fine in (np.array([1, 2]), np.array(["a"]), np.array([True, 2], dtype=object)):
        labels_known(fine)


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
