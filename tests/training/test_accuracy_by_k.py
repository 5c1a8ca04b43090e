"""What each k costs: measured as by hand, on rows that took no part."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from halfmask._errors import DataError, GuaranteeNotMetError, ParameterError
from halfmask.guarantees import DistinctLDiversity, KAnonymity
from halfmask.training import (
    AccuracyByK,
    AnonymizedEstimator,
    KCost,
    accuracy_by_k,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 2))
Y = (X[:, 0] + 0.3 * RNG.normal(size=240) > 0).astype(int)


def of(estimator=None, **settings):
    usual: dict[str, Any] = {
        "guarantees": [KAnonymity(k=2)],
        "split_targets": "labels",
        "representative": "centroid",
    }
    return AnonymizedEstimator(estimator or LogisticRegression(), **usual | settings)


@pytest.mark.slow
def test_it_is_the_mean_over_parts_that_took_no_part():
    found = accuracy_by_k(of(), X, Y, ks=[20, 5], cv=3, random_state=4)
    assert [cost.k for cost in found.costs] == [5, 20]
    parts = list(StratifiedKFold(3, shuffle=True, random_state=4).split(X, Y))
    for cost in found.costs:
        model = of(guarantees=[KAnonymity(k=cost.k)])
        scores = [clone(model).fit(X[a], Y[a]).score(X[b], Y[b]) for a, b in parts]
        assert cost.score == pytest.approx(np.mean(scores))
        assert (cost.low, cost.high) == (min(scores), max(scores))


@pytest.mark.slow
@pytest.mark.parametrize("guide", ["cross-fitted", "fitted", ["labels", "cross-fitted"]])
def test_one_guidance_leads_every_k_of_a_part_as_each_would_find_it(guide):
    rows = np.c_[X, RNG.normal(size=240)]
    model = of(DecisionTreeClassifier(max_depth=4, random_state=0), split_targets=guide)
    model.set_params(quasi_identifiers=[0, 1], representative="chosen")
    found = accuracy_by_k(model, rows, Y, ks=[10, 30], cv=2)
    parts = list(StratifiedKFold(2, shuffle=True, random_state=0).split(rows, Y))
    for cost in found.costs:
        model.set_params(guarantees=[KAnonymity(k=cost.k)])
        scores = [clone(model).fit(rows[a], Y[a]).score(rows[b], Y[b]) for a, b in parts]
        assert (cost.low, cost.high) == (min(scores), max(scores))


@pytest.mark.slow
def test_a_guide_is_trained_once_for_every_k_of_a_part():
    class Guide(LogisticRegression):  # type: ignore[misc] # scikit-learn ships no types
        trained = 0

        def fit(self, rows, labels, sample_weight=None):
            type(self).trained += 1
            return super().fit(rows, labels, sample_weight)

    counts = []
    for ks in ([10], [10, 20, 30]):
        Guide.trained = 0
        accuracy_by_k(of(Guide(), split_targets="cross-fitted"), X, Y, ks=ks, cv=2)
        counts.append(Guide.trained)
    raw, crossed, retrained, parts = 1, 3, 1, 2
    assert counts == [parts * (raw + crossed + n_ks * retrained) for n_ks in (1, 3)]


def test_without_anonymization_a_model_that_remembers_gains_nothing():
    noise = RNG.integers(0, 2, 240)
    found = accuracy_by_k(of(DecisionTreeClassifier(random_state=0)), X, noise, ks=[2])
    assert found.raw < 0.65


@pytest.mark.slow
def test_rows_of_every_kind_give_the_same():
    expected = accuracy_by_k(of(), X, Y, ks=[10])
    frame = pl.DataFrame(X, schema=["a", "b"])
    for rows in (X.tolist(), frame, frame.lazy(), frame.to_pandas(), frame.to_arrow()):
        assert accuracy_by_k(of(), rows, Y.tolist(), ks=[10]) == expected


@pytest.mark.slow
def test_other_guarantees_stay_and_the_estimator_isnt_touched():
    # Every class must have both labels, so that a model of one column can't keep them apart.
    labels = (X[:, 0] > 0).astype(int)
    diverse = of(
        guarantees=[KAnonymity(k=2), DistinctLDiversity(l=2, column="label")],
        quasi_identifiers=[0],
    )
    alone = of(quasi_identifiers=[0])
    both = [accuracy_by_k(each, X, labels, ks=[2]).score(k=2) for each in (diverse, alone)]
    assert both[0] <= both[1]
    assert diverse.guarantees[0].k == 2
    assert not hasattr(diverse, "model_")


@pytest.mark.slow
def test_a_k_that_rows_cant_keep_is_impossible():
    found = accuracy_by_k(of(), X, Y, ks=[5, 161, 500])
    assert [cost.k for cost in found.costs] == [5]
    assert found.impossible == (161, 500)


def test_numbers_have_scores_too():
    found = accuracy_by_k(of(LinearRegression()), X, X[:, 0] * 3.0, ks=[5])
    assert found.raw == pytest.approx(1)
    assert found.costs[0].score > 0.9


@pytest.mark.slow
def test_progress_tells_each_k_and_part():
    heard: list[str] = []

    def told(stage: str, share: float | None = None) -> None:
        assert share is None
        heard.append(stage)

    accuracy_by_k(of(), X, Y, ks=[5, 10], cv=2, progress=told)
    assert heard == [
        "k=5, fold 1 of 2",
        "k=10, fold 1 of 2",
        "k=5, fold 2 of 2",
        "k=10, fold 2 of 2",
    ]


FOUND = AccuracyByK(
    raw=0.9,
    costs=tuple(KCost(k=k, score=s, low=s, high=s) for k, s in [(5, 0.8), (10, 0.6), (20, 0.7)]),
)


@pytest.mark.parametrize(("least", "k"), [(0.5, 20), (0.7, 20), (0.75, 5), (0.8, 5)])
def test_the_largest_k_that_keeps_a_score_is_told(least, k):
    assert FOUND.largest_k(at_least=least) == k


def test_a_score_that_no_k_keeps_is_refused():
    with pytest.raises(GuaranteeNotMetError, match=r"the best is 0\.8000, and 0\.9000"):
        FOUND.largest_k(at_least=0.81)
    with pytest.raises(GuaranteeNotMetError):
        AccuracyByK(raw=1.0, costs=()).largest_k(at_least=0.1)
    assert FOUND.score(k=10) == 0.6
    with pytest.raises(ParameterError, match="k=7"):
        FOUND.score(k=7)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cv": 1}, "cv"),
        ({"ks": [0]}, "k"),
        ({"ks": [2.5]}, "k"),
        ({"ks": 10}, "'ks' parameter"),
        ({"ks": []}, "'ks' parameter"),
        ({"estimator": LogisticRegression()}, "'estimator' parameter of accuracy_by_k"),
    ],
)
def test_bad_settings_are_refused(change, message):
    with pytest.raises(ParameterError, match=message):
        accuracy_by_k(**{"estimator": of(), "X": X, "y": Y, "ks": [5]} | change)


@pytest.mark.parametrize("labels", [Y[:5], np.r_[Y, Y], np.c_[Y, Y]])
def test_labels_of_other_rows_are_refused(labels):
    with pytest.raises(ParameterError, match=r"as many rows|must be one column"):
        accuracy_by_k(of(), X, labels, ks=[5])


@pytest.mark.parametrize("gone", [None, float("nan"), pd.NA])
def test_missing_labels_are_refused_before_rows_are_parted(gone):
    labels = np.array([gone, *"ab" * 7], dtype=object)
    with pytest.raises(DataError, match="y is missing in 1 of 15 rows"):
        accuracy_by_k(of(), X[:15], labels, ks=[2])


@pytest.mark.slow
def test_labels_are_taken_as_a_fit_takes_them():
    expected = accuracy_by_k(of(), X, Y, ks=[10])
    nullable = pd.Series(Y, dtype="Int64")
    assert accuracy_by_k(of(), X, nullable, ks=[10]) == expected
    with pytest.warns(DataConversionWarning):
        assert accuracy_by_k(of(), X, Y[:, None], ks=[10]) == expected


class Unscored(LogisticRegression):  # type: ignore[misc] # scikit-learn ships no types
    def score(self, X, y, sample_weight=None):
        raise ValueError(f"xqcanary: {X}, {y}, {sample_weight}")


def test_a_model_that_cant_be_scored_quotes_nothing():
    with pytest.raises(DataError, match=r"couldn't score 80 rows \(ValueError\)") as caught:
        accuracy_by_k(of(Unscored()), X, Y, ks=[5])
    assert "xqcanary" not in str(caught.value)


def test_no_guide_is_trained_for_a_k_that_no_part_has_rows_for():
    rare = np.r_[np.zeros(238, dtype=int), 1, 1]  # each part lacks a second row of the label
    found = accuracy_by_k(of(split_targets="cross-fitted"), X, rare, ks=[500], cv=2)
    assert found.impossible == (500,)


@pytest.mark.slow
def test_why_a_k_is_impossible_is_told():
    labels = np.array(["a", "b"])[Y]
    model = of(guarantees=[KAnonymity(k=2), DistinctLDiversity(l=4, column="label")])
    found = accuracy_by_k(model, X, labels, ks=[5, 500])
    assert found.impossible == (5, 500)
    assert "DistinctLDiversity" in found.why[5]
    assert "160 rows" in found.why[500]
    with pytest.raises(GuaranteeNotMetError, match="DistinctLDiversity"):
        found.largest_k(at_least=0.1)


@pytest.mark.slow
def test_a_guide_that_is_a_list_of_answers_is_cut_with_the_rows():
    said = np.where(Y, "yes", "no").tolist()
    one = accuracy_by_k(of(split_targets=said), X, Y, ks=[20])
    other = accuracy_by_k(of(split_targets=np.array(said)), X, Y, ks=[20])
    assert one == other
    both = accuracy_by_k(of(split_targets=["labels", X[:, 0]]), X, Y, ks=[10])
    assert both.costs[0].score > 0.7
