"""Guidance: what a guide says of quasi-identifiers alone, against averages and cases by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import RadiusNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import halfmask as hm
from halfmask._errors import DataError, ParameterError
from halfmask.training import Guidance, _guidance, cross_fitted, guidance
from halfmask.training._lenders import CASES

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(3000, 2))
Y = 3 * ROWS[:, 0] + 2 * ROWS[:, 1]
FIRST = np.array([True, False])
BOTH = np.array([True, True])


def guided(guide, recoded=FIRST, y=Y, estimator=None):
    estimator = estimator or LinearRegression()
    return guidance(guide, estimator, ROWS, y, recoded=recoded, folds=3, seed=0)


@pytest.mark.parametrize("guide", ["cross-fitted", "fitted", lambda rows: rows @ [3.0, 2.0]])
def test_alone_is_the_mean_over_other_columns(guide):
    found = guided(guide)
    assert np.allclose(found.said[:, 0], Y)
    rest = found.alone[:, 0] - 3 * ROWS[:, 0] - 2 * ROWS[:, 1].mean()
    assert abs(rest.mean()) < 0.1
    assert rest.std() == pytest.approx(2 / np.sqrt(8), rel=0.1)  # eight rows lend their columns
    assert abs(np.corrcoef(rest, ROWS[:, 1])[0, 1]) < 0.06


def test_it_says_of_rows_what_cross_fitting_says():
    assert np.array_equal(
        guided("cross-fitted").said, cross_fitted(LinearRegression(), ROWS, Y, folds=3, seed=0)
    )
    labels = (Y > 0).astype(int)
    found = guided("cross-fitted", y=labels, estimator=LogisticRegression())
    assert found.alone.shape == found.said.shape == (3000, 2)
    assert np.allclose(found.alone.sum(axis=1), 1)


@pytest.mark.parametrize("guide", ["labels", Y])
def test_what_cannot_be_asked_leads_by_rows(guide):
    assert guided(guide).alone is None


def test_without_other_columns_there_is_nothing_to_average():
    assert guided("cross-fitted", BOTH).alone is None
    assert guided(LinearRegression().fit(ROWS, Y), BOTH).alone is None


def test_guides_lead_together():
    found = guided(["labels", lambda rows: rows[:, 0]])
    assert found.said.shape == found.alone.shape == (3000, 2)
    assert np.array_equal(found.said[:, 0], found.alone[:, 0])
    assert guided(["labels", Y]).alone is None


def test_one_that_is_made_is_kept_and_its_length_is_judged():
    made = guided("fitted")
    again = guided(made)
    assert np.array_equal(again.alone, made.alone)
    assert np.array_equal(again.said, made.said)
    with pytest.raises(ParameterError, match="3000"):
        guided(Guidance(said=made.said[1:]))
    with pytest.raises(ParameterError, match="3000"):
        guided(Guidance(said=made.said, alone=made.said[1:]))


@pytest.mark.parametrize("recoded", [FIRST, BOTH])
def test_only_what_never_learned_a_row_is_crossed(recoded):
    assert guided("cross-fitted", recoded).crossed
    assert guided(["cross-fitted"], recoded).crossed
    assert guided(guided("cross-fitted", recoded), recoded).crossed
    for guide in (
        "fitted",
        "labels",
        Y,
        ["cross-fitted", "labels"],
        LinearRegression().fit(ROWS, Y),
    ):
        made = guided(guide, recoded)
        assert not made.crossed
        assert not guided(made, recoded).crossed


def test_it_can_be_had_of_some_rows():
    made, some = guided("cross-fitted"), np.array([5, 2])
    part = made.of(some)
    assert np.array_equal(part.said, made.said[some])
    assert np.array_equal(part.alone, made.alone[some])
    assert part.crossed
    assert guided("labels").of(some).alone is None


def test_it_is_the_same_each_time_and_shows_no_numbers():
    assert np.array_equal(guided("cross-fitted").alone, guided("cross-fitted").alone)
    assert repr(guided("labels")) == "Guidance(3000 rows, alone=False)"


TREE = DecisionTreeRegressor(max_depth=6, random_state=0)


@pytest.mark.parametrize("guide", ["cross-fitted", "fitted", lambda rows: rows @ [3.0, 2.0]])
def test_case_by_case_it_is_asked_for_models_that_answer_in_steps(guide):
    cases = guided(guide, estimator=TREE).cases
    assert cases.shape == (3000, CASES, 1)
    assert cases.min() >= 0
    assert cases.max() <= 1
    # in each case what is recoded says the same, beside a row that adds its own
    for case in cases[:, :, 0].T:
        assert np.corrcoef(case, ROWS[:, 0])[0, 1] > 0.9
        assert abs(np.corrcoef(case, ROWS[:, 1])[0, 1]) < 0.1
    assert guided(guide).cases is None, "a linear model doesn't answer in steps"
    assert guided(guide, BOTH, estimator=TREE).cases is None, "nothing else reaches it"
    whole = guidance(guide, TREE, ROWS, Y, recoded=FIRST, folds=3, seed=0, by_case=False)
    assert whole.cases is None


def test_a_row_is_asked_about_case_by_case_of_models_that_never_learned_it(monkeypatch):
    class Remembers(DecisionTreeRegressor):  # type: ignore[misc] # scikit-learn ships no types
        """Says 1 of what it learned and 0 of all else, by the first column."""

        def fit(self, X, y):
            self.known_ = set(X[:, 0].tolist())
            return super().fit(X, y)

        def predict(self, X):
            return np.array([float(cell in self.known_) for cell in X[:, 0]])

    monkeypatch.setattr(_guidance, "answers_in_steps", lambda *_, **__: True)
    found = guided("cross-fitted", estimator=Remembers(random_state=0))
    assert found.cases is not None
    assert not found.cases.any()
    assert not found.said.any()
    assert guided("fitted", estimator=Remembers(random_state=0)).cases.all()


def test_cases_stay_with_their_rows_and_their_length_is_judged():
    made, some = guided("fitted", estimator=TREE), np.array([5, 2])
    assert np.array_equal(made.of(some).cases, made.cases[some])
    assert np.array_equal(guided(made, estimator=TREE).cases, made.cases)
    with pytest.raises(ParameterError, match="3000"):
        guided(Guidance(said=made.said, alone=made.alone, cases=made.cases[1:]))


def test_guides_lead_together_case_by_case_too():
    found = guided([lambda rows: rows[:, 0] * 1000, "labels"], estimator=TREE)
    assert found.cases.shape == (3000, CASES, 2)
    asked, labels = (found.cases[:, :, output] for output in (0, 1))
    # what can't be asked is the same in each case, and weighs as much as what can
    assert (labels == labels[:, :1]).all()
    assert np.corrcoef(labels[:, 0], Y)[0, 1] > 0.99
    assert 0.5 < asked.std() / labels.std() < 2
    assert guided(["labels", Y], estimator=TREE).cases is None


def test_a_guide_without_cases_stands_beside_others_by_what_it_says_of_quasi_identifiers_alone():
    plain = guided("cross-fitted")
    found = guided([plain, lambda rows: rows[:, 0]], estimator=TREE)
    assert np.corrcoef(found.cases[:, 0, 0], plain.alone[:, 0])[0, 1] > 0.99
    assert np.corrcoef(found.cases[:, 0, 0], plain.said[:, 0])[0, 1] < 0.9
    assert found.cases.shape == (3000, CASES, 2)


def test_whether_cases_are_of_use_is_asked_once_and_only_where_they_may_be(monkeypatch):
    asked: list[int] = []

    def counted(*_, **__):
        asked.append(1)
        return True

    monkeypatch.setattr(_guidance, "answers_in_steps", counted)
    several = ["cross-fitted", "fitted", lambda rows: rows[:, 0]]
    assert guided(several, estimator=TREE).cases.shape == (3000, CASES, 3)
    assert len(asked) == 1
    without = guidance(several, TREE, ROWS, Y, recoded=FIRST, folds=3, seed=0, by_case=False)
    assert without.cases is None
    guided("labels", estimator=TREE)
    guided("cross-fitted", BOTH, estimator=TREE)
    assert len(asked) == 1


def test_lone_trees_that_are_grown_to_the_end_are_not_led_case_by_case():
    labels = (RNG.normal(size=3000) < Y).astype(int)
    grown, stopped = (DecisionTreeClassifier(max_depth=deep, random_state=0) for deep in (None, 4))
    assert guided("cross-fitted", y=labels, estimator=grown).cases is None
    assert guided("cross-fitted", y=labels, estimator=stopped).cases.shape == (3000, CASES, 1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")  # it says so of each row without neighbours
def test_a_model_that_gives_some_rows_no_share_at_all_may_lead():
    rows = np.random.default_rng(0).normal(size=(300, 6))
    y = (rows[:, 0] * rows[:, 4] + rows[:, 1] > 0).astype(int)
    model = hm.AnonymizedEstimator(
        RadiusNeighborsClassifier(2.0, outlier_label=2),
        guarantees=[hm.KAnonymity(k=10)],
        quasi_identifiers=[0, 1, 2],
    ).fit(rows, y)
    assert model.score(rows, y) > 0.4


def test_a_guide_that_says_now_more_now_less_is_refused(drops_rare_labels):
    labels = (ROWS[:, 0] > 0).astype(int)
    labels[:3] = 2  # each fold's model learns two of them, but for one that may learn fewer
    labels[3:5] = 3
    with pytest.raises(DataError, match="outputs"):
        guided("cross-fitted", y=labels, estimator=drops_rare_labels(2)(max_depth=3))
    calls: list[int] = []

    def changing(rows):
        calls.append(len(rows))
        return np.zeros((len(rows), 1 + (len(calls) > 4)))

    with pytest.raises(DataError, match="1 outputs and 2"):
        guided(changing, estimator=TREE)


@pytest.mark.parametrize("estimator", [TREE, LinearRegression()])
def test_a_guide_that_says_nothing_is_refused_by_name(estimator):
    rows = np.random.default_rng(0).normal(size=(300, 2))
    model = hm.AnonymizedEstimator(
        estimator,
        guarantees=[hm.KAnonymity(k=10)],
        quasi_identifiers=[0],
        guide=lambda some: np.empty((len(some), 0)),
    )
    with pytest.raises(ParameterError, match="shape"):
        model.fit(rows, rows[:, 0])
