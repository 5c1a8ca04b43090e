"""A model that fails, or labels that are none, make findings INVALID, whichever family attacks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from assess.attacks.foreign_models import (  # type: ignore[import-not-found] # beside
    CANARY,
    Model,
    failing,
)
from halfmask.assess.attacks import ModelTarget, attack
from halfmask.assess.attacks._answers import answers, label_array

if TYPE_CHECKING:
    from halfmask.assess.attacks import AttackReport

N = 150
FAMILIES = ["membership/gap", "attributes/black_box", "attributes/queries"]
TREES = ["attributes/white_box_tree", "structure/trees"]


def people(labels: Any = None, **more: Any) -> dict[str, Any]:
    """Return what a target has beside a model: two columns of 300 people, half of them members."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 3, size=(2 * N, 2)).astype(float)
    labels = rng.integers(0, 2, 2 * N) if labels is None else labels
    return {
        "members": rows[:N],
        "member_labels": labels[:N],
        "non_members": rows[N:],
        "non_member_labels": labels[N:],
        "secrets": (1,),
        **more,
    }


def attacked(model: Any, names: list[str], **more: Any) -> AttackReport:
    return attack(ModelTarget(model=model, **people(**more)), attacks=names)


def fitted(labels: Any = None) -> DecisionTreeClassifier:
    known = people(labels)
    return DecisionTreeClassifier(random_state=0).fit(known["members"], known["member_labels"])


def why(report: AttackReport) -> set[str]:
    assert {finding.verdict for finding in report.findings} == {"INVALID"}
    assert CANARY not in repr(report.to_dict())
    return {finding.why_invalid for finding in report.findings}


def masked(labels):
    """Return answers that are all masked, and would be good ones for who looks below."""
    return np.ma.masked_array(labels, mask=True)


def logits(rows):
    return np.column_stack([rows[:, 0], -rows[:, 0]])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "given"),
    [
        (failing, "failed: The model failed to predict (KeyError)"),
        (logits, "failed: The model gave what are no probabilities for"),
        (
            lambda rows: np.full(len(rows), 0.5),
            "failed: The model must give probabilities of shape",
        ),
        (lambda rows: np.full((len(rows), 2), np.nan), "failed: The model gave NaN"),
        (lambda rows: masked(np.full((len(rows), 2), 0.5)), "failed: The model gave NaN"),
        (lambda rows: [masked(np.full(2, 0.5)) for _ in rows], "failed: The model gave NaN"),
        (object(), "failed: The model must have predict_proba or predict, or be callable"),
    ],
    ids=["raises", "logits", "one column", "nan", "masked", "masked rows", "no model"],
)
def test_what_gives_no_probabilities_fails_in_each_family(model, given):
    for each in why(attacked(model, FAMILIES)):
        assert each.startswith(given)


@pytest.mark.slow
def test_categories_that_a_pipeline_doesnt_know_stay_out_of_errors():
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {"ward": rng.choice(["a", "b"], 2 * N), "ill": rng.choice(["x", "y"], 2 * N)}
    )
    others = frame[N:].with_columns(
        ill=pl.when(pl.int_range(N) > N - 20).then(pl.lit(CANARY)).otherwise("ill")
    )
    encoder = make_column_transformer((OneHotEncoder(), ["ward", "ill"]))
    labels = rng.integers(0, 2, 2 * N)
    model = make_pipeline(encoder, DecisionTreeClassifier()).fit(frame[:N], labels[:N])
    named = {"members": frame[:N], "non_members": others, "secrets": ("ward",)}

    asked = attacked(model, [*FAMILIES, "attributes/white_box_tree"], labels=labels, **named)

    assert why(asked) == {
        "failed: The model failed to predict (ValueError)",
        "failed: The model failed to find the leaves of rows (ValueError)",
    }
    swapped = {**named, "members": others}
    assert why(attacked(model, ["structure/trees"], labels=labels, **swapped)) == {
        "failed: The model failed to predict (ValueError)"
    }


@pytest.mark.parametrize(
    "spoil",
    [
        lambda labels: np.where(np.arange(2 * N) == 3, None, labels),
        lambda labels: np.where(np.arange(2 * N) == 3, np.nan, labels),
        lambda labels: labels.reshape(-1, 1),
        lambda labels: [[label] * (1 + (n == 3)) for n, label in enumerate(labels.tolist())],
    ],
    ids=["none", "nan", "a column", "lists"],
)
def test_labels_that_are_none_fail_in_each_family(spoil):
    labels = spoil(np.asarray(people()["member_labels"].tolist() * 2))

    for each in why(attacked(fitted(), FAMILIES + TREES, labels=labels)):
        assert each.startswith("failed: The labels of the members")


def test_masked_labels_are_refused():
    target = ModelTarget(model=fitted(), **people())
    hidden = np.ma.masked_array(target.member_labels, mask=np.arange(target.n_members) == 3)
    report = attack(replace(target, member_labels=hidden), attacks=["membership/gap"])
    expected = "failed: The column of labels of the members is a masked array with 1 masked cells"
    assert [each.why_invalid for each in report.findings] == [expected]


def test_labels_of_another_type_than_the_models_classes_are_refused():
    labels = np.where(people()["member_labels"] > 0, "yes", "no").tolist() * 2

    found = attacked(fitted(), [*FAMILIES, "attributes/white_box_tree"], labels=np.array(labels))

    assert why(found) == {"failed: The model's classes and the labels must be of one type"}


@pytest.mark.slow
def test_a_tree_that_wasnt_fitted_fails_to_predict():
    report = attacked(DecisionTreeClassifier(), [*FAMILIES, *TREES])

    assert {each.rpartition(" ")[2] for each in why(report)} == {"(NotFittedError)"}


def test_columns_are_put_in_the_order_of_all_classes():
    model = Model(np.array([[0.9, 0.1]]), ["c", "a"])

    found = answers(model, np.zeros((1, 1)), np.array(["a", "b", "c"]), who="It")

    assert found.tolist() == [[0.1, 0.0, 0.9]]


def test_strings_in_object_arrays_are_labels():
    assert label_array(np.array(["x", "y"], dtype=object), whose="members").dtype.kind == "U"
