"""AnonymizedEstimator among scikit-learn's: searches, pipelines, checks, and rows of every kind."""

from __future__ import annotations

import warnings
from collections import defaultdict
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

import halfmask as hm
from halfmask._errors import ColumnNotFoundError, ParameterError, SchemaError
from halfmask.training import AnonymizedEstimator

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)

#: Checks whose errors say the same in other words than scikit-learn's.
OTHER_WORDS = {
    "check_estimators_empty_data_messages",
    "check_fit2d_predict1d",
    "check_requires_y_none",
    "check_supervised_y_2d",
    "check_classifier_data_not_an_array",
    "check_transformer_data_not_an_array",
}


def of(estimator=None, **settings):
    usual: dict[str, Any] = {
        "guarantees": [hm.KAnonymity(k=10)],
        "representative": "centroid",
    }
    return AnonymizedEstimator(estimator or LogisticRegression(), **usual | settings)


def smallest(model, rows, y):
    """Count naively the classes of what the model is given."""
    written = model.fit_transform(rows, y)
    kept = written[~np.isnan(written).all(axis=1)][:, model.encoder_.depends_]
    counts: dict[tuple[float, ...], int] = defaultdict(int)
    for row in kept.tolist():
        counts[tuple(row)] += 1
    return min(counts.values())


@pytest.mark.slow
def test_it_keeps_scikit_learns_contract():
    model = of(guarantees=[hm.KAnonymity(k=2)], split_targets="labels")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(model, on_fail=None)
    failed = {each["check_name"] for each in results if each["status"] == "failed"}
    assert failed <= OTHER_WORDS
    assert len(results) > 40


def test_it_is_what_its_estimator_is():
    assert is_classifier(of())
    assert is_regressor(of(LinearRegression()))
    assert not is_classifier(of(LinearRegression()))
    tags = get_tags(of(DecisionTreeClassifier()))  # which learns labels of several columns
    assert not tags.classifier_tags.multi_label
    assert not tags.target_tags.multi_output


@pytest.mark.slow
def test_it_can_be_searched_piped_and_cloned():
    grid = {"guarantees": [[hm.KAnonymity(k=k)] for k in (5, 60)]}
    search = GridSearchCV(of(split_targets="labels"), grid, cv=2, scoring="roc_auc")
    search.fit(X, Y)
    assert search.best_score_ > 0.9
    assert search.best_estimator_.judgements_[0].holds
    pipe = make_pipeline(StandardScaler(), of(split_targets="labels")).fit(X, Y)
    assert pipe.score(X, Y) > 0.9
    fitted = of(split_targets="labels").fit(X, Y)
    again = clone(fitted)
    assert not hasattr(again, "model_")
    assert np.array_equal(again.fit(X, Y).representatives_, fitted.representatives_)


@pytest.mark.slow
def test_a_frozen_guide_survives_cloning():
    guide = FrozenEstimator(LogisticRegression().fit(X, Y))
    assert cross_val_score(of(split_targets=guide), X, Y, cv=2).min() > 0.9


def test_the_order_of_rows_doesnt_matter():
    order = RNG.permutation(200)
    model = of(split_targets="labels", representative="centroid")
    one = clone(model).fit_transform(X, Y)
    other = clone(model).fit_transform(X[order], Y[order])
    assert np.allclose(one[order], other)


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    "ask", ["predict", "predict_proba", "decision_function", "transform", "encode"]
)
def test_before_a_fit_and_after_one_that_failed_it_isnt_fitted(ask):
    with pytest.raises(NotFittedError):
        getattr(of(), ask)(X)
    model = of()
    for refit in (model.fit, model.fit_protect):
        model.fit(X, Y)
        with pytest.raises(ParameterError):
            refit(X, Y[:5])
        assert not hasattr(model, "model_")
        with pytest.raises(NotFittedError):
            getattr(model, ask)(X)
        with pytest.raises(NotFittedError):
            model.score(X, Y)


@pytest.mark.slow
def test_it_knows_its_columns():
    model = of().fit(X, Y)
    assert model.n_features_in_ == 3
    assert not hasattr(model, "feature_names_in_")
    with pytest.raises(SchemaError, match="2 features"):
        model.predict(X[:, :2])
    model.fit(pl.DataFrame(X, schema=["a", "b", "c"]), Y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ColumnNotFoundError, match="'a'"):
        model.predict(X)


