"""AnonymizedEstimator: guarantees counted again, split targets of every kind, what it refuses."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import halfmask as hm
from halfmask._errors import (
    ColumnNotFoundError,
    ParameterError,
    SchemaError,
)
from halfmask.training import (
    REPRESENTATIVES,
    AnonymizedEstimator,
    _estimator,
)
from halfmask.training._candidates import Partitioned, partitioned

K = [hm.KAnonymity(k=10)]


def of(estimator=None, **settings):
    usual = {"guarantees": K, "representative": "centroid"}
    estimator = LogisticRegression() if estimator is None else estimator
    return AnonymizedEstimator(estimator, **usual | settings)


def people(n: int = 400, seed: int = 0) -> tuple[pl.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n)
    job = rng.choice(["cook", "nurse", "smith"], n)
    pay = rng.normal(size=n)
    y = (age / 30 + (job == "nurse") + 0.5 * pay + 0.3 * rng.normal(size=n) > 2).astype(int)
    return pl.DataFrame({"age": age, "job": job, "pay": pay}), y


def classes_of(matrix: np.ndarray) -> np.ndarray:
    """Count rows that are alike, one by one."""
    counts: dict[bytes, int] = {}
    for row in matrix:
        counts[row.tobytes()] = counts.get(row.tobytes(), 0) + 1
    return np.array(sorted(counts.values()))


@pytest.mark.mostly_slow
@pytest.mark.parametrize("representative", [*REPRESENTATIVES, "chosen"])
@pytest.mark.parametrize("predict_on", ["raw", "transformed", "chosen"])
def test_every_class_keeps_k_in_what_the_model_is_given(representative, predict_on):
    rows, y = people()
    model = of(representative=representative, predict_on=predict_on)
    written, labels = model.fit_protect(rows, y)
    several = len(model.representatives_)
    assert written.shape == (several * 400, 5)
    assert np.array_equal(labels, np.tile(y, several))
    people_ = np.hstack(np.split(written, several))
    assert classes_of(np.ascontiguousarray(people_)).min() >= 10


@pytest.mark.slow
def test_a_class_below_k_leaves_no_model(monkeypatch):
    def careless(data):
        found = partitioned(data)
        cells = found.anonymizer.cells_
        cells[np.flatnonzero(cells == 0)[:9]] = cells.max() + 1  # nine of ten are a class alone
        return found

    rows, y = people()
    model = of().fit(rows, y)
    monkeypatch.setattr(_estimator, "partitioned", careless)
    with pytest.raises(hm.GuaranteeNotMetError, match="fewer than 10 rows"):
        model.fit(rows, y)
    assert not hasattr(model, "model_")


@pytest.mark.slow
def test_one_row_with_a_representative_of_its_own_leaves_no_model(monkeypatch):
    """The second of four representatives differs for one row only."""

    def leaking(found, representatives, **settings):
        written = real(found, representatives, **settings)
        written.rows[len(written.rows) // 4, 0] += 1e-9
        return written

    real = Partitioned.written
    rows, y = people()
    model = of(representative="quantile-spread").fit(rows, y)
    monkeypatch.setattr(Partitioned, "written", leaking)
    with pytest.raises(hm.GuaranteeNotMetError):
        model.fit(rows, y)
    assert not hasattr(model, "model_")


@pytest.mark.slow
def test_classes_whose_labels_miss_a_guarantee_leave_no_model(monkeypatch):
    def careless(data):
        found = partitioned(data)
        label = pl.lit(0, dtype=data.table["label"].dtype).alias("label")
        return replace(found, data=replace(data, table=data.table.with_columns(label)))

    rows, y = people()
    promised = [*K, hm.DistinctLDiversity(l=2, column="label")]
    model = of(guarantees=promised).fit(rows, y)
    monkeypatch.setattr(_estimator, "partitioned", careless)
    with pytest.raises(hm.GuaranteeNotMetError, match="miss DistinctLDiversity"):
        model.fit(rows, y)
    assert not hasattr(model, "model_")


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    "targets",
    [
        "cross-fitted",
        "fitted",
        "labels",
        None,
        lambda rows: rows[:, 0],
        np.linspace(0, 1, 400),
        ["labels", lambda rows: rows[:, 1]],
        np.array(["a", "b"] * 200),
    ],
    ids=["cross-fitted", "fitted", "labels", "none", "callable", "numbers", "several", "texts"],
)
def test_every_kind_of_split_targets_guides(targets):
    rows, y = people()
    model = of(split_targets=targets, representative="quantile-spread")
    assert classes_of(model.fit_transform(rows, y)).min() >= 10


def test_guided_classes_keep_more_than_mondrians():
    """Of five columns one tells of the label; Mondrian's cuts part all alike."""
    rows = np.random.default_rng(0).normal(size=(4000, 5))
    y = (rows[:, 0] > 0.5).astype(int)

    def score(targets):
        model = of(
            DecisionTreeClassifier(max_depth=4, random_state=0),
            guarantees=[hm.KAnonymity(k=300)],
            split_targets=targets,
            representative="quantile-spread",
        )
        return model.fit(rows[:2000], y[:2000]).score(rows[2000:], y[2000:])

    assert score("cross-fitted") > score(None) + 0.05


