"""Models that answer in steps: what they are taught, and that the winner is what was trained."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import halfmask as hm
from halfmask._errors import ParameterError
from halfmask.anonymize.training import AnonymizedEstimator
from halfmask.anonymize.training._in_steps import Lesson, _in_order, _trained

K = 60


def people(n=900, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 5))
    y = (2 * (rows[:, 0] > 0) + rows[:, 3] + rng.normal(size=n) > 1).astype(int)
    return pl.DataFrame(rows, schema=["a", "b", "c", "other", "another"]), y


def fitted(estimator, quasi_identifiers=("a", "b", "c"), y=None, **settings):
    rows, labels = people()
    model = AnonymizedEstimator(
        estimator,
        guarantees=[hm.KAnonymity(k=K)],
        quasi_identifiers=list(quasi_identifiers),
        **settings,
    )
    return model.fit(rows, labels if y is None else y), rows, labels


def test_boxes_of_groups_and_scattered_values_are_tried_and_none_is_refined():
    model, rows, _ = fitted(RandomForestClassifier(20, random_state=0))
    names = {name.partition(", led")[0] for name in model.trials_}
    assert {"box", "median", "record"} <= names
    assert any(name.startswith("box of ") for name in names)
    assert any(name.startswith("scattered in ") for name in names)
    assert any("led by labels" in name for name in model.trials_)
    assert not any("refined" in name or "centroid" in name for name in names)
    assert model.representative_ in names
    written = model.transform(rows)[:, :3]
    assert np.unique(written, axis=0, return_counts=True)[1].min() >= K


def test_a_tree_is_trained_on_what_won():
    model, rows, y = fitted(DecisionTreeClassifier(random_state=0))
    if "exchanged" not in model.representative_:
        again = DecisionTreeClassifier(random_state=0).fit(model.fit_transform(rows, y), y)
        assert np.array_equal(*(each.predict(model.encode(rows)) for each in (again, model.model_)))
    # it is no unlucky one: it knows its rows as well as models of halves know others
    believed = model.trials_[model.representative_]
    assert model.model_.score(model.encode(rows), y) >= believed - 0.005


def test_where_all_columns_are_recoded_nothing_is_scattered():
    model, _, _ = fitted(
        RandomForestClassifier(20, random_state=0), ("a", "b", "c", "other", "another")
    )
    assert not any("scattered" in name for name in model.trials_)


def test_for_a_lone_tree_grown_to_the_end_nothing_is_scattered():
    model, _, _ = fitted(DecisionTreeClassifier(random_state=0))
    assert not any("scattered" in name for name in model.trials_)


@pytest.mark.parametrize(("first", "won"), [(0.94, "second"), (0.951, "first")])
def test_a_model_that_knows_its_rows_worse_than_others_were_known_is_passed_over(first, won):
    known = {"first": first, "second": 0.95}

    judge = SimpleNamespace(
        trained=lambda points, _classes, _labels: points,
        losses=lambda model, _places: np.array([1 - known[model]]),
        score=lambda loss: 1 - loss,
    )
    rows = SimpleNamespace(classes=np.zeros(1, dtype=int))
    classes = SimpleNamespace(judge=judge, rows=rows)
    both: Any = [replace(lesson(name, 0.955, 0.0), points=name, classes=classes) for name in known]
    assert _trained(both)[0].name == won


def test_regression_exchanges_no_labels():
    rows, _ = people()
    y = 2 * (rows["a"].to_numpy() > 0) + rows["other"].to_numpy()
    model, _, _ = fitted(DecisionTreeRegressor(random_state=0), y=y)
    assert not any("exchanged" in name for name in model.trials_)
    assert model.score(rows, y) > 0.5


def test_guarantees_on_the_label_hold_beside_k():
    rows, y = people()
    model = AnonymizedEstimator(
        DecisionTreeClassifier(random_state=0),
        guarantees=[hm.KAnonymity(k=K), hm.EntropyLDiversity(l=1.2, column="label")],
        quasi_identifiers=["a", "b", "c"],
    ).fit(rows, y)
    assert all(judgement.holds for judgement in model.judgements_)


def lesson(name, score, by_heart):
    nothing, nobody = np.empty((0, 0)), cast("Any", None)
    return Lesson(
        name=name,
        classes=nobody,
        points=nothing,
        labels=nothing,
        of_halves=nothing,
        score=score,
        by_heart=by_heart,
    )


@pytest.mark.parametrize(
    ("by_heart", "lessons", "order"),
    [
        (0.25, [("a", 0.900, 0.10), ("b", 0.895, 0.02)], "ba"),  # half a point for not being known
        (0.25, [("a", 0.900, 0.10), ("b", 0.870, 0.02)], "ab"),  # three points are too many
        (0.0, [("a", 0.900, 0.10), ("b", 0.899, 0.02)], "ab"),  # only accuracy counts
        (1.0, [("a", 0.900, 0.10), ("b", 0.830, 0.02)], "ba"),
        (0.25, [("a", -np.inf, 1.0), ("b", 0.5, 0.1)], "ba"),  # what can't be scored comes last
    ],
)
def test_what_is_known_by_heart_is_taken_off_a_score(by_heart, lessons, order):
    found = _in_order([lesson(*each) for each in lessons], by_heart)
    assert "".join(each.name for each in found) == order


def test_where_only_accuracy_counts_nothing_is_scattered():
    model, _, _ = fitted(RandomForestClassifier(20, random_state=0), by_heart=0.0)
    assert not any("scattered" in name for name in model.trials_)


@pytest.mark.parametrize("by_heart", [-0.1, 1.5, float("nan")])
def test_what_costs_less_than_nothing_is_refused(by_heart):
    with pytest.raises(ParameterError, match="by_heart"):
        fitted(DecisionTreeClassifier(random_state=0), by_heart=by_heart)


def test_other_columns_are_cut_too_and_k_holds_in_what_is_recoded():
    rng = np.random.default_rng(1)
    rows = pl.DataFrame(rng.normal(size=(1200, 4)), schema=["other", "a", "b", "another"])
    y = (rows["other"].to_numpy() * rows["a"].to_numpy() > 0).astype(int)
    model = AnonymizedEstimator(
        RandomForestClassifier(20, random_state=0),
        guarantees=[hm.KAnonymity(k=K)],
        quasi_identifiers=["a", "b"],
    )
    written = model.fit_transform(rows, y)
    assert any("by other columns too" in name for name in [*model.trials_, model.led_by_])
    assert np.unique(written[:, 1:3], axis=0, return_counts=True)[1].min() >= K
    again = model.transform(rows)
    assert np.allclose(again, written)
    assert np.allclose(again[:, [0, 3]], model.encode(rows)[:, [0, 3]])
