"""Encoding: numbers as by hand, columns that depend found even where rare, and no cell shown."""

from __future__ import annotations

import datetime as dt
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

from halfmask._errors import ColumnNotFoundError, DataError, SchemaError
from halfmask.training import Encoding
from halfmask.training._encoding import Standard, as_table


def encoded(rows, later=None):
    fitted = Encoding(None, as_table(rows).columns).fit(rows)
    return fitted.encode(rows if later is None else later)


def test_numbers_are_scaled_and_categories_spread():
    rows = pl.DataFrame({"age": [20, 40, None, 60], "job": ["b", "a", "b", None]})
    scaled = [(20 - 40) / np.std([20, 40, 60]), 0.0, 0.0, (60 - 40) / np.std([20, 40, 60])]
    expected = np.array([scaled, [0, 1, 0, 0], [1, 0, 1, 0]]).T
    assert np.allclose(encoded(rows), expected)


def test_categories_never_seen_are_zero_in_all_columns():
    rows = pl.DataFrame({"job": ["a", "b", None]})
    assert encoded(rows, pl.DataFrame({"job": ["queen", "a", None]})).tolist() == [
        [0, 0],
        [1, 0],
        [0, 0],
    ]


def test_dates_truths_and_decimals_are_numbers():
    rows = pl.DataFrame(
        {
            "day": [dt.date(2020, 1, 1), dt.date(2020, 1, 3)],
            "truth": [False, True],
            "price": [decimal.Decimal("1.5"), decimal.Decimal("2.5")],
        }
    )
    assert encoded(rows).tolist() == [[-1, -1, -1], [1, 1, 1]]


def test_dates_in_another_unit_are_the_same_dates():
    days = pl.DataFrame({"day": pl.Series([dt.date(2020, 1, 1), dt.date(2021, 6, 3)])})
    for unit in ("ms", "us", "ns"):
        assert np.allclose(encoded(days, days.cast(pl.Datetime(unit))), [[-1], [1]])


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([7.1] * 7, [0.0] * 7),
        ([0.1] * 10, [0.0] * 10),
        ([1e300, -1e300], [1.0, -1.0]),
        ([None, None], [0.0, 0.0]),
        ([1e-300, 3e-300], [-1.0, 1.0]),
    ],
    ids=["constant", "rounded constant", "huge", "missing", "tiny"],
)
def test_numbers_at_the_ends_stay_finite(numbers, expected):
    rows = pl.DataFrame({"a": pl.Series(numbers, dtype=pl.Float64)})
    got = encoded(rows).ravel()
    if "e-300" in str(numbers):  # squares of these are 0: they count as constant
        assert np.abs(got).max() < 1e-9
        return
    assert np.allclose(got, expected)


def test_a_constant_doesnt_blow_up_other_values():
    rows = pl.DataFrame({"a": [0.1] * 10})
    assert abs(encoded(rows, pl.DataFrame({"a": [0.2]}))[0, 0]) < 1


def test_missing_among_texts_of_an_array_is_missing():
    rows = np.array([["a"], [float("nan")], [None], ["b"]], dtype=object)
    assert as_table(rows)["x0"].to_list() == ["a", None, None, "b"]
    numbers = np.array([[1], [float("nan")], [None], [2.5]], dtype=object)
    assert as_table(numbers)["x0"].to_list() == [1.0, None, None, 2.5]


def test_columns_that_depend_are_those_of_quasi_identifiers():
    rows = pl.DataFrame({"age": range(12), "job": list("abcd") * 3, "pay": range(0, 24, 2)})
    fitted = Encoding(None, ["job"]).fit(rows)
    assert fitted.depends_.tolist() == [False, False, True, True, True, True]
    assert [part.tolist() for part in fitted.parts_] == [[0, 1, 2, 3]]
    assert Encoding(None, ["age", "job"]).fit(rows).parts_[1].tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("seed", range(10))
def test_a_column_that_depends_in_one_row_only_is_found(seed):
    sex = np.random.default_rng(seed).integers(0, 2, 60)
    rare = np.zeros(60)
    rare[7] = 1.0
    encoder = PolynomialFeatures(2, include_bias=False)  # sex, rare, sex², sex * rare, rare²
    fitted = Encoding(encoder, ["x0"]).fit(np.column_stack([sex, rare]))
    assert fitted.depends_.tolist() == [True, False, True, True, False]