@pytest.mark.slow
def test_a_fit_trains_at_most_twelve_models():
    class Counted(LogisticRegression):  # type: ignore[misc] # scikit-learn ships no types
        trained = 0

        def fit(self, X, y, sample_weight=None):
            type(self).trained += 1
            return super().fit(X, y, sample_weight)

    rows, y = people()
    of(Counted(), representative="chosen").fit(rows, y)
    assert Counted.trained == 10  # three of folds, two candidates in three folds, the last
    Counted.trained = 0
    of(Counted()).fit(rows, y)
    assert Counted.trained == 4


@pytest.mark.slow
def test_rows_at_runtime_take_the_representatives_of_their_classes():
    rows, y = people()
    model = of(representative="chosen").fit(rows, y)
    later, _ = people(50, seed=5)
    written = model.transform(later)
    points = {point.tobytes() for point in model.representatives_[0]}
    assert all(row.tobytes() in points for row in written)
    unseen = later.with_columns(pl.lit("queen").alias("job"))
    with pytest.raises(SchemaError, match="50 rows"):
        model.transform(unseen)


def test_transformed_rows_are_predicted_alike_within_a_class_and_unseen_ones_stay_raw():
    rows, y = people()
    model = of(
        DecisionTreeClassifier(random_state=0), predict_on="transformed", representative="chosen"
    ).fit(rows, y)
    assert model.representative_ == "centroid"
    later, y_later = people(500, seed=5)
    assert np.array_equal(model.predict(later), model.model_.predict(model.transform(later)))
    cells = model.anonymizer_.plan_.cells(later)
    shares = model.predict_proba(later)
    assert all(len(np.unique(shares[cells == cell], axis=0)) == 1 for cell in np.unique(cells))
    raw = clone(model).set_params(predict_on="raw", representative="centroid").fit(rows, y)
    assert model.score(later, y_later) > raw.score(later, y_later)  # the tree has seen centroids
    queens = later.with_columns(pl.lit("queen").alias("job"))
    assert np.array_equal(model.predict(queens), model.model_.predict(model.encode(queens)))


def test_another_model_of_the_rows_and_labels_is_the_model():
    rows, y = people(500)
    forest = RandomForestClassifier(5, random_state=0)
    model = of(forest, quasi_identifiers=["age", "job"], representative="quantile-spread")
    written, labels = model.fit_protect(rows, y)
    assert len(written) == len(labels) == 2000
    encoded = model.encode(rows)
    again = clone(forest).fit(written, labels).predict_proba(encoded)
    assert np.array_equal(again, model.model_.predict_proba(encoded))
    assert np.array_equal(written[:500], clone(model).fit_transform(rows, y))


@pytest.mark.slow
@settings(max_examples=15)
@given(st.integers(2, 60), st.integers(0, 99), st.booleans())
def test_k_holds_for_any_k_and_other_columns_stay(k, seed, all_columns):
    rows, y = people(150, seed)
    names = None if all_columns else ["age", "job"]
    model = of(
        DecisionTreeClassifier(random_state=0),
        guarantees=[hm.KAnonymity(k=k)],
        quasi_identifiers=names,
        split_targets="labels",
        representative="quantile-spread",
    )
    written = model.fit_transform(rows, y)
    depends = model.encoder_.depends_
    assert classes_of(np.ascontiguousarray(written[:, depends])).min() >= k
    assert depends.sum() == (5 if all_columns else 4)
    raw = model.encode(rows)
    assert np.array_equal(written[:, ~depends], raw[:, ~depends])


@pytest.mark.slow
def test_guarantees_on_the_label_hold_while_classes_grow():
    rows, y = people(600)
    promised = [hm.KAnonymity(k=10), hm.DistinctLDiversity(l=2, column="label")]
    model = of(guarantees=promised, representative="chosen").fit(rows, y)
    assert [judgement.holds for judgement in model.judgements_] == [True, True]
    cells = model.anonymizer_.cells_
    assert all(len(set(y[cells == cell])) == 2 for cell in np.unique(cells))
    alone = of(representative="chosen").fit(rows, y)
    cells = alone.anonymizer_.cells_
    assert any(len(set(y[cells == cell])) == 1 for cell in np.unique(cells))


