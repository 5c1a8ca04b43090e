"""What a model is given: equal people share rows that weigh as many, and nothing else changes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lightgbm import LGBMClassifier
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

import halfmask as hm
from halfmask.training import _selection
from halfmask.training._candidates import partitioned, stand_ins, weighs
from halfmask.training._preparing import prepared

RNG = np.random.default_rng(0)
PEOPLE = pl.DataFrame(
    {
        "age": RNG.integers(20, 70, 300).astype(float),
        "job": RNG.choice(["cook", "judge", "miner"], 300),
        "left": RNG.integers(0, 2, 300),
    }
)
Y = (PEOPLE["age"].to_numpy() + RNG.normal(0, 8, 300) > 45).astype(int)


def found_of(estimator, **change):
    model = hm.AnonymizedEstimator(estimator, guarantees=[hm.KAnonymity(k=20)], **change)
    return partitioned(prepared(model.set_params(split_targets="labels"), PEOPLE, Y))


@pytest.mark.parametrize("names", [["age", "job", "left"], ["age", "job"]], ids=["all", "some"])
def test_weights_count_the_rows_that_every_person_would_give(names):
    found = found_of(DecisionTreeClassifier(), quasi_identifiers=names)
    points = found.represented("quantile-spread")
    written = found.written(points)
    every = found_of(KNeighborsClassifier(), quasi_identifiers=names).written(points)
    rows, labels = every.of_people()
    assert every.weights is None
    assert np.array_equal(rows[:, :-1][:300, 0], points[0][found.cells][:, 0])

    assert written.weights is not None
    assert len(written.rows) < 0.7 * len(rows)
    assert written.weights.max() <= 4
    counted: Counter[bytes] = Counter()
    given_rows = np.column_stack([written.rows, written.labels])
    for row, weight in zip(given_rows, written.weights, strict=True):
        counted[row.tobytes()] += int(weight)
    assert counted == Counter(row.tobytes() for row in np.column_stack([rows, labels]))
    assert all(map(np.array_equal, written.of_people(), (rows, labels)))


@settings(max_examples=30)
@given(st.lists(st.integers(0, 3), min_size=1), st.integers(1, 5))
def test_a_row_stands_for_equal_ones_and_at_most_so_many(values, most):
    given_rows = np.array(values, dtype=float)[:, None]
    found = stand_ins(given_rows, most)
    assert np.array_equal(given_rows[found], given_rows)
    counts = Counter(found.tolist())
    assert max(counts.values()) <= most
    kept = Counter(values[place] for place in counts)
    assert all(kept[value] == -(-n // most) for value, n in Counter(values).items())


@pytest.mark.parametrize(
    ("estimator", "takes"),
    [
        (RandomForestClassifier(), True),
        (LogisticRegression(), True),
        (BaggingClassifier(), True),
        (BaggingClassifier(KNeighborsClassifier()), False),
        (KNeighborsClassifier(), False),
        (make_pipeline(LogisticRegression()), False),
        (RandomForestClassifier(class_weight="balanced"), False),
        (LGBMClassifier(is_unbalance=True), False),
        (LGBMClassifier(), True),
    ],
    ids=[
        "forest",
        "linear",
        "bagging",
        "of others",
        "neighbours",
        "pipeline",
        "balanced",
        "rows",
        "boosting",
    ],
)
def test_only_learners_that_take_a_weight_as_so_many_rows_get_weights(estimator, takes):
    assert weighs(estimator) is takes


class Voting(VotingClassifier):  # type: ignore[misc] # scikit-learn ships no types
    """Takes weights for all its learners, as scikit-learn 1.6 has it."""

    def fit(self, X, y, sample_weight=None):
        raise NotImplementedError


@pytest.mark.parametrize(
    "estimator",
    [
        Voting([("near", KNeighborsClassifier())]),
        LGBMClassifier(class_weights=np.array([1.0, 2.0])),
    ],
    ids=["listed", "array"],
)
def test_learners_in_a_list_and_weights_in_an_array_get_all_rows(estimator):
    assert not weighs(estimator)


class Weighed(GaussianNB):  # type: ignore[misc] # scikit-learn ships no types
    """Notes how many rows each fit got, and how many they stand for; and the rows it was asked."""

    def __init__(self, noted=None, asked=None):
        super().__init__()
        self.noted, self.asked = noted, asked

    def __sklearn_clone__(self):
        return Weighed(self.noted, self.asked)

    def predict_proba(self, rows):
        if self.asked is not None:
            self.asked.append((len(rows), *self.class_count_))
        return super().predict_proba(rows)

    def fit(self, rows, y, sample_weight=None):
        many = len(rows) if sample_weight is None else int(sample_weight.sum())
        self.noted.append((len(rows), many))
        return super().fit(rows, y, sample_weight)


def test_the_model_learns_each_person_four_times_from_about_as_many_rows_as_people():
    noted: list[tuple[int, int]] = []
    hm.AnonymizedEstimator(
        Weighed(noted), guarantees=[hm.KAnonymity(k=20)], representative="quantile-spread"
    ).fit(PEOPLE, Y)
    rows, people = noted[-1]
    assert people == 4 * 300
    assert 300 <= rows < 500


def test_a_table_with_enough_people_is_scored_on_one_fold_by_so_many(monkeypatch):
    """Three models guide, two are compared, one is the result."""
    monkeypatch.setattr(_selection, "ENOUGH", 150)
    noted: list[tuple[int, int]] = []
    model = hm.AnonymizedEstimator(Weighed(noted), guarantees=[hm.KAnonymity(k=20)])
    model.fit(PEOPLE, Y)
    assert len(noted) == 6
    assert [people for _, people in noted[3:5]] == [150, 4 * 150]
    assert len(model.cv_results_) == 2


def test_a_candidate_is_asked_what_it_learned_and_as_many_others(monkeypatch):
    """Of a table that is sorted by label, people of all labels are drawn."""
    monkeypatch.setattr(_selection, "ENOUGH", 60)
    asked: list[tuple[float, ...]] = []
    order = np.argsort(Y, kind="stable")
    model = hm.AnonymizedEstimator(Weighed([], asked), guarantees=[hm.KAnonymity(k=20)])
    model.fit(PEOPLE[order], Y[order])
    of_candidates = asked[3:]
    assert [rows for rows, *_ in of_candidates] == [60] * 4
    assert all(len(counts) == 2 and min(counts) > 15 for _, *counts in of_candidates)


def test_people_whom_a_candidate_didnt_learn_are_in_its_classes():
    """The sample is drawn of classes that are there already: representatives don't change."""
    found = found_of(DecisionTreeClassifier())
    points = found.represented("quantile-spread")
    some = np.arange(0, 300, 3)
    rows, labels = found.written(points, people=some).of_people()
    every, of_every = found.written(points).of_people()
    places = (np.arange(4)[:, None] * 300 + some).ravel()
    assert np.array_equal(rows, every[places])
    assert np.array_equal(labels, of_every[places])