@pytest.mark.slow
def test_columns_may_be_named_by_numbers_or_places_in_any_order():
    frame = pd.DataFrame(X)
    expected = of(quasi_identifiers=[0, 2], representative="quantile-spread").fit(X, Y)
    for rows, names in (
        (pl.DataFrame(X, schema=list("abc")), ["a", "c"]),
        (frame, [2, 0]),
        (frame, ["0", "2"]),
        (X, [2, 0, 2]),
        (frame.rename(columns=dict(enumerate("abc"))), [np.int64(0), "c"]),
    ):
        model = of(quasi_identifiers=names, representative="quantile-spread").fit(rows, Y)
        assert np.allclose(model.representatives_, expected.representatives_)
    for unknown in ([3], [-1], ["x7"]):
        with pytest.raises(ColumnNotFoundError):
            of(quasi_identifiers=unknown).fit(X, Y)


def test_columns_that_share_a_name_are_refused():
    with pytest.raises(SchemaError, match="share a name"):
        of().fit(pd.DataFrame(X, columns=["a", "a", "b"]), Y)


def mixed():
    return pl.DataFrame(
        {
            "age": RNG.integers(18, 80, 200),
            "job": RNG.choice(["a", "b", "c"], 200),
            "miss": [None if i % 4 == 0 else float(i % 7) for i in range(200)],
            "flag": RNG.random(200) > 0.5,
            "sec": RNG.choice(["x", "y", "z"], 200),
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize("targets", [None, "labels", "cross-fitted"])
@pytest.mark.parametrize("representative", ["centroid", "quantile-spread"])
def test_l_and_t_hold_in_what_the_model_is_given(targets, representative):
    rows = mixed()
    y = np.where(RNG.random(200) < 0.2, 0, (rows["age"] > 45).to_numpy().astype(int))
    for guarantee, values in (
        (hm.DistinctLDiversity(l=2, column="label"), y),
        (hm.TCloseness(t=0.3, column="label"), y),
        (hm.DistinctLDiversity(l=3, column="sec"), rows["sec"].to_numpy()),
    ):
        model = of(
            guarantees=[hm.KAnonymity(k=7), guarantee],
            split_targets=targets,
            quasi_identifiers=["miss", "flag", "age"],
            representative=representative,
        )
        written = model.fit_transform(rows, y)
        kept = ~np.isnan(written).all(axis=1)
        groups = defaultdict(list)
        for point, value in zip(
            written[kept][:, model.encoder_.depends_].tolist(), values[kept], strict=True
        ):
            groups[tuple(point)].append(value)
        assert min(map(len, groups.values())) >= 7
        if isinstance(guarantee, hm.TCloseness):
            whole = values[kept].mean()
            assert max(abs(np.mean(each) - whole) for each in groups.values()) <= 0.3 + 1e-9
        else:
            assert min(len(set(each)) for each in groups.values()) >= guarantee.l


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "k"),
    [
        (X[:, :1], 10),
        (X, 1),
        (X, 200),
        (np.ones((200, 2)), 10),
        (np.column_stack([X[:, 0], np.full(200, 7.1)]), 10),
        (X * 1e300, 10),
        (X > 0, 10),
        (np.where(X > 1, np.nan, X), 10),
        (X.tolist(), 10),
        (np.array([["a"], ["b"]] * 100), 10),
    ],
    ids=[
        "one column",
        "k=1",
        "k=n",
        "constants",
        "one constant",
        "huge",
        "truths",
        "missing",
        "lists",
        "texts",
    ],
)
def test_k_holds_at_the_ends(rows, k):
    model = of(guarantees=[hm.KAnonymity(k=k)], split_targets="labels", representative="chosen")
    assert smallest(model, rows, Y) >= k


@pytest.mark.slow
def test_only_a_constant_may_be_known():
    rows = np.column_stack([X[:, 0], np.full(200, 7.1)])
    model = of(quasi_identifiers=[1]).fit(rows, Y)
    assert not model.encoder_.depends_.any()
    assert np.allclose(model.fit_transform(rows, Y), model.encode(rows))


