"""AnonymizedEstimator: the promise counted again, guides of every kind, and what it refuses."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import halfmask as hm
from halfmask._errors import (
    ColumnNotFoundError,
    DataError,
    ParameterError,
    SchemaError,
)
from halfmask.training import (
    REPRESENTATIVES,
    AnonymizedEstimator,
    _estimator,
    _retraining,
)

K = [hm.KAnonymity(k=10)]


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


@pytest.mark.slow
@pytest.mark.parametrize("representative", [*REPRESENTATIVES, "chosen"])
def test_every_class_keeps_k_in_what_the_model_is_given(representative):
    rows, y = people()
    model = AnonymizedEstimator(
        LogisticRegression(), guarantees=K, representative=representative, refinements=2
    )
    assert classes_of(model.fit_transform(rows, y)).min() >= 10


@settings(max_examples=15)
@given(st.integers(2, 60), st.integers(0, 99), st.booleans())
def test_k_holds_for_any_k_and_other_columns_stay(k, seed, all_columns):
    rows, y = people(150, seed)
    names = None if all_columns else ["age", "job"]
    model = AnonymizedEstimator(
        DecisionTreeClassifier(random_state=0),
        guarantees=[hm.KAnonymity(k=k)],
        quasi_identifiers=names,
        guide="labels",
        representative="typical",
    )
    written = model.fit_transform(rows, y)
    depends = model.encoder_.depends_
    assert classes_of(np.ascontiguousarray(written[:, depends])).min() >= k
    assert depends.sum() == (5 if all_columns else 4)
    raw = model.encode(rows)
    assert np.array_equal(written[:, ~depends], raw[:, ~depends])


def test_guarantees_on_the_label_hold_while_classes_grow():
    rows, y = people(600)
    promised = [hm.KAnonymity(k=10), hm.DistinctLDiversity(l=2, column="label")]
    model = AnonymizedEstimator(LogisticRegression(), guarantees=promised).fit(rows, y)
    assert [judgement.holds for judgement in model.judgements_] == [True, True]
    cells = model.anonymizer_.cells_
    assert all(len(set(y[cells == cell])) == 2 for cell in np.unique(cells))
    alone = AnonymizedEstimator(LogisticRegression(), guarantees=K).fit(rows, y)
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
    model = AnonymizedEstimator(
        LinearRegression(), guarantees=promised, guide="labels", representative="centroid"
    ).fit(rows, as_labels(y))
    values = np.unique(y)
    whole = np.array([(y == value).mean() for value in values])
    farthest = max(
        np.abs(np.cumsum(np.array([(y[inside] == v).mean() for v in values]) - whole)).sum()
        / (len(values) - 1)
        for inside in (model.anonymizer_.cells_ == cell for cell in set(model.anonymizer_.cells_))
    )
    assert farthest == pytest.approx(model.judgements_[1].achieved)
    assert 0.05 < farthest <= 0.25


@pytest.mark.parametrize("distance", ["ordered", "hierarchical"])
def test_labels_are_counted_again_by_their_hierarchy_too(distance):
    # It knows a label that nobody has, and somebody may be suppressed whose label is rare.
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(300, 2))
    y = np.digitize(rows[:, 0] + rng.normal(size=300), [-2.5, 0.0, 1.0])
    tree = hm.Hierarchy.from_rows(
        [("0", "low"), ("1", "low"), ("2", "high"), ("3", "high"), ("9", "high")], column="label"
    )
    close = hm.TCloseness(t=0.3, column="label", distance=distance, hierarchy=tree)
    model = AnonymizedEstimator(
        LogisticRegression(),
        guarantees=[*K, close],
        representative="centroid",
        max_suppression_fraction=0.1,
    ).fit(rows, y)
    assert [judgement.holds for judgement in model.judgements_] == [True, True]
    assert len(set(model.anonymizer_.cells_)) > 2


def test_labels_that_miss_a_guarantee_leave_no_model(monkeypatch):
    def careless(*given, **more):
        found = real(*given, **more)
        return replace(found, labels=np.zeros_like(found.labels))

    real = _retraining.retrain
    rows, y = people()
    promised = [*K, hm.DistinctLDiversity(l=2, column="label")]
    model = AnonymizedEstimator(
        LogisticRegression(), guarantees=promised, representative="centroid"
    ).fit(rows, y)
    monkeypatch.setattr(_estimator, "retrain", careless)
    with pytest.raises(hm.GuaranteeNotMetError, match="miss DistinctLDiversity"):
        model.fit(rows, y)
    assert not hasattr(model, "model_")


def test_a_model_of_anonymized_people_keeps_most_of_its_accuracy():
    rows, y = people(2000)
    test, y_test = people(2000, seed=1)
    model = AnonymizedEstimator(LogisticRegression(), guarantees=[hm.KAnonymity(k=50)])
    model.fit(rows, y)
    raw = LogisticRegression().fit(model.encode(rows), y)
    assert model.score(test, y_test) > raw.score(model.encode(test), y_test) - 0.03
    assert model.predict(test).shape == (2000,)
    assert model.predict_proba(test).shape == (2000, 2)


def test_guided_keeps_more_than_mondrian():
    rows, y = people(2000)
    test, y_test = people(2000, seed=1)

    def score(method):
        model = AnonymizedEstimator(
            LogisticRegression(),
            guarantees=[hm.KAnonymity(k=300)],
            method=method,
            representative="centroid",
        )
        return model.fit(rows, y).score(test, y_test)

    assert score(hm.Guided()) > score(hm.RPlusTree())


def test_the_best_of_what_was_tried_is_kept():
    rows, y = people()
    model = AnonymizedEstimator(LogisticRegression(), guarantees=K, refinements=2).fit(rows, y)
    assert model.trials_[model.representative_] == max(model.trials_.values())
    assert {"centroid", "typical", "box", "unconfounded"} <= set(model.trials_)


def test_regression_is_guided():
    rows, _ = people(800)
    y = rows["age"].to_numpy() * 2.0 + rows["pay"].to_numpy()
    model = AnonymizedEstimator(LinearRegression(), guarantees=K, refinements=2).fit(rows, y)
    assert model.score(rows, y) > 0.9
    assert not hasattr(model, "predict_proba")
    assert classes_of(model.fit_transform(rows, y)).min() >= 10


def test_several_classes_lead_by_their_probabilities():
    rows, _ = people(900)
    y = np.digitize(rows["age"].to_numpy(), [38, 58])
    model = AnonymizedEstimator(DecisionTreeClassifier(random_state=0), guarantees=K)
    model.fit(rows, y)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.score(rows, y) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize(
    "guide",
    [
        "cross-fitted",
        "fitted",
        "labels",
        lambda rows: rows[:, 0],
        np.linspace(0, 1, 400),
        ["labels", lambda rows: rows[:, 1]],
        np.array(["a", "b"] * 200),
    ],
    ids=["cross-fitted", "fitted", "labels", "callable", "numbers", "several", "texts"],
)
def test_every_kind_of_guide_leads(guide):
    rows, y = people()
    model = AnonymizedEstimator(
        LogisticRegression(), guarantees=K, guide=guide, representative="centroid"
    )
    assert classes_of(model.fit_transform(rows, y)).min() >= 10


def test_a_fitted_model_leads():
    rows, y = people()
    plain = AnonymizedEstimator(LogisticRegression(), guarantees=K, representative="centroid")
    plain.fit(rows, y)
    guide = LogisticRegression().fit(plain.encode(rows), y)
    led = AnonymizedEstimator(
        LogisticRegression(), guarantees=K, guide=guide, representative="centroid"
    )
    assert led.fit(rows, y).score(rows, y) > 0.8


def test_a_classifier_without_probabilities_is_led_by_its_labels():
    rows, y = people()
    model = AnonymizedEstimator(LinearSVC(), guarantees=K).fit(rows, y)
    assert not any("refined" in name for name in model.trials_)
    assert not hasattr(model, "predict_proba")
    assert model.decision_function(rows).shape == (400,)


@pytest.mark.slow
def test_arrays_and_frames_give_the_same():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 3))
    y = (rows.sum(axis=1) > 0).astype(int)
    frame = pl.DataFrame(rows, schema=["a", "b", "c"])
    of_array = AnonymizedEstimator(LogisticRegression(), guarantees=K, quasi_identifiers=[0, 2])
    of_frame = AnonymizedEstimator(LogisticRegression(), guarantees=K, quasi_identifiers=["a", "c"])
    assert np.allclose(of_array.fit_transform(rows, y), of_frame.fit_transform(frame, y))
    assert np.allclose(of_array.transform(rows), of_frame.transform(frame))
    pandas = frame.to_pandas()
    assert np.allclose(of_frame.fit_transform(pandas, y), of_array.fit_transform(rows, y))


@pytest.mark.slow
def test_rows_at_runtime_take_the_points_of_their_classes():
    rows, y = people()
    model = AnonymizedEstimator(LogisticRegression(), guarantees=K).fit(rows, y)
    later, _ = people(50, seed=5)
    written = model.transform(later)
    points = {point.tobytes() for point in model.points_}
    assert all(row.tobytes() in points for row in written)
    unseen = later.with_columns(pl.lit("queen").alias("job"))
    with pytest.raises(SchemaError, match="50 rows"):
        model.transform(unseen)


def few_queens(n=300):
    """Four people have a job of their own: they are left out where that may be."""
    rows, y = people(n)
    queens = pl.when(pl.int_range(n) % 90 == 0).then(pl.lit("queen")).otherwise("job")
    return rows.with_columns(job=queens), y


def test_suppressed_rows_take_no_part():
    rows, y = few_queens()
    model = AnonymizedEstimator(
        LogisticRegression(),
        guarantees=K,
        max_suppression_fraction=0.02,
        representative="centroid",
    )
    written = model.fit_transform(rows, y)
    gone = model.anonymizer_.cells_ < 0
    assert 0 < gone.sum() <= 6
    assert np.isnan(written[gone]).all()
    assert classes_of(written[~gone]).min() >= 10


@pytest.mark.slow
def test_another_model_of_the_rows_and_labels_is_the_model():
    rows, y = people(500)
    forest = RandomForestClassifier(5, random_state=0)
    model = AnonymizedEstimator(forest, guarantees=K, quasi_identifiers=["job"], by_heart=1.0)
    written, labels = model.fit_protect(rows, y)
    assert model.representative_.endswith("labels exchanged")
    cells = model.anonymizer_.cells_
    assert classes_of(np.ascontiguousarray(written[:, model.encoder_.depends_])).min() >= 10
    assert all(
        sorted(labels[cells == cell]) == sorted(y[cells == cell]) for cell in np.unique(cells)
    )

    encoded = model.encode(rows)
    again, of_y = (clone(forest).fit(written, some).predict_proba(encoded) for some in (labels, y))
    assert np.array_equal(again, model.model_.predict_proba(encoded))
    assert not np.array_equal(again, of_y)
    assert np.array_equal(written, clone(model).fit_transform(rows, y))


def test_rows_and_labels_are_of_those_who_took_part():
    rows, _ = few_queens()
    y = np.arange(300) + 0.125
    model = AnonymizedEstimator(
        LinearRegression(),
        guarantees=K,
        max_suppression_fraction=0.02,
        representative="centroid",
    )
    written, labels = model.fit_protect(rows, y)
    there = np.arange(300) % 90 > 0
    assert np.array_equal(labels, y[there])
    assert np.array_equal(written, clone(model).fit_transform(rows, y)[there])


def test_a_fitted_estimator_keeps_no_labels():
    rows, _ = people(300)
    y = np.random.default_rng(1).normal(size=300)
    model = AnonymizedEstimator(LinearRegression(), guarantees=K)
    _, labels = model.fit_protect(rows, y)
    assert np.array_equal(labels, y)
    saved = pickle.dumps(model)
    assert not any(label.tobytes() in saved for label in labels)


def test_labels_of_other_rows_leave_no_model():
    rows, y = people()
    model = AnonymizedEstimator(LogisticRegression(), guarantees=K, representative="centroid")
    for refit in (model.fit, model.fit_protect):
        model.fit(rows, y)
        with pytest.raises(ParameterError):
            refit(rows, y[:5])
        assert not hasattr(model, "model_")


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"guide": np.zeros(7)}, ParameterError, "400 rows"),
        ({"guide": np.full(400, np.nan)}, DataError, "400 of 400 rows"),
        ({"guide": []}, ParameterError, "empty list"),
        ({"guide": "oracle"}, ParameterError, "cross-fitted"),
        ({"guide": lambda _: 1 / 0}, DataError, "ZeroDivisionError"),
        ({"quasi_identifiers": ["agee"]}, ColumnNotFoundError, "age"),
        ({"representative": "mean"}, ParameterError, "representative"),
        ({"folds": 1}, ParameterError, "folds"),
        ({"refinements": -1}, ParameterError, "refinements"),
        ({"seed": -1}, ParameterError, "seed"),
        ({"guarantees": [hm.KAnonymity(k=500)]}, ParameterError, "400 rows"),
        ({"estimator": KMeans()}, ParameterError, "classifier or a regressor"),
    ],
)
def test_bad_input_is_refused_by_name(change, error, message):
    rows, y = people()
    settings_ = {"estimator": LogisticRegression(), "guarantees": K} | change
    with pytest.raises(error, match=message):
        AnonymizedEstimator(**settings_).fit(rows, y)


def test_one_class_only_is_refused():
    rows, y = people()
    with pytest.raises(ParameterError, match="one class only"):
        AnonymizedEstimator(LogisticRegression(), guarantees=K).fit(rows, np.zeros_like(y))
    alone = np.r_[1, np.zeros(399, dtype=int)]
    with pytest.raises(DataError, match="one row only"):
        AnonymizedEstimator(LogisticRegression(), guarantees=K).fit(rows, alone)


def test_no_message_shows_a_cell():
    rows, y = people()

    def failing(_):
        message = "cannot convert CANARY-17"
        raise ValueError(message)

    with pytest.raises(DataError) as caught:
        AnonymizedEstimator(LogisticRegression(), guarantees=K, guide=failing).fit(rows, y)
    assert "CANARY" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_an_encoder_of_the_users_own_is_followed():
    rows, y = people()
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["job"]), (StandardScaler(), ["age", "pay"])
    )
    model = AnonymizedEstimator(
        LogisticRegression(), guarantees=K, quasi_identifiers=["age", "job"], encoder=encoder
    )
    written = model.fit_transform(rows, y)
    assert model.encoder_.depends_.tolist() == [True, True, True, True, False]
    assert classes_of(np.ascontiguousarray(written[:, :4])).min() >= 10
