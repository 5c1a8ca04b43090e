"""Retraining: partitions and points compete, and what wins is what the model was trained on."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

import halfmask as hm
from halfmask.training import AnonymizedEstimator, _retraining
from halfmask.training._linear_view import LinearView


class KNeighborsByVote(ClassifierMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn ships no types
    """Neighbours that give labels only, so that nobody sees that they answer in steps."""

    def __init__(self, n_neighbors=3):
        self.n_neighbors = n_neighbors

    def fit(self, X, y):
        self.inner_ = KNeighborsClassifier(self.n_neighbors).fit(X, y)
        self.classes_ = self.inner_.classes_
        return self

    def predict(self, X):
        return self.inner_.predict(X)


def people(n=600, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 4))
    y = (rows[:, 0] + rows[:, 1] + 2 * rows[:, 3] + rng.normal(size=n) > 0).astype(int)
    return pl.DataFrame(rows, schema=["a", "b", "c", "other"]), y


def fitted(estimator, **settings):
    rows, y = people()
    model = AnonymizedEstimator(
        estimator,
        guarantees=[hm.KAnonymity(k=60)],
        quasi_identifiers=["a", "b", "c"],
        refinements=4,
        **settings,
    )
    return model.fit(rows, y), rows, y


@pytest.mark.slow
def test_partitions_and_points_are_tried_and_the_winner_is_named():
    model, _, _ = fitted(LogisticRegression())
    tried = set(model.trials_)
    assert {"unconfounded", "centroid", "box", "typical"} <= tried
    assert not any("record" in name for name in tried), "nobody's row is written for others"
    assert model.representative_ in tried
    others = {name.partition(", ")[2] for name in tried if ", " in name}
    names = {"led by quasi-identifiers alone", "led by rows"}
    names |= {f"{name}, wider" for name in names}
    assert others == names - {model.led_by_}


@pytest.mark.slow
def test_the_model_is_trained_on_the_points_that_won():
    model, rows, y = fitted(LogisticRegression())
    again = LogisticRegression().fit(model.fit_transform(rows, y), y)
    assert np.allclose(again.coef_, model.model_.coef_)


def test_of_equals_the_one_that_knows_least_by_heart_wins():
    model, rows, y = fitted(KNeighborsByVote(3))
    # neighbours know untouched columns by heart: what they score on their rows isn't believed
    assert max(model.trials_.values()) < model.model_.score(model.encode(rows), y)


def test_a_model_is_not_refined_on_points_that_it_does_not_learn_from():
    rows, y = people(2000)
    model = AnonymizedEstimator(
        KNeighborsByVote(1),
        guarantees=[hm.KAnonymity(k=200)],
        method=hm.Mondrian(),
        refinements=3,
    ).fit(rows, y)
    if model.trials_["unconfounded"] < max(model.trials_.values()) - 0.02:
        assert not any(name.startswith("unconfounded refined") for name in model.trials_)
    assert model.led_by_ == "led by rows"


@pytest.mark.parametrize("representative", ["centroid", "box"])
def test_one_that_is_named_is_trained_once(representative):
    model, rows, y = fitted(LogisticRegression(), representative=representative)
    assert list(model.trials_) == [representative]
    assert model.led_by_ == "led by quasi-identifiers alone"
    assert model.trials_[representative] == pytest.approx(model.score(rows, y))


@pytest.mark.slow
def test_what_the_guide_says_is_viewed_once_for_all_partitions_of_the_same_rows(monkeypatch):
    viewed = []
    of = LinearView.of

    def counted(rows):
        viewed.append(rows)
        return of(rows)

    monkeypatch.setattr(LinearView, "of", counted)
    model, _, _ = fitted(LogisticRegression())
    assert len({name.partition(", ")[2] for name in model.trials_}) > 1, "of several partitions"
    assert len(viewed) == 1


@pytest.mark.slow
def test_partitions_of_other_rows_share_no_view(monkeypatch):
    """Of each partition other rows may be suppressed, and a view is of those that are kept."""
    given: list[tuple[bytes, int]] = []
    share = _retraining._sharing_views

    def shared(tried):
        found = share(tried)
        given.extend((each.kept.tobytes(), id(each.rows.views)) for each in found)
        return found

    monkeypatch.setattr(_retraining, "_sharing_views", shared)
    fitted(LogisticRegression(), max_suppression_fraction=0.2)
    kept, views = ({each[part] for each in given} for part in (0, 1))
    assert len(given) > len(kept) > 1
    assert len(set(given)) == len(kept) == len(views)
