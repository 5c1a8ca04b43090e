"""Selection: a proper score on held-out rows, less what is leaked, never below the centroid's."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

import halfmask as hm
from halfmask.training import AnonymizedEstimator
from halfmask.training._candidates import candidates_of, partitioned
from halfmask.training._preparing import prepared
from halfmask.training._selection import (
    CandidateScore,
    best_of,
    losses,
    membership_advantage,
    scored,
)
from halfmask.training._split_targets import folds_of

RNG = np.random.default_rng(0)
K = [hm.KAnonymity(k=10)]
ROWS = RNG.normal(size=(300, 3))
ALL = [("centroid", "raw"), ("quantile-spread", "raw"), ("centroid", "transformed")]
Y = (ROWS[:, 0] + ROWS[:, 1] + 0.5 * RNG.normal(size=300) > 0).astype(int)


def data_of(estimator, rows=ROWS, y=Y, *, k=10, **settings):
    model = AnonymizedEstimator(estimator, guarantees=[hm.KAnonymity(k=k)], **settings)
    return prepared(model, rows, y)


def score_of(name, score, advantage=0.0):
    return CandidateScore(name=name, predict_on="raw", score=score, membership_advantage=advantage)


def test_the_loss_is_the_log_loss_the_square_or_a_miss():
    soft = LogisticRegression().fit(ROWS, Y)
    assert losses(soft, ROWS, Y).mean() == pytest.approx(log_loss(Y, soft.predict_proba(ROWS)))
    hard = LinearSVC().fit(ROWS, Y)
    assert losses(hard, ROWS, Y).mean() == pytest.approx(1 - hard.score(ROWS, Y))
    line = LinearRegression().fit(ROWS, ROWS[:, 0] + Y)
    errors = line.predict(ROWS) - ROWS[:, 0] - Y
    assert np.allclose(losses(line, ROWS, ROWS[:, 0] + Y, scale=2.0), errors**2 / 4)
    sure = KNeighborsClassifier(1).fit(ROWS, Y)
    assert losses(sure, ROWS, 1 - Y).max() == pytest.approx(-np.log(1e-3)), "and is bounded"


def test_a_label_that_a_model_doesnt_know_has_no_probability():
    soft = LogisticRegression().fit(ROWS, Y)
    assert np.allclose(losses(soft, ROWS, np.full(300, 7)), -np.log(1e-3))


def test_the_advantage_is_that_of_the_best_threshold():
    members, others = np.array([0.1, 0.2, 0.3, 0.9]), np.array([0.15, 0.8, 0.85, 0.95])
    by_hand = max((members <= at).mean() - (others <= at).mean() for at in np.r_[members, others])
    assert membership_advantage(members, others) == pytest.approx(by_hand) == pytest.approx(0.5)
    assert membership_advantage(others, members) < 0.5


def test_a_model_that_memorizes_has_an_advantage_and_one_that_cant_has_little():
    noise = RNG.integers(0, 2, 300)
    learned, held = np.arange(150), np.arange(150, 300)
    found = []
    for model in (KNeighborsClassifier(1), LogisticRegression(C=1e-6)):
        model.fit(ROWS[learned], noise[learned])
        both = [losses(model, ROWS[each], noise[each]) for each in (learned, held)]
        found.append(membership_advantage(*both))
    assert found[0] > 0.4
    assert found[1] < 0.2


def test_the_best_objective_wins_but_never_a_score_below_the_centroids():
    centroid = score_of("centroid", 0.30, 0.02)
    better, leaking, hiding = (
        score_of("better", 0.35, 0.02),
        score_of("leaking", 0.40, 0.50),
        score_of("hiding", 0.29, -0.4),
    )
    assert best_of([centroid, better], penalty=0.5).name == "better"
    assert best_of([centroid, leaking], penalty=0.5).name == "centroid"
    assert best_of([centroid, leaking], penalty=0.0).name == "leaking"
    assert best_of([centroid, hiding], penalty=9.0).name == "centroid"
    assert best_of([centroid, score_of("other", float("nan"))], penalty=0.5).name == "centroid"


@pytest.mark.slow
def test_scores_are_of_models_that_saw_nothing_of_the_fold():
    """Of labels by chance no candidate scores above nothing."""
    noise = np.random.default_rng(1).integers(0, 2, 300)
    forest = RandomForestClassifier(20, random_state=0)
    for targets in ("labels", "cross-fitted"):
        data = data_of(forest, y=noise, split_targets=targets)
        found = scored(data, cv=3, representative="chosen", predict_on="chosen")
        assert [(each.name, each.predict_on) for each in found] == ALL
        assert all(each.score < 0.05 for each in found)


@pytest.mark.slow
@pytest.mark.parametrize("way", [0, 2], ids=["raw", "transformed"])
def test_the_score_is_as_by_hand(way):
    data = data_of(LogisticRegression())
    by_hand = []
    for train, held in folds_of(data.estimator, data.labels, cv=3, random_state=0):
        part = partitioned(data.subset(train))
        points = part.represented("centroid")
        model = LogisticRegression().fit(*part.written(points).of_people())
        asked = data.encoded[held]
        if way:
            asked = points[0][part.anonymizer.plan_.cells(data.table[held])]
        share = np.full(len(held), data.labels[train].mean())
        lost = log_loss(Y[held], model.predict_proba(asked))
        by_hand.append(1 - lost / log_loss(Y[held], share))
    found = scored(data, cv=3, representative="chosen", predict_on="chosen")[way]
    assert found.predict_on == ["raw", "raw", "transformed"][way]
    assert found.score == pytest.approx(np.mean(by_hand))


def checkerboard(n: int = 900):
    rows = np.random.default_rng(1).normal(size=(n, 4))
    return rows, ((rows[:, 0] > 0) ^ (rows[:, 1] > 0.3)).astype(int)


@pytest.mark.slow
def test_rows_that_are_written_like_what_was_learned_are_predicted_better_by_a_tree():
    """The best centroids: by them alone a forest of raw rows cuts where no class ends."""
    rows, y = checkerboard()
    model = AnonymizedEstimator(
        RandomForestClassifier(20, random_state=0),
        guarantees=[hm.KAnonymity(k=50)],
        predict_on="chosen",
    ).fit(rows, y)
    raw, _, transformed = model.cv_results_
    assert transformed.score > raw.score + 0.1
    assert (model.representative_, model.predict_on_) == ("centroid", "transformed")
    assert np.array_equal(model.predict(rows), model.model_.predict(model.transform(rows)))


@pytest.mark.slow
@pytest.mark.parametrize("representative", ["centroid", "quantile-spread"])
def test_what_is_predicted_is_chosen_for_a_given_representative_too(representative):
    """A forest of centroids predicts them better; it was raw without any comparison."""
    rows, y = checkerboard()
    model = AnonymizedEstimator(
        RandomForestClassifier(20, random_state=0),
        guarantees=[hm.KAnonymity(k=50)],
        representative=representative,
        predict_on="chosen",
        split_targets="labels",
    ).fit(rows, y)

    found = [(each.name, each.predict_on) for each in model.cv_results_]
    assert found == [(representative, "raw"), (representative, "transformed")]
    assert model.representative_ == representative
    raw, transformed = model.cv_results_
    assert model.predict_on_ == best_of([raw, transformed], penalty=0.5).predict_on
    if representative == "centroid":
        assert model.predict_on_ == "transformed"


def test_transformed_rows_that_a_model_recognizes_arent_chosen():
    """With an unchanged column they are the very rows that it learned."""
    rows = np.random.default_rng(2).normal(size=(300, 5))
    model = AnonymizedEstimator(
        KNeighborsClassifier(1),
        guarantees=K,
        quasi_identifiers=[0, 1, 2, 3],
        split_targets="labels",
        predict_on="chosen",
    ).fit(rows, RNG.integers(0, 2, 300))
    raw, _, transformed = model.cv_results_
    assert transformed.membership_advantage > raw.membership_advantage + 0.1
    assert model.predict_on_ == "raw"


@pytest.mark.slow
def test_a_tree_learns_more_from_quantiles_and_that_is_chosen():
    rows, y = checkerboard()
    forest = RandomForestClassifier(20, random_state=0)
    model = AnonymizedEstimator(forest, guarantees=[hm.KAnonymity(k=50)]).fit(rows, y)
    centroid, spread = model.cv_results_
    assert spread.score > centroid.score + 0.1
    assert model.representative_ == "quantile-spread"
    strict = AnonymizedEstimator(
        forest, guarantees=[hm.KAnonymity(k=50)], membership_penalty=1e6
    ).fit(rows, y)
    least = min(strict.cv_results_, key=lambda each: max(each.membership_advantage, 0))
    assert strict.representative_ == least.name


def test_folds_that_cant_keep_k_leave_the_centroid():
    model = AnonymizedEstimator(LogisticRegression(), guarantees=[hm.KAnonymity(k=250)])
    model.fit(ROWS, Y)
    assert model.cv_results_ == []
    assert model.representative_ == "centroid"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")  # scikit-learn squares them
def test_numbers_are_scored_whatever_their_size():
    for scale in (1e-3, 1.0, 1e200):
        found = scored(
            data_of(LinearRegression(), y=(ROWS[:, 0] + 0.1) * scale),
            cv=3,
            representative="chosen",
            predict_on="raw",
        )
        assert found[0].score == pytest.approx(1.0, abs=0.1)


def test_nothing_is_compared_where_nothing_is_recoded():
    frame = pl.DataFrame(ROWS, schema=["a", "b", "c"]).with_columns(d=pl.lit(1.0))
    data = data_of(LogisticRegression(), frame, quasi_identifiers=["d"])
    assert candidates_of(data, representative="chosen", predict_on="chosen") == ALL[:1]
    assert scored(data, cv=3, representative="chosen", predict_on="chosen") == []
