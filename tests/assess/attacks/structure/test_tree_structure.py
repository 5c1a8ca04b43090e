"""Structural checks against counts that are made another way, and with power."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from halfmask._errors import ParameterError
from halfmask.assess.attacks import ModelTarget, Outcome, attack
from halfmask.assess.attacks.structure import TreeStructure

MODELS = [
    DecisionTreeClassifier(random_state=0),
    RandomForestClassifier(n_estimators=5, random_state=0),
    ExtraTreesClassifier(n_estimators=5, random_state=0),
    GradientBoostingClassifier(n_estimators=3, random_state=0),
    HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2, random_state=0),
]


def people(n: int = 300, *, alike: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Rows in cells of as many equal rows as are alike, and labels that the rows say little of."""
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.normal(size=(n // alike, 3)), alike, axis=0)
    return rows, (rows[:, 0] + rng.normal(size=len(rows)) > 0).astype(int)


def target(model: object, *, alike: int = 1) -> ModelTarget:
    rows, labels = people(alike=alike)
    return ModelTarget(
        model=clone(model).fit(rows, labels),
        members=rows,
        member_labels=labels,
        non_members=rows[:1],
        non_member_labels=labels[:1],
    )


def by_measure(outcomes: tuple[Outcome, ...]) -> dict[str, Outcome]:
    return {outcome.measure: outcome for outcome in outcomes}


def test_leaves_are_counted_as_by_hand():
    seen = target(DecisionTreeClassifier(min_samples_leaf=4, random_state=0))
    found = by_measure(TreeStructure(k=10).run(seen, random_state=0))
    sizes = Counter(seen.model.apply(seen.members).tolist())
    labels: dict[int, Counter[int]] = {}
    for leaf, label in zip(seen.model.apply(seen.members), seen.member_labels, strict=True):
        labels.setdefault(int(leaf), Counter())[int(label)] += 1
    small = sum(n for n in sizes.values() if n < 10)
    pure = sum(n for leaf, n in sizes.items() if n < 10 and len(labels[leaf]) == 1)
    assert found["rows in leaves below k"].success.value == pytest.approx(small / 300)
    assert found["rows in one-label leaves below k"].success.value == pytest.approx(pure / 300)
    assert found["a leaf below k"].success.value == 1.0
    assert found["a leaf below k"].details["smallest_leaf"] == min(sizes.values())
    lowest = found["rows in one-label leaves below k"].details["lowest_label_frequency"]
    assert lowest == min(n for counts in labels.values() for n in counts.values())


def test_outputs_are_counted_as_by_hand():
    seen = target(RandomForestClassifier(n_estimators=3, max_depth=3, random_state=0))
    found = by_measure(TreeStructure(k=10).run(seen, random_state=0))["rows of an output below k"]
    outputs = Counter(map(tuple, seen.model.predict_proba(seen.members).round(12).tolist()))
    assert found.success.value == pytest.approx(sum(n for n in outputs.values() if n < 10) / 300)
    assert found.details["smallest_output"] == min(outputs.values())
    assert found.details["outputs"] == len(outputs)


@pytest.mark.slow
def test_the_leaves_of_histograms_are_those_the_model_was_grown_of():
    seen = target(HistGradientBoostingClassifier(max_iter=1, min_samples_leaf=12, random_state=0))
    found = by_measure(TreeStructure(k=12).run(seen, random_state=0))
    assert found["rows in leaves below k"].success.value == 0.0
    assert found["rows in leaves below k"].success.trials == 300
    assert found["rows in leaves below k"].details["smallest_leaf"] >= 12
    # One tree: rows of one output are rows of one leaf, or of two with the same correction.
    outputs = Counter(seen.model.predict_proba(seen.members)[:, 1].round(12).tolist())
    assert len(outputs) <= found["rows in leaves below k"].details["leaves"]


@pytest.mark.mostly_slow
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_model_of_alike_people_is_resisted_and_one_of_single_people_is_broken(model):
    report = attack(
        target(model, alike=15), unprotected=target(model), attacks=[TreeStructure(k=10)]
    )
    assert {finding.verdict for finding in report.findings} == {"resisted"}
    raw = {f.outcome.measure: f for f in attack(target(model), attacks=[TreeStructure()]).findings}
    assert raw["a leaf below k"].verdict == "broken"
    assert raw["rows in leaves below k"].outcome.success.value > 0


def test_counts_need_no_positive_control_but_name_what_they_found():
    report = attack(
        target(DecisionTreeClassifier(random_state=0), alike=15),
        unprotected=target(DecisionTreeClassifier(random_state=0), alike=15),
        attacks=[TreeStructure()],
    )
    assert report.resisted
    assert all(finding.excess_high == 0.0 for finding in report.findings)


def test_one_small_leaf_is_enough():
    # Of 300 rows 2 are alone in their leaf: less than the tolerance, but a leaf of two people.
    rows = np.r_[np.zeros(298), 1.0, 1.0].reshape(-1, 1)
    labels = np.r_[np.tile([0, 1], 149), 1, 1]
    seen = ModelTarget(
        model=DecisionTreeClassifier().fit(rows, labels),
        members=rows,
        member_labels=labels,
        non_members=rows,
        non_member_labels=labels,
    )
    verdicts = {
        f.outcome.measure: f.verdict for f in attack(seen, attacks=[TreeStructure()]).findings
    }
    assert verdicts["rows in leaves below k"] == "resisted"
    assert verdicts["a leaf below k"] == "broken"


def test_trained_rows_are_those_that_the_model_saw():
    raw, labels = people()
    coarse = np.zeros_like(raw)
    seen = ModelTarget(
        model=DecisionTreeClassifier().fit(coarse, labels),
        members=raw,
        member_labels=labels,
        non_members=raw,
        non_member_labels=labels,
        trained_rows=coarse,
    )
    found = by_measure(TreeStructure().run(seen, random_state=0))
    assert found["rows in leaves below k"].details["smallest_leaf"] == 300
    assert found["too few degrees of freedom"].details["residual_degrees_of_freedom"] == 299


def test_learned_numbers_are_two_a_split_and_one_less_than_the_classes_a_leaf():
    rows = np.array([[0.0], [0.0], [1.0], [1.0]] * 10)
    labels = (rows[:, 0] > 0).astype(int)
    seen = ModelTarget(
        model=DecisionTreeClassifier().fit(rows, labels),
        members=rows,
        member_labels=labels,
        non_members=rows,
        non_member_labels=labels,
    )
    found = by_measure(TreeStructure().run(seen, random_state=0))["too few degrees of freedom"]
    assert found.details["residual_degrees_of_freedom"] == 40 - (2 * 1 + 2 * 1)
    assert found.success.value == 0.0


def test_a_pipeline_is_read_at_its_last_step():
    colours = pl.DataFrame({"colour": ["red", "green", "blue"] * 40})
    labels = np.tile([0, 1, 1], 40)
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["colour"])), DecisionTreeClassifier()
    )
    seen = ModelTarget(
        model=model.fit(colours, labels),
        members=colours,
        member_labels=labels,
        non_members=colours,
        non_member_labels=labels,
    )
    found = by_measure(TreeStructure().run(seen, random_state=0))
    assert found["rows in leaves below k"].details["smallest_leaf"] in {40.0, 80.0}


