"""What a training costs and how large its noise is, before it; and what is said of it after."""

from __future__ import annotations

import math
import warnings
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from halfmask import BudgetError, DataError, NoiseWarning, ParameterError
from halfmask.dp.accounting import epsilon_of
from halfmask.dp.learning import (
    PrivateBoostingClassifier,
    PrivateGaussianNB,
    PrivateLogisticRegression,
    PrivateMultinomialNB,
    PrivateSGDClassifier,
    PrivateSGDRegressor,
)
from halfmask.dp.learning.pate import PateClassifier

RNG = np.random.default_rng(0)
X = RNG.uniform(0, 1, size=(3000, 4))
Y = (X @ [2.0, -1.0, 1.0, 0.0] + RNG.normal(0, 0.2, 3000) > 1).astype(int)
THREE = Y + (X[:, 3] > 0.5)
BUDGET: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-5}
CLASSES: dict[str, Any] = {**BUDGET, "classes": [0, 1]}
MODELS = {
    "output": PrivateLogisticRegression(**CLASSES, row_norm=2.0),
    "laplace": PrivateLogisticRegression(**{**CLASSES, "delta": 0.0}, row_norm=2.0),
    "objective": PrivateLogisticRegression(**CLASSES, row_norm=2.0, perturbation="objective"),
    "three": PrivateLogisticRegression(**BUDGET, classes=[0, 1, 2], row_norm=2.0),
    "sgd": PrivateSGDClassifier(**CLASSES, clip_norm=1.0, steps=20),
    "sgd of three": PrivateSGDClassifier(**BUDGET, classes=[0, 1, 2], clip_norm=1.0, steps=9),
    "numbers": PrivateSGDRegressor(**BUDGET, target_bounds=(-1.0, 3.0), clip_norm=1.0, steps=20),
    "bayes": PrivateGaussianNB(**CLASSES, bounds=(0.0, 1.0)),
    "counts": PrivateMultinomialNB(**CLASSES, row_sum=4.0),
    "boosting": PrivateBoostingClassifier(**CLASSES, bounds=(0.0, 1.0), rounds=3),
    "pate": PateClassifier(
        DecisionTreeClassifier(max_depth=2), DecisionTreeClassifier(max_depth=2), **CLASSES,
        teachers=60, answers=10,
    ),
}  # fmt: skip


def fitted(name, rows=X):
    labels = THREE if "three" in name else Y
    more = {"public": X[:10]} if name == "pate" else {}
    return clone(MODELS[name]).fit(rows, labels[: len(rows)], **more)


@pytest.mark.mostly_slow
@pytest.mark.parametrize("name", MODELS)
def test_a_plan_states_what_is_booked(name):
    plan = MODELS[name].plan(4)
    assert plan.events == fitted(name).events_
    assert 0.98 < epsilon_of(plan.events, delta=MODELS[name].delta) <= 1.0
    assert (plan.epsilon, plan.delta) == (1.0, MODELS[name].delta)
    assert "Costs epsilon 1" in plan.explain()
    assert not [each for each in vars(MODELS[name]) if each.endswith("_")]


@pytest.mark.mostly_slow
@pytest.mark.parametrize("name", sorted(set(MODELS) - {"pate"}))
def test_a_plan_counts_less_rows_where_epsilon_is_larger(name):
    few, many = (clone(MODELS[name]).set_params(epsilon=each).plan(4).rows for each in (4, 0.25))
    assert 4 < many / few < 40


def test_a_plan_checks_what_fit_does():
    with pytest.raises(ParameterError, match="columns"):
        MODELS["output"].plan(0)
    with pytest.raises(ParameterError, match="row_norm"):
        clone(MODELS["output"]).set_params(row_norm=0.0).plan(4)
    with pytest.raises(ParameterError, match="classes"):
        clone(MODELS["bayes"]).set_params(classes=[1]).plan(4)
    for name, wrong in (("bayes", "bounds"), ("boosting", "bounds"), ("numbers", "target_bounds")):
        with pytest.raises(ParameterError, match=wrong):
            clone(MODELS[name]).set_params(**{wrong: (1.0, 0.0)}).plan(4)
    with pytest.raises(BudgetError):
        clone(MODELS["objective"]).set_params(delta=0.0).plan(4)


