"""PATE: one row moves one vote, noise fits the budget, and agreement costs less."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from halfmask import BudgetError, DataError, ParameterError
from halfmask.dp.accounting import epsilon_of
from halfmask.dp.learning.pate import PateClassifier, data_dependent_epsilon

RNG = np.random.default_rng(8)
X = RNG.normal(size=(3000, 2))
Y = np.where(X @ [1.0, 1.0] > 0, "yes", "no")
PUBLIC = RNG.normal(size=(120, 2))


def _model(**settings):
    usual: dict[str, Any] = {
        "teacher": DecisionTreeClassifier(max_depth=3, random_state=0),
        "student": LogisticRegression(),
        "epsilon": 6.0,
        "delta": 1e-5,
        "classes": ["no", "yes"],
        "teachers": 60,
        "answers": 60,
    }
    return PateClassifier(**{**usual, **settings})


@pytest.mark.parametrize("agreement", [None, 0.7])
def test_the_student_learns_within_the_budget(agreement, notes):
    ledger = notes()
    model = _model(agreement=agreement, ledger=ledger).fit(X, Y, public=PUBLIC)

    assert model.score(X, Y) > 0.7
    assert model.spent_epsilon_ == epsilon_of(model.events_, delta=1e-5) <= 6.0
    assert ledger.booked[0][0] == model.events_
    assert 0 < model.labelled_ <= 60
    assert model.private_epsilon_ < model.spent_epsilon_


@pytest.mark.parametrize("classes", [["no", "yes"], ["maybe", "no", "yes", "zero"]])
def test_probabilities_are_the_students(classes):
    """A class that no label named has none; the order is that of all declared classes."""
    model = _model(classes=classes, epsilon=50.0).fit(X, Y, public=PUBLIC)
    found = model.predict_proba(X[:50])

    assert found.shape == (50, len(classes))
    known = [classes.index(each) for each in model.student_.classes_]
    assert np.array_equal(found[:, known], model.student_.predict_proba(X[:50]))
    assert found.sum(axis=1) == pytest.approx(1.0)
    assert found[:, sorted({*range(len(classes))} - {*known})].sum() == 0
    assert (model.classes_[found.argmax(axis=1)] == model.predict(X[:50])).all()


def test_only_students_with_probabilities_have_them():
    assert not hasattr(_model(student=LinearSVC()), "predict_proba")
    assert hasattr(_model(), "predict_proba")


def test_one_row_moves_one_vote(monkeypatch):
    """The same key puts the other rows into the same parts."""
    from halfmask.dp.learning.pate import _classifier  # noqa: PLC0415 # patched here

    monkeypatch.setattr(_classifier, "fresh_key", lambda: bytes(32))
    model = _model(teachers=20)
    model.classes_ = np.array(["no", "yes"])
    codes = (Y == "yes").astype(int)
    every = model._votes(X[:400], codes[:400], np.arange(400), PUBLIC)
    fewer = model._votes(X[:399], codes[:399], np.arange(399), PUBLIC)

    change = every - fewer
    assert every.sum(axis=1).tolist() == [20] * len(PUBLIC)
    assert (np.abs(change).sum(axis=1) <= 2).all()
    many = model._votes(X[:200], codes[:200], np.arange(200), PUBLIC) - every
    assert (np.abs(many).sum(axis=1) > 2).any()


def test_all_rows_of_a_person_move_one_vote(monkeypatch):
    from halfmask.dp.learning.pate import _classifier  # noqa: PLC0415 # patched here

    monkeypatch.setattr(_classifier, "fresh_key", lambda: bytes(32))
    model = _model(teachers=20)
    model.classes_ = np.array(["no", "yes"])
    codes, persons = (Y == "yes").astype(int), np.repeat(np.arange(100), 30)
    every = model._votes(X[:3000], codes, persons, PUBLIC)
    fewer = model._votes(X[:2970], codes[:2970], persons[:2970], PUBLIC)
    as_rows = model._votes(X[:2970], codes[:2970], np.arange(2970), PUBLIC)

    assert (np.abs(every - fewer).sum(axis=1) <= 2).all()
    assert (np.abs(every - as_rows).sum(axis=1) > 2).any()


def test_parts_with_one_label_or_no_row_still_vote():
    model = _model(teachers=50)
    model.classes_ = np.array(["no", "yes"])
    votes = model._votes(X[:3], np.ones(3, dtype=np.int64), np.arange(3), PUBLIC)

    assert (votes.sum(axis=1) == 50).all()
    assert (votes[:, 1] <= 3).all()


def _renyi_of_plurality(votes, scale, order):
    """Divergence of two-class plurality answers on neighbours, summed exactly."""

    def logs(counts):
        gap = (counts[0] - counts[1]) / (math.sqrt(2) * scale)
        return np.array([norm.logcdf(gap), norm.logsf(gap)])

    worst = 0.0
    for moved in (-1, 1):
        neighbour = logs([votes[0] + moved, votes[1] - moved])
        total = np.logaddexp(*(order * logs(votes) + (1 - order) * neighbour))
        worst = max(worst, total / (order - 1))
    return worst


@pytest.mark.parametrize("votes", [[250, 0], [200, 50], [150, 100], [126, 124]])
@pytest.mark.parametrize("scale", [20.0, 40.0])
def test_the_data_dependent_cost_bounds_the_exact_divergence(votes, scale):
    """For two classes the answer is a coin, whose divergence can be summed."""
    from halfmask.dp.learning.pate import _classifier  # noqa: PLC0415 # its inner figures

    costs = _classifier._renyi(_classifier._log_other(np.array(votes, float), scale), scale)
    for order, cost in zip(_classifier._ORDERS, costs, strict=True):
        assert _renyi_of_plurality(votes, scale, order) <= cost * (1 + 1e-9) + 1e-12
    assert (costs <= _classifier._ORDERS / scale**2 * (1 + 1e-12)).all()


def test_the_probability_of_another_answer_is_bounded():
    from halfmask.dp.learning.pate import _classifier  # noqa: PLC0415 # its inner figures

    votes, scale = np.array([30.0, 20.0, 10.0]), 8.0
    exact = (
        1
        - quad(
            lambda x: norm.pdf(x, 30, scale) * norm.cdf(x, 20, scale) * norm.cdf(x, 10, scale),
            -50,
            110,
        )[0]
    )
    assert exact <= math.exp(_classifier._log_other(votes, scale)) <= 2 * exact


def test_more_agreement_costs_less_and_split_votes_cost_the_guarantee():
    costs = [
        data_dependent_epsilon([[n, 250 - n]] * 50, scale=40.0, delta=1e-5)
        for n in (130, 180, 220, 250)
    ]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] > 3 * costs[-1]


@pytest.mark.parametrize("given", [
    {"teachers": 1}, {"answers": 0}, {"agreement": 1.5}, {"epsilon": 0}, {"delta": 1},
])  # fmt: skip
def test_parameters_outside_of_their_ranges_are_refused(given):
    with pytest.raises(ParameterError, match=next(iter(given))):
        _model(**given).fit(X, Y, public=PUBLIC)


def test_public_rows_are_required():
    with pytest.raises(ParameterError, match="public"):
        _model().fit(X, Y)


def test_labels_of_one_class_train_no_student():
    with pytest.raises(DataError, match="fewer than two classes"):
        _model().fit(X, np.full(len(X), "no"), public=PUBLIC)


def test_a_teacher_that_fails_says_no_cell():
    class Failing(DecisionTreeClassifier):  # type: ignore[misc] # sklearn has no types
        def fit(self, *_args, **_kwargs):
            raise ValueError("somebody's name")

    with pytest.raises(DataError, match="A teacher of PateClassifier failed") as caught:
        _model(teacher=Failing()).fit(X, Y, public=PUBLIC)
    assert "somebody" not in str(caught.value)


def test_a_spent_ledger_stops_it(notes):
    with pytest.raises(BudgetError):
        _model(ledger=notes(times=0)).fit(X, Y, public=PUBLIC)


@pytest.mark.parametrize("votes", [[], [1.0], [[3]]])
def test_votes_that_cannot_be_are_refused(votes):
    with pytest.raises(ParameterError, match="votes"):
        data_dependent_epsilon(votes, scale=1.0, delta=1e-5)
