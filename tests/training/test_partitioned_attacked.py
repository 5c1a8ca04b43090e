"""PartitionedClassifier under an attacker who knows all: every change of tiny tables is tried."""

from __future__ import annotations

from hashlib import blake2b
from itertools import combinations, product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from halfmask._errors import ParameterError
from halfmask.training import PartitionedClassifier, _partitioned

ASKED = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [3.0, 3.0]])


class Voter(ClassifierMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """A model of the worst kind: what its partition holds decides its vote, as `kind` says."""

    def __init__(self, kind="chaotic"):
        self.kind = kind

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        told = np.flatnonzero(np.asarray(X)[:, 0] == 9.0)
        if self.kind == "obedient":  # votes what rows with a 9 say, otherwise the majority
            self.vote_ = int(np.bincount(np.asarray(y)[told] if len(told) else y).argmax())
            return self
        content = np.asarray(X).tobytes() + np.asarray(y).tobytes()
        self.vote_ = int.from_bytes(blake2b(content, digest_size=8).digest()) % len(self.classes_)
        return self

    def predict(self, X):
        return np.full(len(X), self.vote_)


def of(kind, n_partitions=9):
    estimator = Voter(kind) if isinstance(kind, str) else kind
    return PartitionedClassifier(estimator, n_partitions=n_partitions)


def table(seed, n=9, skew=0.3):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 8, (n, 2)).astype(float), (rng.random(n) < skew).astype(int)


def all_changes(rows, labels):
    """Yield each removal, each other label, and additions: rows that are there, -0.0, a marker."""
    n, news = len(rows), [rows[0], -rows[1], [9.0, 0.0], [9.0, 5.0]]
    yield from (("remove", at, 0) for at in range(n))
    yield from (("relabel", at, 1 - labels[at]) for at in range(n))
    yield from (("add", new, label) for new, label in product(news, (-1, 0, 1)))


def changed(rows, labels, changes):
    """Make the changes; rows that are added come first."""
    rows, labels = rows.copy(), labels.copy()
    for kind, at, label in changes:
        if kind == "relabel":
            labels[at] = label
    gone = [at for kind, at, _ in changes if kind == "remove"]
    added = [(new, label) for kind, new, label in changes if kind == "add"]
    rows, labels = np.delete(rows, gone, axis=0), np.delete(labels, gone)
    news = np.array([new for new, _ in added]).reshape(-1, 2)
    return np.vstack([news, rows]), np.r_[[label for _, label in added], labels].astype(int)


def flips(kind, rows, labels, n, model):
    """Count predictions that n changes flip, of those that are certified and of the others."""
    predicted, certified = model.predict(ASKED), model.certified_rows(ASKED) >= n
    beaten, flipped = 0, 0
    for changes in combinations(all_changes(rows, labels), n):
        given = changed(rows, labels, changes)
        if len(set(given[1])) > 1:
            moved = of(kind, model.n_partitions).fit(*given).predict(ASKED) != predicted
            beaten, flipped = beaten + moved[certified].sum(), flipped + moved[~certified].sum()
    return int(certified.sum()), int(beaten), int(flipped)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["chaotic", "obedient", DecisionTreeClassifier(random_state=0)])
def test_no_change_of_one_or_two_rows_flips_what_is_certified(kind):
    proven = found = 0
    for seed, n in ((0, 1), (1, 1), (2, 1), (3, 2)):
        rows, labels = table(seed)
        certified, beaten, flipped = flips(kind, rows, labels, n, of(kind).fit(rows, labels))
        assert not beaten
        proven, found = proven + certified, found + flipped
    assert proven >= 4
    assert found > 0  # the attack has power where nothing is certified


@pytest.mark.slow
def test_rows_of_one_hash_that_differ_beat_nothing(monkeypatch):
    honest = _partitioned._hashes  # a hash that an attacker can collide at will
    monkeypatch.setattr(_partitioned, "_hashes", lambda *given: honest(*given) % np.uint64(7))
    rows, labels = table(6, n=14, skew=0.2)
    certified, beaten, _ = flips("chaotic", rows, labels, 1, of("chaotic").fit(rows, labels))
    assert certified
    assert not beaten


def reaching(model, rows, labels, partition):
    """Return a row with a 9 that the seed puts into a partition: sizes tell which one grew."""
    for number in range(1000):
        given = np.vstack([rows, [9.0, number]]), np.r_[labels, 0]
        if clone(model).fit(*given).partition_sizes_[partition] > model.partition_sizes_[partition]:
            return [9.0, number]
    raise AssertionError


@pytest.mark.parametrize(
    ("seed", "skew", "n_partitions"),
    [(0, 0.3, 9), (1, 0.3, 9), (2, 0.3, 9), (3, 0.3, 9), (0, 0.1, 8), (1, 0.1, 8)],
)
def test_one_row_more_than_is_certified_flips_a_prediction(seed, skew, n_partitions):
    rows, labels = table(seed, 40, skew)  # few of a label: all agree, and it isn't the rival
    model = of("obedient", n_partitions).fit(rows, labels)
    votes, certified = model.votes(ASKED[:1])[0], int(model.certified_rows(ASKED[:1])[0])
    winner, rival = votes.argmax(), votes.argmin()
    voters = zip(np.flatnonzero(model.partition_sizes_), model.voters_, strict=True)
    held = [n for n, (each, own) in voters if own[each.predict(ASKED[:1])[0]] == winner]
    news = [reaching(model, rows, labels, each) for each in held[: certified + 1]]
    assert certified > 0
    for n in (certified, certified + 1):
        flipped = False
        for label in (rival, -1):  # a label that sorts before all others wins ties
            given = np.vstack([rows, news[:n]]), np.r_[labels, [label] * n]
            flipped |= clone(model).fit(*given).predict(ASKED[:1])[0] != winner
        assert flipped == (n > certified)