@pytest.mark.parametrize("scale", [1.0, 0.001, 1e200])
def test_numbers_of_any_size_are_learned(scale):
    y = (0.5 + 0.2 * X[:, 0]) * scale  # at 1 and 0.001 they look like probabilities
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # scikit-learn squares them
        model = of(LinearRegression(), representative="chosen").fit(X, y)
    assert np.isfinite(model.representatives_).all()
    assert np.abs(model.predict(X) - y).mean() < 0.1 * scale


@pytest.mark.slow
def test_a_column_with_the_name_of_the_label_is_refused_where_both_are_meant():
    rows = pl.DataFrame(X, schema=["a", "b", "label"])
    diverse = [hm.KAnonymity(k=10), hm.DistinctLDiversity(l=2, column="label")]
    with pytest.raises(ParameterError, match="a column has that name"):
        of(guarantees=diverse).fit(rows, Y)
    named = [hm.KAnonymity(k=10), hm.DistinctLDiversity(l=2, column="y")]
    with pytest.raises(ColumnNotFoundError):
        of(guarantees=named).fit(rows, Y)
    assert of().fit(rows, Y).judgements_[0].holds


@pytest.mark.slow
def test_rows_at_runtime_that_miss_what_never_was_missing_have_no_class():
    model = of().fit(X, Y)
    with pytest.raises(SchemaError, match="2 rows"):
        model.transform(np.full((2, 3), np.nan))
    assert model.predict(np.full((2, 3), np.nan)).shape == (2,)
    with_missing = of().fit(np.where(X > 1, np.nan, X), Y)
    assert with_missing.transform(np.full((2, 3), np.nan)).shape == (2, 3)


def test_fitted_rows_are_found_in_their_classes_again():
    for targets in (None, "labels"):
        model = of(split_targets=targets)
        assert np.array_equal(model.fit_transform(X, Y), model.transform(X))


def test_a_pipeline_that_ends_in_it_writes_frames():
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(d=np.where(X[:, 0] > 0, "u", "v"))
    model = of(split_targets="labels").set_output(transform="pandas").fit(frame, Y)
    written = model.transform(frame)
    assert list(written.columns) == ["a", "b", "c", "d_u", "d_v"]
    assert np.array_equal(written.to_numpy(), clone(model).set_output(transform="default")
                          .fit(frame, Y).transform(frame))  # fmt: skip
    pipe = make_pipeline(StandardScaler(), of(split_targets="labels")).set_output(
        transform="polars"
    )
    assert pipe.fit(frame[["a", "b", "c"]], Y).transform(frame[["a", "b", "c"]]).shape == (200, 3)


def test_an_encoder_that_cant_name_its_columns_has_them_numbered():
    class Twice:
        def fit(self, rows):  # noqa: ARG002 # scikit-learn's
            return self

        def transform(self, rows):
            return np.hstack([rows, rows])

        def get_params(self, **_):
            return {}

    model = of(split_targets="labels", encoder=Twice()).fit(X, Y)
    assert list(model.get_feature_names_out()) == ["x0", "x1", "x2", "x3", "x4", "x5"]


def test_a_score_may_be_weighted():
    model = of(split_targets="labels").fit(X, Y)
    weights = (model.predict(X) == Y).astype(float)
    assert model.score(X, Y, sample_weight=weights) == 1.0
    assert model.score(X, Y) < 1.0
    assert np.allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))


def test_lazy_rows_are_read():
    frame = pl.DataFrame(X)
    model = of(split_targets="labels").fit(frame.lazy(), Y)
    assert np.array_equal(model.predict(frame.lazy()), model.predict(frame))
    assert np.array_equal(model.transform(frame.lazy()), model.transform(frame))


def test_decimals_that_arent_recoded_reach_a_tree():
    frame = pl.DataFrame(X, schema=["a", "b", "c"]).with_columns(
        paid=pl.Series([1, 2, 7, 9] * 50).cast(pl.Decimal(10, 2))
    )
    model = AnonymizedEstimator(
        DecisionTreeClassifier(random_state=0),
        guarantees=[hm.KAnonymity(k=10)],
        quasi_identifiers=["a"],
    )
    assert model.fit(frame, Y).score(frame, Y) > 0.6