def test_what_standard_columns_are_made_of_is_what_swapping_finds():
    """The same encoder, once as the default and once as anybody's."""
    table = pl.DataFrame(
        {
            "a": [1.0, 2.0, 2.0, 5.0],
            "job": ["x", "y", "x", "x"],
            "same": [3.0] * 4,
            "one": ["z"] * 4,
            "b": [1, 1, 1, 2],
        }
    )
    for names in (["a", "job", "same", "one"], ["job"], ["same"], table.columns):
        own = Encoding(None, names).fit(table)
        swapped = Encoding(FrozenEstimator(Standard().fit(table)), names).fit(table)
        assert np.array_equal(own.depends_, swapped.depends_)
        assert all(map(np.array_equal, own.parts_, swapped.parts_))


def test_a_sparse_encoder_is_made_dense():
    rows = pd.DataFrame({"job": list("aab")})
    assert Encoding(OneHotEncoder(), ["job"]).fit(rows).encode(rows).tolist() == [
        [1, 0],
        [1, 0],
        [0, 1],
    ]


def test_pandas_types_and_numbered_columns_reach_the_encoder_as_they_are():
    rows = pd.DataFrame(
        {0: pd.Categorical(list("ab") * 10), 1: pd.array(range(20), dtype="Int64"), 2: range(20)}
    )
    encoder = make_column_transformer((OneHotEncoder(), [0]), (StandardScaler(), [1, 2]))
    fitted = Encoding(encoder, ["0", "1"]).fit(rows)
    assert fitted.depends_.tolist() == [True, True, True, False]


def test_an_encoder_that_is_frozen_is_not_fitted_again():
    others = np.array([[0.0], [10.0]])
    rows = np.array([[5.0], [10.0], [15.0]])
    frozen = FrozenEstimator(StandardScaler().fit(others))
    assert Encoding(frozen, ["x0"]).fit(rows).encode(rows).ravel().tolist() == [0.0, 1.0, 2.0]
    assert not np.allclose(Encoding(StandardScaler(), ["x0"]).fit(rows).encode(rows).mean(), 1.0)


@pytest.mark.parametrize(
    ("encoder", "rows", "later"),
    [
        (OneHotEncoder(), pd.DataFrame({"a": ["p", "q"]}), pd.DataFrame({"a": ["CANARY"]})),
        (StandardScaler(), pd.DataFrame({"a": ["CANARY", "q"]}), None),
        (None, pl.DataFrame({"a": [1.0, 2.0]}), pl.DataFrame({"a": ["CANARY"]})),
    ],
)
def test_no_message_of_an_encoder_shows_a_cell(encoder, rows, later):
    with pytest.raises((DataError, SchemaError)) as caught:
        Encoding(encoder, ["a"]).fit(rows).encode(later)
    assert "CANARY" not in str(caught.value)
    assert caught.value.__suppress_context__


class Broken:
    """An encoder that returns what it was made with."""

    def __init__(self, said=None):
        self.said = said

    def get_params(self, deep=True):  # noqa: FBT002 # as scikit-learn has it
        return {"said": self.said} if deep in (True, False) else {}

    def fit(self, _):
        return self

    def transform(self, _):
        return self.said


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (np.zeros((2, 1)), "a row for each"),
        (np.zeros(3), "a row for each"),
        (np.array([[0.0, 1.0], [0.0, np.nan], [0.0, 1.0]]), "in 1 of its columns"),
        (np.array([["a"], ["b"], ["c"]]), "failed on 3 rows"),
    ],
)
def test_what_an_encoder_returns_is_checked(said, message):
    with pytest.raises(DataError, match=message):
        Encoding(Broken(said), ["x0"]).fit(np.arange(3.0)[:, None])


def test_rows_of_other_columns_are_refused_by_name():
    fitted = Encoding(None, ["a"]).fit(pl.DataFrame({"a": [1, 2], "b": [3, 4]}))
    with pytest.raises(ColumnNotFoundError, match="'b'"):
        fitted.encode(pl.DataFrame({"a": [1]}))
    swapped = fitted.encode(pl.DataFrame({"c": [0], "b": [4], "a": [2]}))
    assert swapped.tolist() == [[1.0, 1.0]]


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        (sparse.csr_matrix(np.eye(3)), DataError, "Sparse"),
        ([["xqcanary"], [3]], TypeError, "both, or neither"),
        ([["xqcanary", {}]], TypeError, "'x1'.*both, or neither"),
    ],
)
def test_rows_that_no_table_holds_are_refused(rows, error, message):
    with pytest.raises(error, match=message) as caught:
        as_table(rows)
    assert "xqcanary" not in str(caught.value)


def test_the_printed_form_shows_no_category():
    assert repr(Standard().fit(pl.DataFrame({"a": ["CANARY"]}))) == "Standard()"
