"""PartitionedClassifier: what it certifies holds under hostile rows, in every form of the rows."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

from halfmask._errors import DataError, ParameterError
from halfmask.training import PartitionedClassifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 3))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)
ASKED = RNG.normal(size=(60, 3))

#: Checks whose errors say the same in other words than scikit-learn's.
OTHER_WORDS = {
    "check_estimators_empty_data_messages",
    "check_fit2d_predict1d",
    "check_requires_y_none",
    "check_supervised_y_2d",
}


def of(estimator=None, **settings):
    return PartitionedClassifier(
        estimator or DecisionTreeClassifier(max_depth=3), **{"n_partitions": 15} | settings
    )


class OfVotes(PartitionedClassifier):
    """Has the votes that a test gives as rows."""

    def votes(self, X):
        return np.asarray(X)


def fewest_changes(votes):
    """Count naively how many voters must change until another class wins; ties: the lowest."""
    start = (0, *votes)  # a class that sorts before all others
    winner, reached, changes = int(np.argmax(start)), {start}, 0
    while all(int(np.argmax(each)) == winner for each in reached):
        moved = set()
        for each in reached:
            for source, goal in product(range(len(start)), repeat=2):
                if each[source]:
                    counts = list(each)
                    counts[source] -= 1
                    counts[goal] += 1
                    moved.add(tuple(counts))
        reached, changes = reached | moved, changes + 1
    return changes


@given(st.lists(st.integers(0, 6), min_size=2, max_size=3).filter(sum))
def test_the_certificate_is_the_largest_that_votes_allow(votes):
    certified = OfVotes(None).certified_rows([votes])
    assert certified.tolist() == [fewest_changes(votes) - 1]


@pytest.mark.parametrize(
    ("votes", "certified"),
    [([101, 0], 50), ([0, 101], 50), ([51, 50], 0), ([50, 51], 0), ([49, 52], 1), ([70, 31], 19)],
)
def test_certificates_of_two_classes_are_those_of_the_paper(votes, certified):
    """Floor of half of the gap, less one where the second class wins ties (theorem 1)."""
    assert OfVotes(None).certified_rows([votes]).tolist() == [certified]


def hostile(rows, labels, n, rng):
    """Change n rows: add, remove or relabel; added rows are drawn from anywhere, with any label."""
    for _ in range(n):
        kind, at = rng.integers(3), int(rng.integers(len(rows)))
        if kind == 0:
            row = rng.normal(size=(1, 3)) * rng.choice([0.1, 1, 100])
            rows, labels = np.vstack([rows, row]), np.append(labels, rng.integers(-1, 3))
        elif kind == 1:
            rows, labels = np.delete(rows, at, axis=0), np.delete(labels, at)
        else:
            labels = labels.copy()
            labels[at] = 1 - labels[at]
    order = rng.permutation(len(rows))
    return rows[order], labels[order]


@pytest.mark.parametrize("estimator", [DecisionTreeClassifier(splitter="random"), GaussianNB()])
def test_no_hostile_rows_flip_more_than_is_certified(estimator):
    model = of(estimator).fit(X, Y)
    predicted, certified = model.predict(ASKED), model.certified_rows(ASKED)
    assert (certified >= 3).mean() > 0.3
    rng = np.random.default_rng(1)
    for n in (1, 1, 1, 1, 2, 2, 3, 5):
        attacked = of(estimator).fit(*hostile(X, Y, n, rng)).predict(ASKED)
        assert np.array_equal(attacked[certified >= n], predicted[certified >= n])


def test_a_row_with_changed_cells_counts_twice():
    model = of().fit(X, Y)
    before = model.votes(ASKED)
    for at in range(20):
        changed = X.copy()
        changed[at] = 5.0
        moved = np.abs(of().fit(changed, Y).votes(ASKED) - before).sum(axis=1)
        assert moved.max() <= 4  # two voters, each with a vote less and a vote more


def test_rows_in_any_order_and_of_any_kind_give_the_same_votes():
    expected = of().fit(X, Y)
    assert expected.partition_sizes_.sum() == 240
    assert expected.partition_sizes_.min() > 3
    order = RNG.permutation(240)
    for rows, labels in (
        (X[order], Y[order]),
        (pd.DataFrame(X, columns=list("abc"), index=order), Y),
        (pl.DataFrame(X, schema=list("abc")), Y.tolist()),
        (pl.DataFrame(X, schema=list("abc")).lazy(), Y),
        (pl.DataFrame(X, schema=list("abc")).to_arrow(), pl.Series(Y)),
        (X.tolist(), Y),
        (X.astype(object), Y),
    ):
        model = of().fit(rows, labels)
        assert np.array_equal(model.partition_sizes_, expected.partition_sizes_)
        named = hasattr(model, "feature_names_in_")
        asked = pl.DataFrame(ASKED, schema=list("abc")) if named else ASKED
        assert np.array_equal(model.votes(asked), expected.votes(ASKED))


def test_a_model_that_goes_by_the_order_of_rows_gets_them_in_one_order():
    model = of(SGDClassifier(max_iter=1, tol=None, shuffle=False))
    order = np.random.default_rng(1).permutation(240)
    expected = clone(model).fit(X, Y).votes(ASKED)
    assert np.array_equal(clone(model).fit(X[order], Y[order]).votes(ASKED), expected)


def sizes(rows):
    return of(GaussianNB()).fit(rows, np.arange(len(rows)) % 2).partition_sizes_.tolist()


def test_equal_cells_are_in_one_partition_however_they_are_written():
    whole = np.arange(40).reshape(-1, 1)
    assert (
        sizes(whole) == sizes(whole.astype(np.float32)) == sizes(pl.DataFrame({"n": whole[:, 0]}))
    )
    assert max(sizes(np.array([[0.0], [-0.0]] * 20))) == 40
    assert (
        sizes(whole)
        != of(GaussianNB(), random_state=1).fit(whole, np.arange(40) % 2).partition_sizes_.tolist()
    )


def people(n=300):
    rng = np.random.default_rng(2)
    job = rng.choice(np.array(["nurse", "smith", None]), n)
    age = np.where(rng.random(n) < 0.1, np.nan, rng.integers(18, 80, n))
    return pd.DataFrame({"age": age, "job": job, "empty": [None] * n, "flag": rng.random(n) > 0.5})


def test_texts_and_missing_cells_are_hashed():
    frame = people()
    columns = (
        (OneHotEncoder(handle_unknown="ignore"), ["job"]),
        ("passthrough", ["flag"]),
    )
    pipe = make_pipeline(make_column_transformer(*columns), LogisticRegression())
    y = np.where(frame["job"] == "smith", "yes", "no")
    model = of(pipe).fit(frame, y)
    assert model.score(frame, y) > 0.9
    assert set(model.predict(frame)) == {"no", "yes"}
    twice = pd.concat([frame, frame])
    assert np.array_equal(
        of(pipe).fit(twice, np.r_[y, y]).partition_sizes_, 2 * model.partition_sizes_
    )
    assert "smith" not in repr(model) + model._repr_html_()


def test_votes_are_shares_and_parts_without_rows_dont_vote():
    model = of(n_partitions=500).fit(X, Y)
    voters = int((model.partition_sizes_ > 0).sum())
    assert voters < 240
    assert (model.votes(ASKED).sum(axis=1) == voters).all()
    assert np.allclose(model.predict_proba(ASKED).sum(axis=1), 1.0)
    assert (model.certified_rows(ASKED) <= voters // 2).all()


def test_models_without_a_seed_get_one():
    pipe = make_pipeline(StandardScaler(), DecisionTreeClassifier(splitter="random"))
    assert np.array_equal(of(pipe).fit(X, Y).votes(ASKED), of(pipe).fit(X, Y).votes(ASKED))
    own = of(DecisionTreeClassifier(random_state=7)).fit(X, Y)
    assert own.voters_[0][0].random_state == 7


def test_three_classes_that_parts_lack_keep_their_labels():
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 1.5])]
    model = of(n_partitions=40).fit(X, y)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize(
    ("settings", "rows", "labels", "words"),
    [
        ({"n_partitions": 0}, X, Y, "n_partitions"),
        ({"estimator": LinearRegression()}, X, Y, "takes classifiers"),
        ({"estimator": LogisticRegression}, X, Y, "'estimator'"),
        ({"random_state": -1}, X, Y, "PartitionedClassifier"),
        ({}, X, np.ones(240), "two classes. Got one class"),
        ({}, X, Y[:5], "as many rows"),
        ({}, X, None, "PartitionedClassifier estimator requires y"),
        ({}, X, np.linspace(0, 1, 240), "label type"),
        ({}, X, np.where(Y, 1.0, np.nan), "missing in"),
    ],
)
def test_what_cant_be_fitted_is_refused(settings, rows, labels, words):
    model = of(GaussianNB()).fit(X, Y).set_params(**settings)  # what was fitted is lost
    with pytest.raises((ParameterError, DataError), match=words):
        model.fit(rows, labels)
    with pytest.raises(NotFittedError):
        model.predict(rows)


def test_errors_of_models_hold_no_cell():
    encoder = make_pipeline(OneHotEncoder(), LogisticRegression())
    frame = pl.DataFrame({"name": ["anna", "bert"] * 20, "n": range(40)}).to_pandas()
    y = np.arange(40) % 2
    with pytest.raises(DataError, match="GaussianNB couldn't be fitted to a partition of") as told:
        of(GaussianNB()).fit(frame, y)
    assert "anna" not in str(told.value)
    model = of(encoder, n_partitions=3).fit(frame, y)
    with pytest.raises(DataError, match=r"Pipeline couldn.t predict") as told:
        model.predict(frame.assign(n=99))
    assert "99" not in str(told.value)
    assert told.value.__cause__ is None


@pytest.mark.slow
def test_it_keeps_scikit_learns_contract():
    assert is_classifier(of())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = of(DecisionTreeClassifier(), n_partitions=3)
        results = check_estimator(model, on_fail=None)
    failed = {each["check_name"] for each in results if each["status"] == "failed"}
    assert failed <= OTHER_WORDS
    assert len(results) > 40