@pytest.mark.parametrize(
    "as_labels", [np.asarray, lambda y: y.astype(float), lambda y: y.astype(object)]
)
def test_closeness_of_numeric_labels_goes_by_their_size(as_labels):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(600, 2))
    y = np.clip(np.round(4 * rows[:, 0] + rng.normal(size=600) + 7), 1, 12).astype(int)
    promised = [hm.KAnonymity(k=10), hm.TCloseness(t=0.25, column="label", distance="ordered")]
    model = of(LinearRegression(), guarantees=promised, split_targets="labels").fit(
        rows, as_labels(y)
    )
    values = np.unique(y)
    whole = np.array([(y == value).mean() for value in values])
    farthest = max(
        np.abs(np.cumsum(np.array([(y[inside] == v).mean() for v in values]) - whole)).sum()
        / (len(values) - 1)
        for inside in (model.anonymizer_.cells_ == cell for cell in set(model.anonymizer_.cells_))
    )
    assert farthest == pytest.approx(model.judgements_[1].achieved)
    assert 0.05 < farthest <= 0.25


@pytest.mark.slow
@pytest.mark.parametrize("distance", ["ordered", "hierarchical"])
def test_labels_are_counted_again_by_their_hierarchy_too(distance):
    # It knows a label that nobody has.
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(300, 2))
    y = np.digitize(rows[:, 0] + rng.normal(size=300), [-2.5, 0.0, 1.0])
    tree = hm.Hierarchy.from_rows(
        [("0", "low"), ("1", "low"), ("2", "high"), ("3", "high"), ("9", "high")], column="label"
    )
    close = hm.TCloseness(t=0.3, column="label", distance=distance, hierarchy=tree)
    model = of(guarantees=[*K, close]).fit(rows, y)
    assert [judgement.holds for judgement in model.judgements_] == [True, True]
    assert len(set(model.anonymizer_.cells_)) > 2


@pytest.mark.slow
def test_a_model_of_anonymized_people_keeps_most_of_its_accuracy():
    rows, y = people(2000)
    test, y_test = people(2000, seed=1)
    model = of(guarantees=[hm.KAnonymity(k=50)], representative="chosen")
    model.fit(rows, y)
    raw = LogisticRegression().fit(model.encode(rows), y)
    assert model.score(test, y_test) > raw.score(model.encode(test), y_test) - 0.03
    assert model.predict(test).shape == (2000,)
    assert model.predict_proba(test).shape == (2000, 2)


def test_regression_is_guided():
    rows, _ = people(800)
    y = rows["age"].to_numpy() * 2.0 + rows["pay"].to_numpy()
    model = of(LinearRegression(), representative="chosen").fit(rows, y)
    assert model.score(rows, y) > 0.9
    assert not hasattr(model, "predict_proba")
    assert classes_of(model.fit_transform(rows, y)).min() >= 10


def test_several_classes_lead_by_their_probabilities():
    rows, _ = people(900)
    y = np.digitize(rows["age"].to_numpy(), [38, 58])
    model = of(DecisionTreeClassifier(random_state=0), representative="chosen")
    model.fit(rows, y)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.score(rows, y) > 0.9


def test_a_fitted_estimator_keeps_no_labels():
    rows, _ = people(300)
    y = np.random.default_rng(1).normal(size=300)
    model = of(LinearRegression(), representative="chosen")
    _, labels = model.fit_protect(rows, y)
    assert np.array_equal(labels, np.tile(y, len(model.representatives_)))
    saved = pickle.dumps(model)
    assert not any(label.tobytes() in saved for label in labels)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"quasi_identifiers": ["agee"]}, ColumnNotFoundError, "age"),
        ({"cv": 1}, ParameterError, "cv"),
        ({"random_state": -1}, ParameterError, "random_state"),
        ({"guarantees": [hm.KAnonymity(k=500)]}, ParameterError, "400 rows"),
    ],
)
def test_bad_input_is_refused_by_name(change, error, message):
    rows, y = people()
    settings_ = {"estimator": LogisticRegression(), "guarantees": K} | change
    with pytest.raises(error, match=message):
        AnonymizedEstimator(**settings_).fit(rows, y)


@pytest.mark.slow
def test_an_encoder_of_the_users_own_is_followed():
    rows, y = people()
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["job"]), (StandardScaler(), ["age", "pay"])
    )
    model = of(quasi_identifiers=["age", "job"], encoder=encoder, representative="chosen")
    written = model.fit_transform(rows, y)
    assert model.encoder_.depends_.tolist() == [True, True, True, True, False]
    assert classes_of(np.ascontiguousarray(written[:, :4])).min() >= 10