@pytest.mark.mostly_slow
@pytest.mark.parametrize("model", MODELS)
def test_a_model_that_learned_each_member_several_times_is_not_counted(model):
    """Rows in its leaves aren't people: of so many people none may be counted."""
    once = target(model)
    rows, labels = people()
    several = clone(model).fit(np.repeat(rows, 3, axis=0), np.repeat(labels, 3))
    assert TreeStructure().missing_inputs(once) == ""
    assert "not 3 times" in TreeStructure().missing_inputs(replace(once, model=several))
    some = clone(model).fit(np.r_[rows, rows[:100]], np.r_[labels, labels[:100]])
    assert TreeStructure().missing_inputs(replace(once, model=some)) == ""
    assert TreeStructure().missing_inputs(replace(once, model=clone(model))) == "", (
        "asking it will tell"
    )


def test_weights_and_draws_are_no_copies_of_members():
    rows, labels = people()
    twice = {0: 2, 1: 2}
    for model in (
        DecisionTreeClassifier(class_weight=twice),
        RandomForestClassifier(3, class_weight=twice),
        RandomForestClassifier(3, max_samples=0.3),
    ):
        assert TreeStructure().missing_inputs(target(model)) == ""
    drawn = RandomForestClassifier(3, max_samples=0.3)
    several = drawn.fit(np.repeat(rows, 4, axis=0), np.repeat(labels, 4))
    assert "not 4 times" in TreeStructure().missing_inputs(replace(target(drawn), model=several))


def test_a_model_without_trees_is_skipped():
    rows, labels = people(60)
    model = GaussianNB()
    seen = ModelTarget(
        model=model.fit(rows, labels),
        members=rows,
        member_labels=labels,
        non_members=rows,
        non_member_labels=labels,
    )
    assert "trees" in TreeStructure().missing_inputs(seen)


@pytest.mark.parametrize("settings", [{"k": 1}, {"k": 2.5}, {"min_degrees_of_freedom": -1}])
def test_thresholds_are_whole_numbers(settings):
    with pytest.raises(ParameterError, match="TreeStructure"):
        TreeStructure(**settings)
