"""Costs of whole numbers and truth values, judged by every row that a table can hold."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from lightgbm import LGBMClassifier
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from halfmask.assess.robustness import (
    AttackerBudget,
    ColumnBudget,
    _flips,
    _linear_search,
    cost_to_flip,
)

WORDS = ("red", "green", "blue")
AGES, COUNTS = range(7), range(-3, 4)
EVERY = pl.DataFrame(
    list(product(AGES, COUNTS, (False, True), WORDS)),
    schema={"age": pl.Int64, "count": pl.Int8, "flag": pl.Boolean, "word": pl.String},
    orient="row",
)
UNITS = {"age": 1 / 6, "count": 0.21, "flag": 0.4, "word": 0.7}
BUDGET = {name: ColumnBudget(cost=cost) for name, cost in UNITS.items()}
MODELS = {
    "tree": lambda: DecisionTreeClassifier(max_depth=5, random_state=0),
    "forest": lambda: RandomForestClassifier(5, max_depth=5, random_state=0),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=7, random_state=0),
    "histograms": lambda: HistGradientBoostingClassifier(max_iter=7),
    "lightgbm": lambda: LGBMClassifier(n_estimators=7, min_child_samples=5, verbose=-1),
    "logistic": LogisticRegression,
    "regression": Ridge,
    "values": lambda: DecisionTreeRegressor(max_depth=5, random_state=0),
}


def flip_by_model(model, rows, budget, **settings) -> Any:
    return _flips.flip_by_model(model, rows, budget, **settings)


def _labels(rows):
    noise = np.random.default_rng(5).normal(0, 0.8, rows.height)
    return (
        rows["age"].to_numpy() - 3
        + rows["count"].to_numpy() * np.where(rows["flag"], 1, -0.5)
        + 2 * (rows["word"] == "red").to_numpy()
        + noise
    )  # fmt: skip


def _fitted(name, scaler="passthrough"):
    rows = EVERY.sample(250, seed=2)  # cuts lie at whole numbers, too, where some are missing
    y = _labels(rows)
    before = make_column_transformer(
        (scaler, ["age", "count", "flag"]), (OneHotEncoder(sparse_output=False), ["word"])
    )
    model = MODELS[name]()
    is_number = name in {"regression", "values"}
    return make_pipeline(before, model).fit(rows, y if is_number else y > 0.3)


def _expected(model, rows, norm, difference=None, budget=BUDGET):
    """Return each row's cost: the least of all rows that there can be."""
    every, own = model.predict(EVERY), model.predict(rows)
    costs = np.zeros((rows.height, EVERY.height, 4))
    for c, (name, unit) in enumerate(UNITS.items()):
        a, b = rows[name].to_numpy()[:, None], EVERY[name].to_numpy()[None]
        by = np.abs(np.subtract(b, a, dtype=float)) if name != "word" else (a != b) * 1.0
        limit = budget[name]
        if limit.change == "no":
            by[a != b] = np.inf
        if limit.change == "up":
            by[b < a] = np.inf
        if limit.high is not None:
            by[b > np.maximum(limit.high, a)] = np.inf  # back towards a limit is allowed
        costs[..., c] = (
            (by > 0) * np.where(np.isinf(by), np.inf, 1.0) if norm == "columns" else by * unit
        )
    total = costs.max(axis=-1) if norm == "greatest" else costs.sum(axis=-1)
    flips = own[:, None] != every
    if difference is not None:
        flips = np.abs(own[:, None] - every) >= difference
    return np.where(flips, total, np.inf).min(axis=1)


@pytest.mark.mostly_slow
@pytest.mark.parametrize("norm", ["greatest", "sum", "columns"])
@pytest.mark.parametrize("scaler", ["passthrough", StandardScaler(), MinMaxScaler()], ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_whole_numbers_cost_what_the_cheapest_row_of_all_does(name, scaler, norm):
    model, rows = _fitted(name, scaler), EVERY[::7]
    difference = 1.3 if name in {"regression", "values"} else None
    budget = AttackerBudget(columns=BUDGET, most=0.5, norm=norm)
    costs = flip_by_model(model, rows, budget, seen=EVERY, difference=difference, effort=3000)
    expected = _expected(model, rows, norm, difference)
    assert costs.flipped.schema == rows.schema
    assert (costs.certified <= expected + 1e-9).all()
    assert (costs.found >= expected - 1e-9).all()
    np.testing.assert_allclose(costs.found[costs.exact], expected[costs.exact], atol=1e-9)
    if norm == "sum" and name in {"logistic", "regression"}:  # a knapsack: near by less than a step
        near = costs.found[np.isfinite(expected)] - expected[np.isfinite(expected)]
        assert near.max() <= max(UNITS["age"], UNITS["count"])
        assert near.mean() < 0.05
    else:
        assert costs.exact.all()
    assert (np.isfinite(costs.found) == np.isfinite(expected)).all()


@pytest.mark.parametrize("combined", [1, 5000])
def test_categories_at_too_many_prices_are_certified_from_below(monkeypatch, combined):
    monkeypatch.setattr(_linear_search, "_COMBINED", combined)
    model, rows = _fitted("logistic"), EVERY[::7]
    given = {**BUDGET, "age": ColumnBudget(change="no"), "count": ColumnBudget(change="no")}
    budget = AttackerBudget(columns=given, most=0.5, norm="sum")
    costs = flip_by_model(model, rows, budget, seen=EVERY)
    expected = _expected(model, rows, "sum", budget=given)
    assert (costs.certified <= expected + 1e-9).all()
    assert (costs.found >= expected - 1e-9).all()
    assert costs.exact.all() == (combined > 1)
    assert (np.isfinite(costs.found) == np.isfinite(expected)).all()


def test_limits_between_whole_numbers_are_the_ones_inside():
    budget = {
        **BUDGET,
        "age": ColumnBudget(change="up", low=0.5, high=4.5, cost=UNITS["age"]),
        "count": ColumnBudget(high=1.9, cost=UNITS["count"]),
    }
    rows = EVERY[::5]
    for name in ("tree", "forest", "logistic"):
        model = _fitted(name, StandardScaler())
        given = AttackerBudget(columns=budget, most=0.5)
        costs = cost_to_flip(model, rows, given, seen=EVERY, effort=200)
        expected = _expected(model, rows, "greatest", budget=budget)
        np.testing.assert_allclose(costs.found, expected, atol=1e-9)
        assert costs.exact[np.isfinite(expected)].all()


def test_a_fraction_in_a_column_of_whole_numbers_is_not_allowed():
    rows = EVERY[:3].select("age", "flag")
    budget = AttackerBudget(columns={"age": ColumnBudget(), "flag": ColumnBudget()}, most=1)
    halves = rows.with_columns(age=pl.Series([0.5, 1.0, 2.0]), flag=pl.Series([0.0, 0.5, 1.0]))
    costs = budget.for_rows(EVERY).cost_of(rows, halves)
    assert np.isinf(costs).tolist() == [True, True, False]
