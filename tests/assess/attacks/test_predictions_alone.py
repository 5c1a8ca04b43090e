"""Attacks on regressors and on classifiers that predict labels alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from halfmask._errors import DataError, ParameterError
from halfmask.assess.attacks import ModelTarget, attack
from halfmask.assess.attacks._answers import answers
from halfmask.assess.attacks.attributes import QueryInference
from halfmask.assess.attacks.membership import BlackBox, Lira, Rmia, ShadowModels, Yeom
from halfmask.assess.attacks.structure._tree_structure import trees_of

PEOPLE = 600


class LabelsOnly:
    """A classifier that gives labels and no probabilities."""

    def __init__(self, model):
        self._model = model

    def predict(self, rows):
        return self._model.predict(rows)


def target(train, *, numbers=True, n=PEOPLE, **more) -> ModelTarget:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2 * n, 3))
    labels = rng.normal(size=2 * n) if numbers else rng.choice(["no", "yes"], 2 * n)
    return ModelTarget(
        model=train(rows[:n], labels[:n], 0),
        members=rows[:n],
        member_labels=labels[:n],
        non_members=rows[n:],
        non_member_labels=labels[n:],
        train=train,
        **more,
    )


def few(whole: ModelTarget) -> ModelTarget:
    """Return a target of too few people to attack them for long."""
    names = ("members", "member_labels", "non_members", "non_member_labels")
    return replace(whole, train=None, **{name: getattr(whole, name)[:30] for name in names})


def rote(rows, labels, seed):
    return RandomForestRegressor(10, random_state=seed).fit(rows, labels)


def line(rows, labels, _seed):
    return LinearRegression().fit(rows, labels)


def rote_labels(rows, labels, seed):
    return LabelsOnly(DecisionTreeClassifier(random_state=seed).fit(rows, labels))


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [Yeom(), BlackBox(trees=20), ShadowModels(n_shadows=4), Lira(n_shadows=6), Rmia(n_shadows=6)],
    ids=lambda each: each.name,
)
def test_a_regressor_that_learns_by_rote_is_broken_and_a_line_isnt(kind):
    broken = attack(target(rote), attacks=[kind], measures=["AUC"]).findings[0]
    assert broken.verdict == "broken"
    assert broken.outcome.success.value > 0.7
    fine = attack(target(line), unprotected=target(rote), attacks=[kind], measures=["AUC"])
    assert fine.findings[0].verdict in {"resisted", "not shown"}
    assert fine.findings[0].outcome.success.value < 0.57


@pytest.mark.parametrize(
    "kind", ["membership/gap", Yeom(), BlackBox(trees=20), Lira(n_shadows=6), Rmia(n_shadows=6)]
)
def test_a_classifier_that_predicts_labels_alone_is_attacked_by_them(kind):
    found = attack(
        target(rote_labels, numbers=False), attacks=[kind], measures=["accuracy"]
    ).findings[0]
    assert found.verdict == "broken"
    # All members are predicted rightly, and half of the others.
    assert found.outcome.success.value == pytest.approx(0.75, abs=0.04)


def test_labels_alone_are_attacked_as_a_model_is_that_is_always_sure():
    alone = target(rote_labels, numbers=False)
    sure = replace(alone, model=alone.model._model)
    found = [attack(each, attacks=["membership/gap"]).findings[0] for each in (alone, sure)]
    assert found[0].outcome == found[1].outcome


def test_models_of_scikit_learn_without_probabilities_are_asked_for_labels():
    def train(rows, labels, _seed):
        return LinearSVC().fit(rows, labels)

    found = attack(target(train, numbers=False), attacks=["membership/gap"]).findings[0]
    assert not found.failure


def test_gap_says_why_it_doesnt_attack_a_regressor_and_what_does():
    skipped = dict(attack(few(target(line))).skipped)
    assert "Use membership/yeom" in skipped["membership/gap"]
    with pytest.raises(ParameterError, match="never exactly right"):
        attack(target(line), attacks=["membership/gap"])


def test_a_regressor_with_whole_numbers_for_labels_is_one():
    whole = few(target(line))
    given = {
        name: np.rint(10 * getattr(whole, name)) for name in ("member_labels", "non_member_labels")
    }
    assert "membership/gap" in dict(attack(replace(whole, **given)).skipped)


@pytest.mark.slow
@pytest.mark.parametrize("frame", [np.asarray, pl.DataFrame])
def test_a_regressor_tells_a_secret_to_queries(frame):
    rng = np.random.default_rng(1)
    n = 2_000
    rows = np.column_stack([rng.normal(size=2 * n), rng.integers(0, 2, 2 * n)])
    labels = rng.normal(size=2 * n)
    made = frame(rows)
    secret = 1 if frame is np.asarray else "column_1"
    whole = ModelTarget(
        model=DecisionTreeRegressor(random_state=0).fit(made[:n], labels[:n]),
        members=made[:n],
        member_labels=labels[:n],
        non_members=made[n:],
        non_member_labels=labels[n:],
        secrets=(secret,),
    )
    found = attack(whole, attacks=[QueryInference()], measures=["accuracy"]).findings[0]
    assert found.verdict == "broken"
    assert found.outcome.success.value > found.outcome.reference.value + 0.1
    assert "classification tree" in dict(attack(few(whole)).skipped)["attributes/white_box_tree"]
    black_box = attack(whole, attacks=["attributes/black_box"]).findings[0]
    assert not black_box.failure


def test_leaves_of_a_regressors_trees_are_counted():
    rough = target(lambda rows, labels, _: DecisionTreeRegressor(max_depth=2).fit(rows, labels))
    report = attack(rough, attacks=["structure/trees"])
    measures = {each.outcome.measure: each for each in report.findings}
    assert "rows in one-label leaves below k" not in measures
    sizes = np.unique(rough.model.apply(rough.members), return_counts=True)[1]
    assert measures["rows in leaves below k"].outcome.details["smallest_leaf"] == sizes.min()
    assert measures["rows of an output below k"].outcome.details["smallest_output"] == sizes.min()
    fine = target(lambda rows, labels, _: DecisionTreeRegressor().fit(rows, labels))
    assert attack(fine, attacks=["structure/trees"]).findings[0].outcome.success.value == 1.0


def test_a_regressors_tree_learned_two_numbers_for_a_split_and_one_for_a_leaf():
    model = DecisionTreeRegressor(max_depth=1).fit([[0.0], [1.0]], [0.5, 1.5])
    trees = trees_of(model)
    assert trees is not None
    assert trees.parameters(2) == 2 + 2


class Odd:
    def __init__(self, predicted):
        self.predicted = predicted

    def predict(self, rows):  # noqa: ARG002 # a model's
        return self.predicted


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (["a"] * 2, "must predict a label for each of 3 rows"),
        (["a", "b", "secret"], "predicts labels that no person has, for 1 rows"),
        ([0, 1, 1], "predicts labels of another type"),
    ],
)
def test_predictions_that_are_no_labels_of_these_rows_are_refused(given, why):
    with pytest.raises(DataError, match=why) as caught:
        answers(Odd(given), [[0], [1], [2]], np.array(["a", "b"]), who="The model")
    assert "secret" not in str(caught.value)
