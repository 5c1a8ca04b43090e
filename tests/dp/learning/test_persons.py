"""Persons as the unit: one row of each counts, with or without others; the ledger's unit is met."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from halfmask import DataError, ParameterError
from halfmask.dp.learning import (
    PrivateBoostingClassifier,
    PrivateGaussianNB,
    PrivateLogisticRegression,
    PrivateMultinomialNB,
    PrivateSGDClassifier,
    PrivateSGDRegressor,
    _declared,
    release_model,
)
from halfmask.dp.learning.pate import PateClassifier
from halfmask.dp.ledger import PrivacyLedger, PrivacyUnit

BUDGET: dict[str, Any] = {"epsilon": 20.0, "delta": 1e-3}
CLASSES = {**BUDGET, "classes": [0, 1]}
MODELS = {
    "output": PrivateLogisticRegression(**CLASSES, row_norm=1.0, C=0.01),
    "objective": PrivateLogisticRegression(
        **CLASSES, row_norm=1.0, C=0.1, perturbation="objective"
    ),
    "sgd": PrivateSGDClassifier(**CLASSES, clip_norm=1.0, steps=20),
    "regression": PrivateSGDRegressor(**BUDGET, target_bounds=(-1.0, 1.0), clip_norm=1.0),
    "boosting": PrivateBoostingClassifier(**CLASSES, bounds=(-1.0, 1.0), rounds=3, random_state=0),
    "bayes": PrivateGaussianNB(**CLASSES, bounds=(-1.0, 1.0)),
    "counts": PrivateMultinomialNB(**CLASSES, row_sum=1.0),
}
#: 400 persons of a row each, and one who has 4,000 rows that say the opposite.
ROWS = np.vstack([np.repeat(np.eye(2), 200, axis=0), np.tile(np.eye(2), (2000, 1))])
LABELS = np.concatenate([np.repeat([0, 1], 200), np.tile([1, 0], 2000)])
PERSONS = np.array([f"p{i}" for i in range(400)] + ["many"] * 4000)


@pytest.mark.mostly_slow
@pytest.mark.parametrize("name", MODELS)
def test_a_person_with_many_rows_moves_no_model_more_than_one_row_does(name):
    model = MODELS[name]
    predicted = model.fit(ROWS, LABELS, groups=PERSONS).predict(np.eye(2))
    assert predicted[0] < predicted[1] - 0.3
    assert model.unit_ == "person"
    # Without persons the many rows decide.
    predicted = model.fit(ROWS, LABELS).predict(np.eye(2))
    assert predicted[0] > predicted[1] + 0.3 or name in {"bayes", "counts"}
    assert model.unit_ == "row"


def test_each_row_of_a_person_is_as_likely_whoever_else_is_there():
    persons = np.array([0, 1, 1, 1, 2, 2])
    drawn = np.array([_declared.one_row_each(persons) for _ in range(3000)])
    assert (drawn[:, 0] == 0).all()
    for place in (1, 2, 3):  # 5 standard deviations
        assert (drawn[:, 1] == place).mean() == pytest.approx(1 / 3, abs=0.045)
    for place in (4, 5):
        assert (drawn[:, 2] == place).mean() == pytest.approx(1 / 2, abs=0.048)
        for other in (1, 2, 3):
            both = ((drawn[:, 1] == other) & (drawn[:, 2] == place)).mean()
            assert both == pytest.approx(1 / 6, abs=0.036)


@pytest.fixture(scope="module")
def ledgers(tmp_path_factory):
    table = pl.DataFrame({"customer": PERSONS, "x": ROWS[:, 0], "y": LABELS})
    vault = tmp_path_factory.mktemp("vault") / "vault"
    unit = PrivacyUnit(person="customer", max_rows=5, max_groups=2)
    return {
        "person": PrivacyLedger.create(
            vault, table, dataset="persons", epsilon=20.0, delta=1e-4, unit=unit
        ),
        "row": PrivacyLedger.create(vault, table, dataset="rows", epsilon=20.0, delta=1e-4),
    }


def _pate(**settings):
    tree = DecisionTreeClassifier(max_depth=1)
    return PateClassifier(tree, tree, **CLASSES, teachers=20, answers=2, **settings)


@pytest.mark.mostly_slow
@pytest.mark.parametrize("name", ["objective", "regression", "pate"])
def test_the_unit_of_the_ledger_is_met_or_refused_by_name(name, ledgers):
    booked = {unit: len(each.charges) for unit, each in ledgers.items()}
    more = {"public": np.eye(2)} if name == "pate" else {}

    def fitted(unit, **groups):
        model = _pate() if name == "pate" else MODELS[name]
        # With less, PATE's two labels are the same in a tenth of the draws.
        epsilon = 6.0 if name == "pate" else 1.0
        model = clone(model).set_params(ledger=ledgers[unit], epsilon=epsilon, delta=1e-5)
        return model.fit(ROWS, LABELS, **groups, **more)

    with pytest.raises(ParameterError, match="all rows of one 'customer'"):
        fitted("person")
    with pytest.raises(ParameterError, match="has the column 'seller'"):
        fitted("person", groups=pl.Series("seller", PERSONS))
    with pytest.raises(ParameterError, match="protects single rows"):
        fitted("row", groups=PERSONS)
    assert {unit: len(each.charges) for unit, each in ledgers.items()} == booked

    fitted("row")
    fitted("person", groups=PERSONS)
    fitted("person", groups=pl.Series("customer", PERSONS))
    assert len(ledgers["person"].charges) == booked["person"] + 2


@pytest.mark.parametrize("groups", [
    ["a"] * 3, [["a"]] * 4, "abcd", [None, "a", "b", "c"], [1.0, np.nan, 2.0, 3.0],
    np.array(["2020", "NaT", "2021", "2022"], dtype="datetime64[D]"), 7,
])  # fmt: skip
def test_each_row_has_a_person(groups):
    with pytest.raises(DataError, match="groups"):
        MODELS["bayes"].fit([[0.0]] * 4, [0, 1, 0, 1], groups=groups)


@pytest.mark.parametrize("groups", [
    [1, 1, 2, 3], ["a", "a", "b", "c"], [1, "a", 1, ("b", 2)], pl.Series("who", [7, 7, 8, 9]),
])  # fmt: skip
def test_persons_are_texts_or_numbers(groups):
    kept = _declared.person_codes(np.asarray(groups, dtype=object), 4, owner="test")
    assert len(_declared.one_row_each(kept)) == 3


@pytest.mark.parametrize("groups", [None, PERSONS])
def test_a_release_states_its_unit(groups, tmp_path):
    model = MODELS["bayes"].fit(ROWS, LABELS, groups=groups)
    manifest = release_model(model, tmp_path / "model")

    unit = "row" if groups is None else "person"
    assert manifest.claims[0].about["unit"] == unit
    assert unit in str(manifest.claims[0].about["neighbours"])
    assert any("rows-not-persons" in each for each in manifest.weaknesses) is (unit == "row")
