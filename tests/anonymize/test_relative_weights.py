"""Weights of columns: they move detail to the columns that matter."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask import KAnonymity
from halfmask._errors import ColumnNotFoundError, ParameterError, SchemaError
from halfmask.anonymize import Anonymizer, Guided, Mdav, Mondrian
from halfmask.anonymize._relative_weights import relative_weights
from halfmask.data import Column

METHODS = [Mondrian(), Guided(), Mdav()]


def _widths(anonymizer: Anonymizer) -> np.ndarray:
    """Return the mean width of the rows' cells in each column, as a share of the column's."""
    plan = anonymizer.plan_
    steps = np.array([max(1, coding.n_codes - 1) for coding in plan.codings])
    widths = (plan.partition.high - plan.partition.low) / steps
    return np.average(widths, axis=0, weights=plan.partition.sizes)


def _fitted(method, rows, **more) -> Anonymizer:
    anonymizer = Anonymizer(guarantees=[KAnonymity(k=8)], method=method, **more)
    return anonymizer.fit(rows, np.arange(len(rows)) % 2)


@given(st.lists(st.floats(1e-3, 1e300), min_size=1, max_size=8))
def test_the_mean_of_relative_weights_is_one(weights):
    found = relative_weights(weights)
    assert found.mean() == pytest.approx(1)
    assert np.array_equal(np.argsort(-found)[:1], np.argsort(-np.array(weights))[:1])


@pytest.mark.parametrize("method", METHODS, ids=lambda it: it.name)
def test_a_weight_makes_its_column_narrower_and_the_others_wider(method):
    rows = np.random.default_rng(5).normal(size=(600, 3))
    even = _widths(_fitted(method, rows))
    heavy = _widths(_fitted(method, rows, weights={"x1": 8.0}))
    assert heavy[1] < 0.75 * even[1]
    assert heavy[0] > even[0]
    assert heavy[2] > even[2]


@pytest.mark.parametrize("method", METHODS, ids=lambda it: it.name)
def test_equal_weights_change_nothing(method):
    rows = np.random.default_rng(6).normal(size=(300, 2))
    plain, equal = _fitted(method, rows), _fitted(method, rows, weights={"x0": 3, "x1": 3})
    assert np.array_equal(plain.cells_, equal.cells_)


def test_a_weight_decides_which_rows_are_suppressed():
    """Two rims of one cell: the one of the heavier column is given up."""
    rows = np.array([[float(it), 0.0] for it in range(4)] + [[0.0, float(it)] for it in range(4)])

    def outer(weights):
        fitted = Anonymizer(
            guarantees=[KAnonymity(k=6)], max_suppression_fraction=0.2, weights=weights
        ).fit(rows)
        return fitted.cells_.tolist().index(-1)

    assert outer({"x0": 5}) == 3
    assert outer({"x1": 5}) == 7


def test_weights_keep_the_guarantee():
    rows = np.random.default_rng(7).integers(0, 9, size=(200, 3)).astype(float)
    for method in METHODS:
        fitted = _fitted(method, rows, weights={"x0": 100.0, "x2": 0.01})
        assert np.bincount(fitted.cells_).min() >= 8


def test_weights_that_gowers_distance_ignores_are_refused():
    frame = pl.DataFrame({"age": [1.0, 2, 3, 4], "city": ["a", "b", "a", "b"]})
    anonymizer = Anonymizer(guarantees=[KAnonymity(k=2)], method=Mdav(), weights={"age": 2})
    with pytest.raises(ParameterError, match="numbers or dates"):
        anonymizer.fit(frame)


@pytest.mark.parametrize("weight", [0, -1, float("nan"), float("inf"), "2", True])
def test_a_weight_that_is_none_is_refused(weight):
    rows = np.zeros((4, 1))
    with pytest.raises(ParameterError, match="weight"):
        Anonymizer(guarantees=[KAnonymity(k=2)], weights={"x0": weight}).fit(rows)
    with pytest.raises(ParameterError, match="weight"):
        Column(name="age", role="quasi_identifier", kind="numeric", weight=weight)


def test_weights_of_unknown_columns_and_other_things_are_refused():
    rows = np.zeros((4, 1))
    with pytest.raises(ColumnNotFoundError, match="'age'"):
        Anonymizer(guarantees=[KAnonymity(k=2)], weights={"age": 2}).fit(rows)
    others: list[Any] = [[2.0], {0: 2.0}]
    for weights in others:
        with pytest.raises(ParameterError, match="weights"):
            Anonymizer(guarantees=[KAnonymity(k=2)], weights=weights).fit(rows)


def test_levels_out_of_order_are_refused():
    with pytest.raises(SchemaError, match="least level"):
        Column(name="a", role="quasi_identifier", kind="numeric", least_level=2, greatest_level=1)
    with pytest.raises(ParameterError, match="least_level"):
        Column(name="a", role="quasi_identifier", kind="numeric", least_level=-1)


def test_on_adult_a_weight_moves_detail_to_its_column(adult_csv):
    """Without a weight the country keeps the least detail, because most rows have one value."""
    columns = ["age", "education", "marital-status", "occupation", "sex", "hours-per-week"]
    table = pl.read_csv(adult_csv, n_rows=6_000).select(columns)

    def kept(**weights):
        fitted = Anonymizer(guarantees=[KAnonymity(k=10)], weights=weights, method=Mondrian()).fit(
            table
        )
        return dict(zip(columns, 1 - _widths(fitted), strict=True))

    even, heavy = kept(), kept(occupation=6.0)
    assert heavy["occupation"] > even["occupation"] + 0.1
    assert heavy["age"] < even["age"]