@pytest.mark.mostly_slow
@pytest.mark.parametrize(("delta", "perturbation", "moved"), [
    (0.0, "output", 0.25), (1e-5, "output", 0.25), (1e-5, "objective", 1.0),
])  # fmt: skip
@pytest.mark.parametrize("classes", [[0, 1], [0, 1, 2]])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 30.0])
def test_the_default_strength_bounds_what_noise_does_to_a_score(
    epsilon, classes, delta, perturbation, moved
):
    """The score of the longest row moves by so much; noise in the loss is somewhat larger."""
    model = PrivateLogisticRegression(
        epsilon=epsilon, delta=delta, row_norm=3.0, classes=classes, perturbation=perturbation
    )
    rows, labels = 3 * np.eye(4), np.resize(classes, 4)
    model.fit(rows, labels)
    longest = math.hypot(3.0, 1.0)
    reach = model.C_ if perturbation == "objective" else 1.0
    found = model.mechanism_.deviation * reach * longest
    assert 0.99 * moved < found < (1.4 if perturbation == "objective" else 1.01) * moved
    assert clone(model).set_params(C=model.C_).plan(4) == model.plan(4)


def test_the_default_strength_depends_on_nothing_of_the_rows():
    one, other = (fitted("output", rows).C_ for rows in (X, 9 * X[:50]))
    assert one == other == clone(MODELS["output"]).fit(X, 1 - Y).C_


@pytest.mark.mostly_slow
@pytest.mark.parametrize("name", ["output", "laplace", "objective"])
def test_the_default_strength_is_no_toss(name):
    """3,000 rows in the unit cube at epsilon 1: the old default had from .1 to .9 with Laplace."""
    rows = np.hstack([X, RNG.uniform(0, 1, size=(3000, 12))])
    model = clone(MODELS[name]).set_params(row_norm=2.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error", NoiseWarning)
        scores = [
            roc_auc_score(Y, model.set_params(epsilon=3.0).fit(rows, Y).decision_function(rows))
            for _ in range(3)
        ]
    assert min(scores) > 0.75


LOUD = {
    "output": {"epsilon": 0.01, "C": 10.0},
    "laplace": {"C": 100.0},
    "sgd": {"epsilon": 0.001},
    "sgd of three": {"epsilon": 0.001},
    "numbers": {"epsilon": 0.001},
    "bayes": {"epsilon": 0.001},
    "counts": {"epsilon": 0.001},
    "boosting": {"epsilon": 0.001},
    "pate": {"epsilon": 0.3},
}


@pytest.mark.mostly_slow
@pytest.mark.parametrize("name", LOUD)
def test_noise_beyond_what_was_learned_is_said(name):
    more = {"public": X[:10]} if name == "pate" else {}
    labels = THREE if "three" in name else Y
    loud = clone(MODELS[name]).set_params(**LOUD[name])
    # Many columns, so that the length of noise on coefficients varies little.
    wide = np.hstack([X, RNG.uniform(0, 1, size=(3000, 300))])
    rows = wide if name in {"output", "laplace"} else X
    # Labels of PATE may be all the same.
    with pytest.warns(NoiseWarning, match="charged all the same"), suppress(DataError):
        loud.fit(rows, labels, **more)


@pytest.mark.mostly_slow
@pytest.mark.parametrize("name", MODELS)
def test_noise_below_what_was_learned_is_not(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error", NoiseWarning)
        labels = THREE if "three" in name else Y
        more = {"public": X[:10]} if name == "pate" else {}
        clone(MODELS[name]).set_params(epsilon=8.0).fit(X, labels, **more)
