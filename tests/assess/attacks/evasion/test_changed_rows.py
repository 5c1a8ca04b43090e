"""Changed rows: judged by closed forms, by models that are robust by construction, and by luck."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

from halfmask._errors import ColumnNotFoundError, ParameterError
from halfmask.assess.attacks import EVERYONE, AttackReport, ModelTarget, attack
from halfmask.assess.attacks.evasion import KnownModel, LabelsOnly
from halfmask.assess.robustness import AttackerBudget, ColumnBudget, Relation
from halfmask.assess.robustness._black_box import flip_by_labels

FREE = ColumnBudget(low=-9.0, high=9.0, cost=1.0)
BUDGET = AttackerBudget(columns={"0": FREE, "1": FREE}, most=0.2)
FLIP = "rows that flip"


def _people(n: int = 800, gap: float = 0.0) -> tuple[Any, Any]:
    """Return rows on both sides of the diagonal, no nearer to it than the gap, and their side."""
    rows = np.random.default_rng(1).normal(size=(n, 2))
    side = rows.sum(axis=1) > 0
    return rows + gap * np.where(side, 1, -1)[:, None], np.where(side, "secret-b", "secret-a")


def _target(model: Any, rows: Any, labels: Any, **others: Any) -> ModelTarget:
    half = len(labels) // 2
    first, last = (
        (rows.iloc[:half], rows.iloc[half:])
        if hasattr(rows, "iloc")
        else (rows[:half], rows[half:])
    )
    parts = {"members": first, "member_labels": labels[:half]}
    parts |= {"non_members": last, "non_member_labels": labels[half:]}
    return ModelTarget(model=model, **{"budget": BUDGET, **parts, **others})


def _linear(gap: float = 0.0, **others: Any) -> ModelTarget:
    rows, labels = _people(gap=gap)
    return _target(LogisticRegression().fit(rows, labels), rows, labels, **others)


class _Opaque:
    """A model that only predicts, as nobody can read it."""

    def __init__(self, model: Any) -> None:
        self.classes_, self._ask = model.classes_, model.predict

    def predict(self, rows: Any) -> Any:
        return self._ask(np.asarray(rows))


def _value(report: AttackReport, group: str = EVERYONE, measure: str = FLIP) -> Any:
    found = [it for it in report.findings if it.outcome.group == group]
    return next(it for it in found if it.outcome.measure == measure)


def test_of_a_linear_model_as_many_rows_flip_as_the_closed_form_says():
    target = _linear()
    model, rows = target.model, target.non_members
    right = model.predict(rows) == target.non_member_labels
    cost = np.abs(model.decision_function(rows)) / np.abs(model.coef_).sum()
    found = _value(attack(target, families=["evasion"]))
    assert found.outcome.success.trials == right.sum()
    assert found.outcome.success.value == pytest.approx((cost[right] <= 0.2).mean())
    assert found.outcome.details["median cost to flip"] == pytest.approx(
        np.sort(cost[right])[(right.sum() - 1) // 2], rel=1e-6
    )
    assert found.outcome.details["certified median"] == pytest.approx(
        found.outcome.details["median cost to flip"], rel=1e-6
    )
    assert {"changed: 0", "changed: 1"} < set(found.outcome.details)
    assert found.outcome.census
    assert found.verdict == "broken"


@pytest.mark.parametrize("hide", [lambda model: model, _Opaque])
def test_what_is_robust_by_construction_is_resisted_and_what_isnt_is_broken(hide):
    far, near = _linear(gap=1.0), _linear()
    far, near = (replace(it, model=hide(it.model)) for it in (far, near))
    for each in (KnownModel(effort=1), LabelsOnly(effort=1)):
        report = attack(far, unprotected=near, attacks=[each])
        assert report.resisted, str(report)
        assert _value(attack(near, unprotected=near, attacks=[each])).verdict == "broken"


def test_a_census_needs_no_positive_control_and_asking_does():
    target = _linear(gap=1.0)
    assert attack(target, attacks=["evasion/known-model"]).resisted
    asked = _value(attack(target, attacks=["evasion/labels-only"]))
    assert asked.verdict == "INVALID"
    assert asked.why_invalid == "was not run on unprotected data"


def test_a_budget_that_no_change_is_within_proves_nothing():
    target = _linear(budget=replace(BUDGET, norm="columns", most=0.9))
    report = attack(target, unprotected=_linear(), families=["evasion"])
    assert {it.verdict for it in report.findings} == {"INVALID"}
    assert "nothing may be changed" in report.findings[0].why_invalid


def test_an_attack_that_finds_nothing_any_more_is_invalid(monkeypatch):
    def weak(*given: Any, **settings: Any) -> Any:
        found = flip_by_labels(*given, **settings)
        return replace(found, found=np.full(found.rows, np.inf), changed=found.changed & False)

    monkeypatch.setattr("halfmask.assess.robustness._flips.flip_by_labels", weak)
    target = replace(_linear(), model=_Opaque(_linear().model))
    attacks = [KnownModel(effort=1), LabelsOnly(effort=1)]
    report = attack(target, unprotected=target, attacks=attacks)
    assert not report.resisted
    assert {it.verdict for it in report.findings if it.outcome.measure == FLIP} == {"INVALID"}


def test_a_model_that_any_change_flips_doesnt_resist():
    rows = np.zeros((1200, 2))
    rows[::2] = -5.0
    labels = rows[:, 0] >= 0
    stump = DecisionTreeClassifier(max_depth=1).fit(np.array([[0.0, 0], [0.001, 0]]), [True, False])
    budget = replace(BUDGET, columns={"0": replace(FREE, change="up", high=1.0)}, most=1.0)
    report = attack(_target(stump, rows, labels, budget=budget), attacks=["evasion/known-model"])
    luck = _value(report, "class 2 of 2", "rows that flip by a random change")
    assert _value(report, "class 2 of 2").verdict == "resisted"  # no better than any change
    assert luck.verdict == "broken"
    assert luck.outcome.success.value > 0.99
    assert not report.resisted


def test_only_rows_that_are_predicted_right_are_changed_and_as_many_as_are_wanted():
    target = _linear()
    wrong = replace(target, non_member_labels=target.non_member_labels[::-1])
    right = target.model.predict(target.non_members) == wrong.non_member_labels
    assert _value(attack(wrong, families=["evasion"])).outcome.success.trials == right.sum()
    few = attack(target, attacks=[KnownModel(rows=150)], random_state=3)
    assert _value(few).outcome.success.trials == 150
    assert few.to_dict() == attack(target, attacks=[KnownModel(rows=150)], random_state=3).to_dict()
    predicted = target.model.predict(target.non_members)
    opposite = np.where(predicted == "secret-a", "secret-b", "secret-a")
    report = attack(replace(target, non_member_labels=opposite), families=["evasion"])
    why = "failed: The model predicts none of 400 non-members right"
    assert {it.why_invalid for it in report.findings} == {why}


def test_classes_and_groups_are_parts_of_all_rows_and_no_class_is_named():
    own = np.arange(800) % 3 - 1  # -1: of no group
    report = attack(
        _linear(groups=(["first group", "second group"], own)), attacks=["evasion/known-model"]
    )
    trials = {it.outcome.group: it.outcome.success.trials for it in report.findings}
    assert trials["class 1 of 2"] + trials["class 2 of 2"] == trials[EVERYONE]
    model, rows = _linear().model, _linear().non_members
    right = model.predict(rows) == _linear().non_member_labels
    assert trials["second group"] == (right & (own[400:] == 1)).sum()
    assert "secret" not in json.dumps(report.to_dict()) + str(report) + report._repr_html_()
    assert "Evasion: do small changes" in report.to_svg()


def _frames() -> list[Any]:
    rows, _ = _people()
    word = np.where(rows[:, 0] > 0.3, "tall", "short")
    frame = pd.DataFrame({"0": rows[:, 0], "1": rows[:, 1], "word": word})
    coded = frame.astype({"word": "category"})
    polars = pl.from_pandas(frame)
    return [frame, coded, polars, polars.with_columns(pl.col("word").cast(pl.Categorical))]


def _taller(rows: Any) -> Any:
    """Return features, as only this kind of rows can be read."""
    tall = np.array([it == "tall" for it in rows["word"]])
    if hasattr(rows, "iloc") and str(rows["word"].dtype) == "category":
        tall = rows["word"].cat.codes.to_numpy() == 1
    return np.column_stack([rows["0"], rows["1"], 0.5 * tall])


@pytest.mark.mostly_slow
@pytest.mark.parametrize("kind", range(4))
@pytest.mark.parametrize("asked", [KnownModel(effort=2), LabelsOnly(effort=2)])
def test_a_model_gets_rows_of_its_own_kind(kind, asked):
    rows, (_, labels) = _frames()[kind], _people()
    model = make_pipeline(FunctionTransformer(_taller), LogisticRegression()).fit(rows, labels)
    budget = replace(BUDGET, columns={**BUDGET.columns, "word": ColumnBudget()}, most=1.0)
    report = attack(_target(model, rows, labels, budget=budget), attacks=[asked])
    assert _value(report).outcome.success.value > 0.5
    assert _value(report).outcome.details["changed: word"] < 1


def test_functions_and_models_of_probabilities_alone_are_asked_for_labels():
    target = _linear()

    class Probabilities:
        classes_ = target.model.classes_
        predict_proba = target.model.predict_proba

    for model in (target.model.predict_proba, Probabilities()):
        found = _value(attack(replace(target, model=model), attacks=[KnownModel(effort=2)]))
        assert found.outcome.success.value > 0.1


def test_of_a_regressor_the_difference_is_asked_for():
    rows, _ = _people()
    target = _target(LinearRegression().fit(rows, rows @ [2.0, 1.0]), rows, rows @ [2.0, 1.0])
    report = attack(target, families=["evasion"])
    assert not report.findings
    assert all("(difference)" in why for _, why in report.skipped)
    for kind in (KnownModel, LabelsOnly):  # a change of 0.2 in each column moves it by 0.6
        near, far = (attack(target, attacks=[kind(difference=it, effort=2)]) for it in (0.5, 0.7))
        assert [it.outcome.group for it in near.findings] == [EVERYONE]
        assert _value(near).outcome.success.value > 0.9
        assert _value(far).outcome.success.value == 0
    with pytest.raises(ParameterError, match="classes have no difference"):
        attack(_linear(), attacks=[KnownModel(difference=1.0)])


def test_who_only_asks_for_labels_doesnt_know_the_model():
    target = _linear(budget=replace(BUDGET, knows="labels"))
    report = attack(target, unprotected=target, families=["evasion"])
    assert {it.outcome.attack for it in report.findings} == {"evasion/labels-only"}
    assert report.skipped == (
        ("evasion/known-model", "an attacker who knows the model (budget.knows)"),
    )


def test_a_budget_is_one_and_of_columns_that_are_there():
    wrong: Any = {"0": 0.1}
    with pytest.raises(ParameterError, match=r"must be an AttackerBudget\. Got .* type dict"):
        _linear(budget=wrong)
    for budget in (
        replace(BUDGET, columns={"2": FREE}),
        replace(BUDGET, relations=(Relation(terms={"2": 1.0}),)),
    ):
        with pytest.raises(ColumnNotFoundError, match="2"):
            _linear(budget=budget)


def test_evasion_runs_by_default_only_where_there_is_a_budget():
    with_budget, without = (
        {it.outcome.attack for it in found.findings} | {name for name, _ in found.skipped}
        for found in (attack(_linear(), measures=["flip"]), attack(_linear(budget=None)))
    )
    assert "evasion/known-model" in with_budget
    assert not any(name.startswith(("evasion", "poisoning")) for name in without)
    report = attack(_linear(budget=None), families=["evasion"])
    assert [why for _, why in report.skipped] == ["what may be changed of a row (budget)"] * 2


def test_families_are_some_of_those_of_the_target_and_no_attacks_are_given_too():
    target = _linear()
    tree = DecisionTreeClassifier(max_depth=2).fit(target.members, target.member_labels)
    ran = attack(replace(target, model=tree), families=["structure", "evasion"])
    assert {it.outcome.attack.partition("/")[0] for it in ran.findings} == {"structure", "evasion"}
    wrongs: list[Any] = [["tables"], ["evasions"], [], ["evasion", 7]]
    for wrong in wrongs:
        with pytest.raises(ParameterError, match=r"'families' parameter.*membership.*ModelTarget"):
            attack(target, families=wrong)
    for given in ("evasion", ["evasion", "evasion"]):
        with pytest.raises(ParameterError, match="families"):
            attack(target, families=given)
    with pytest.raises(ParameterError, match="only one may be given"):
        attack(target, families=["evasion"], attacks=["membership/gap"])
