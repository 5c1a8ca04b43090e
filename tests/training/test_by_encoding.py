"""By encoding: classes of the columns that a model of splits sees, rather than of the table's."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import halfmask as hm
from halfmask._errors import ColumnNotFoundError
from halfmask.anonymize import Mondrian
from halfmask.training import AnonymizedEstimator, _in_steps
from halfmask.training._encoding import Encoding
from halfmask.training._lessons import lessons_of

K = 60


def tastes(n=900, seed=2):
    """A colour of six says most, one colour by itself; a number says the rest."""
    rng = np.random.default_rng(seed)
    rows = pl.DataFrame(
        {
            "colour": rng.choice(["CANARY-red", *"bcdef"], n),
            "age": rng.integers(18, 80, n),
            "other": rng.normal(size=n),
        }
    )
    y = (rows["colour"] == "CANARY-red").to_numpy() + (rows["age"].to_numpy() > 50) + rng.random(n)
    return rows, (y > 1.5).astype(int)


def cut_by_its_columns(only, estimator=None, **settings):
    only(lambda led: led.by_encoding)
    given: Any = {
        "guarantees": [hm.KAnonymity(k=K)],
        "quasi_identifiers": ["colour", "age"],
    } | settings
    return AnonymizedEstimator(estimator or DecisionTreeClassifier(random_state=0), **given)


@pytest.mark.parametrize("lesson", ["at the cuts", "at the cuts, else medians", "spread"])
def test_columns_that_the_model_sees_are_cut_and_k_holds_in_them(monkeypatch, only, lesson):
    rows, y = tastes()
    every = lessons_of
    monkeypatch.setattr(
        _in_steps, "lessons_of", lambda *a, **b: (e for e in every(*a, **b) if e.name == lesson)
    )
    model = cut_by_its_columns(only)
    written = model.fit_transform(rows, y)
    assert model.by_encoding_
    assert model.led_by_.endswith("by the model's columns")
    assert model.representative_.startswith(lesson)
    recoded = written[:, model.encoder_.depends_]
    assert np.unique(recoded, axis=0, return_counts=True)[1].min() >= K
    assert np.array_equal(model.transform(rows), written), "rows to come are placed like the fit's"
    # a number is one of its column, and a category is there or isn't
    raw = model.encode(rows)[:, model.encoder_.depends_]
    assert all(np.isin(recoded[:, place], raw[:, place]).all() for place in range(raw.shape[1]))
    assert model.score(rows, y) > 1 - y.mean()


def test_who_has_a_category_that_the_fit_never_saw_is_placed_by_what_the_encoder_makes_of_it(
    only,
):
    rows, y = tastes()
    model = cut_by_its_columns(only).fit(rows, y)
    strangers = rows[:40].with_columns(colour=pl.lit("new"))
    placed = model.transform(strangers)[:, model.encoder_.depends_]
    plan, raw = model.anonymizer_.plan_, model.encode(strangers)[:, model.encoder_.depends_]
    values = [coding.values.to_numpy() for coding in plan.codings]
    for person, point in zip(raw, placed, strict=True):
        node = 0
        while plan.partition.feature[node] >= 0:
            column = plan.partition.feature[node]
            below = person[column] <= values[column][plan.partition.cut[node]]
            node = (plan.partition.left if below else plan.partition.right)[node]
        assert np.array_equal(model.points_[plan.partition.left[node]], point)
    assert len(np.unique(placed, axis=0)) > 1


def test_a_batch_of_as_many_rows_as_columns_is_not_taken_for_its_columns(only):
    rows, y = tastes()
    model = cut_by_its_columns(only).fit(rows, y)
    n = int(model.encoder_.depends_.sum())
    assert np.array_equal(model.transform(rows[:n]), model.transform(rows)[:n])
    seen = Encoding(None, ["a", "b", "c"]).fit(
        table := pl.DataFrame(np.eye(3), schema=["a", "b", "c"])
    )
    skew = np.arange(9.0).reshape(3, 3)
    assert seen.seen(seen.encode(table)).rows() == [tuple(each) for each in seen.encode(table)]
    assert seen.seen(skew).rows() == [tuple(each) for each in skew]


@pytest.mark.parametrize("kind", ["pandas", "array"])
def test_rows_of_any_kind_are_cut_alike(only, kind):
    rows, y = tastes()
    rows = rows.select("age", "other")
    given = rows.to_pandas() if kind == "pandas" else rows.to_numpy()
    names = [0] if kind == "array" else ["age"]
    fitted = cut_by_its_columns(only, quasi_identifiers=names).fit(given, y)
    model = cut_by_its_columns(only, quasi_identifiers=["age"]).fit(rows, y)
    assert fitted.by_encoding_
    assert np.array_equal(fitted.points_, model.points_)
    assert np.array_equal(fitted.transform(given), model.transform(rows))


def test_numbers_are_predicted_of_columns_that_the_model_sees(only):
    rows, y = tastes()
    numbers = rows["age"].to_numpy() / 10 + (rows["colour"] == "b").to_numpy() + 0.1 * y
    model = cut_by_its_columns(only, DecisionTreeRegressor(random_state=0))
    written = model.fit_transform(rows, numbers)[:, model.encoder_.depends_]
    assert np.unique(written, axis=0, return_counts=True)[1].min() >= K
    assert model.score(rows, numbers) > 0.7


def test_what_was_cut_is_of_the_last_fit_and_is_kept(monkeypatch, only):
    rows, y = tastes()
    model = cut_by_its_columns(only).fit(rows, y)
    again = pickle.loads(pickle.dumps(model))  # noqa: S301 # our own
    assert again.by_encoding_
    assert np.array_equal(again.transform(rows), model.transform(rows))
    monkeypatch.undo()
    model.set_params(kinds={"age": "numeric"}).fit(rows, y)
    assert not model.by_encoding_
    assert model.transform(rows).shape == again.transform(rows).shape


def test_a_guarantee_on_a_column_that_is_not_there_is_told(monkeypatch, only):
    rows, y = tastes()
    model = cut_by_its_columns(only, guarantees=[hm.DistinctLDiversity(l=2, column="absent")])
    monkeypatch.undo()
    with pytest.raises(ColumnNotFoundError, match="absent"):
        model.fit(rows, y)


def test_a_guarantee_on_a_quasi_identifier_holds(only):
    rows, y = tastes()
    guarantees = [hm.KAnonymity(k=K), hm.DistinctLDiversity(l=3, column="colour")]
    model = cut_by_its_columns(only, guarantees=guarantees).fit(rows, y)
    for cell in range(int(model.anonymizer_.cells_.max()) + 1):
        assert rows.filter(model.anonymizer_.cells_ == cell)["colour"].n_unique() >= 3


def test_guarantees_on_the_label_hold_where_the_model_s_columns_are_cut(only):
    rows, y = tastes()
    guarantee = hm.EntropyLDiversity(l=1.3, column="label")
    model = cut_by_its_columns(only, guarantees=[hm.KAnonymity(k=K), guarantee])
    written = model.fit_transform(rows, y)[:, model.encoder_.depends_]
    classes = np.unique(written, axis=0, return_inverse=True)[1].reshape(-1)
    for each in range(classes.max() + 1):
        share = y[classes == each].mean()
        entropy = -sum(part * np.log(part) for part in (share, 1 - share) if part)
        assert np.exp(entropy) >= 1.3 - 1e-9


def test_rows_may_be_suppressed_where_the_model_s_columns_are_cut(only):
    rows, y = tastes()
    model = cut_by_its_columns(only, max_suppression_fraction=0.1)
    written = model.fit_transform(rows, y)
    kept = written[~np.isnan(written).any(axis=1)][:, model.encoder_.depends_]
    assert len(kept) >= 0.9 * len(y)
    assert np.unique(kept, axis=0, return_counts=True)[1].min() >= K


@pytest.mark.slow
@pytest.mark.parametrize(
    "said",
    [
        {"kinds": {"age": "categorical"}},
        {"method": Mondrian()},
        {"representative": "median"},
    ],
)
def test_what_is_said_of_how_to_cut_holds(said):
    rows, y = tastes()
    model = AnonymizedEstimator(
        DecisionTreeClassifier(random_state=0),
        guarantees=[hm.KAnonymity(k=K)],
        quasi_identifiers=["colour", "age"],
        **said,
    ).fit(rows, y)
    assert not model.by_encoding_
    assert not any("by the model's columns" in name for name in [*model.trials_, model.led_by_])


def test_networks_are_taught_as_ever():
    rows, y = tastes(n=300)
    model = AnonymizedEstimator(
        LogisticRegression(), guarantees=[hm.KAnonymity(k=20)], quasi_identifiers=["colour", "age"]
    ).fit(rows, y)
    assert not model.by_encoding_
    assert not any("by the model's columns" in name for name in model.trials_)