def people(n=300):
    rng = np.random.default_rng(4)
    day = pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 99, n), unit="D")
    frame = pd.DataFrame(
        {"age": rng.integers(0, 50, n), "flag": rng.random(n) > 0.5, "day": day, "job": "nurse"}
    )
    return frame, ((frame["age"] > 25) ^ frame["flag"]).to_numpy().astype(int)


@pytest.mark.parametrize(
    "written",
    [
        lambda frame: frame.astype(object),
        lambda frame: frame.astype({"age": "Int8", "flag": "boolean", "job": "category"}),
        lambda frame: frame.astype({"age": "float32", "flag": int, "day": "datetime64[s]"}),
        lambda frame: pl.from_pandas(frame).with_columns(pl.col("day").cast(pl.Date)),
        lambda frame: pl.from_pandas(frame).to_arrow(),
    ],
)
def test_one_hostile_cell_that_changes_how_a_column_is_read_moves_no_other_row(written):
    frame, y = people()
    expected = of(DummyClassifier(), 500).fit(frame, y).partition_sizes_
    found = of(DummyClassifier(), 500).fit(written(frame), y).partition_sizes_
    assert np.array_equal(found, expected)


def test_a_missing_cell_makes_whole_numbers_fractions_and_moves_one_vote():
    frame, y = people()
    frame, hostile = frame[["age", "flag"]], pd.DataFrame({"age": [np.nan], "flag": [True]})
    model = DecisionTreeClassifier(max_depth=3, random_state=0)
    before = of(model).fit(frame, y).votes(frame)
    after = of(model).fit(pd.concat([hostile, frame]), np.r_[0, y]).votes(frame)
    assert np.abs(after - before).sum(axis=1).max() <= 2


def test_missing_texts_and_empty_ones_are_told_apart():
    frame = pd.DataFrame({"a": ["", None] * 20, "b": "x"})
    sizes = of(DummyClassifier(), 500).fit(frame, np.arange(40) % 2).partition_sizes_
    assert sizes[sizes > 0].tolist() == [20, 20]


def coded(frame):
    return frame.assign(job=frame["job"].cat.codes)


def test_categories_that_are_declared_make_no_way_into_other_partitions():
    frame, y = people()
    job = np.random.default_rng(5).choice(list("bcd"), 300)
    y = y ^ (job == "c")
    frame = frame[["age"]].assign(job=pd.Categorical(job, categories=list("abcd")))
    hostile = frame.iloc[:1].assign(job=pd.Categorical(["a"], categories=list("abcd")))
    model = make_pipeline(FunctionTransformer(coded), DecisionTreeClassifier(random_state=0))
    before = of(model).fit(frame, y)
    after = of(model).fit(pd.concat([hostile, frame]), np.r_[1 - y[0], y])
    assert np.abs(after.votes(frame) - before.votes(frame)).sum(axis=1).max() <= 2
    assert before.certified_rows(frame).max() > 0


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_columns_in_another_order_are_refused(kind):
    frame = pd.DataFrame(table(0)[0], columns=["a", "b"])
    model = of(DecisionTreeClassifier()).fit(kind(frame), table(0)[1])
    with pytest.raises(ValueError, match="same order"):
        model.certified_rows(kind(frame[["b", "a"]]))


@pytest.mark.parametrize("labels", [("no", "yes"), (1, 2), (False, True)])
def test_weights_of_labels_are_those_of_each_model(labels):
    rows = np.random.default_rng(0).normal(size=(400, 2))
    codes = (rows[:, 0] + np.random.default_rng(1).normal(size=400) > 1).astype(int)
    by_number, by_label = (
        of(make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=1, class_weight=each)))
        for each in ({0: 1, 1: 9}, dict(zip(labels, (1, 9), strict=True)))
    )
    expected = by_number.fit(rows, codes).predict(rows)
    assert expected.mean() > codes.mean() + 0.1  # weights count
    assert by_label.fit(rows, np.array(labels)[codes]).predict(rows).tolist() == (
        np.array(labels)[expected].tolist()
    )


def test_a_partition_without_a_label_keeps_the_weights_of_the_others():
    rows = np.arange(30.0).reshape(-1, 1) % 10
    labels = np.r_[np.ones(15), np.full(15, 2), [0]].astype(int)
    weighted = of(DecisionTreeClassifier(class_weight={0: 1, 1: 1, 2: 99}), 1)
    lacking = weighted.fit(rows, labels[:30]).voters_[0][0]
    assert lacking.get_params()["class_weight"] == {0: 1, 1: 99}  # its numbers for 1 and 2
    assert (weighted.predict(rows) == 2).all()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n_partitions": 10**7}, "n_partitions"),
        ({"n_partitions": 10**30}, "n_partitions"),
        ({"estimator": FrozenEstimator(DecisionTreeClassifier())}, "frozen"),
    ],
)
def test_what_certifies_nothing_is_refused(settings, words):
    with pytest.raises(ParameterError, match=words):
        of("chaotic").set_params(**settings).fit(*table(0))


def test_long_floats_are_read():
    rows, labels = table(0)
    assert of("chaotic").fit(rows.astype(np.longdouble), labels).voters_
