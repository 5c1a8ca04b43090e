"""What callers give to attacks: taken in any kind, refused in our own words."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array

from halfmask._errors import ParameterError
from halfmask.assess.attacks._inputs import (
    as_listed,
    as_number,
    as_table,
    as_whole_numbers,
    row_count,
)

CANARY = "xqcanary"
TABLE = pl.DataFrame({"age": [31, 40]})


@pytest.mark.parametrize("table", [TABLE.lazy(), TABLE.to_pandas(), TABLE.to_arrow()])
def test_tables_of_any_library_are_read(table):
    assert as_table(table).equals(TABLE)


NAN = float("nan")
LACKING = pl.DataFrame({"income": [1.0, NAN, None], "sex": ["m", None, "f"]})


@pytest.mark.parametrize("table", [LACKING, LACKING.lazy(), LACKING.to_pandas()])
def test_what_is_missing_is_missing_in_tables_of_every_library(table):
    assert as_table(table).null_count().row(0) == (2, 1)


def test_a_table_of_polars_that_lacks_nothing_is_taken_as_it_is():
    odd = pl.DataFrame({"": [[1]], "^a$": [1.5]})
    for table in (TABLE, odd, pl.DataFrame()):
        assert as_table(table) is table
    lacking = as_table(odd.with_columns(pl.Series("^a$", [NAN])))
    assert lacking.rows() == [([1], None)]


def listed(values):
    return as_listed(values, parameter="attacks", owner="attack", of="attacks")


@pytest.mark.parametrize("values", [["a", "b"], ("a", "b"), iter("ab"), pl.Series(["a", "b"])])
def test_a_list_of_any_kind_is_a_tuple(values):
    assert listed(values) == ("a", "b")


def test_what_has_no_hash_may_be_listed():
    assert listed([[1], [2]]) == ([1], [2])
    with pytest.raises(ParameterError, match="twice"):
        listed([[1], [1]])


def test_one_word_is_no_list_and_none_is_an_empty_one():
    with pytest.raises(ParameterError, match="'attacks' parameter of attack must be a list of att"):
        listed(CANARY)
    assert listed([]) == ()


def test_nothing_is_listed_twice():
    with pytest.raises(ParameterError, match="One of the attacks is twice") as caught:
        listed([CANARY, "other", CANARY])
    assert CANARY not in str(caught.value)


def whole(values):
    return as_whole_numbers(values, parameter="rows", owner="Linkage")


@pytest.mark.parametrize(
    "values",
    [
        [3, 0, 1],
        (3.0, 0.0, 1.0),
        np.array([3, 0, 1], dtype=np.uint8),
        pl.Series([3, 0, 1]),
        pd.Series([3, 0, 1], dtype="Int64"),
        pa.array([3, 0, 1]),
    ],
)
def test_whole_numbers_of_any_kind_are_an_array(values):
    found = whole(values)
    assert found.dtype == np.int64
    assert found.tolist() == [3, 0, 1]


def test_masked_numbers_are_refused():
    with pytest.raises(ParameterError, match="rows is a masked array with 1 masked cells"):
        whole(np.ma.masked_array([3, 7319], [False, True]))
    assert whole(np.ma.masked_array([3, 7319])).tolist() == [3, 7319]


def test_truths_are_numbers():
    assert whole([True, False]).tolist() == [1, 0]


@pytest.mark.parametrize(
    "values",
    [
        [0.5, 1.0],
        [1.0, float("nan")],
        [1.0, float("inf")],
        [CANARY],
        [1, None],
        [[1], [2]],
        [[1], [2, 3]],
        3,
    ],
)
def test_what_is_no_column_of_whole_numbers_is_refused(values):
    with pytest.raises(ParameterError, match="'rows' parameter of Linkage must be one") as caught:
        whole(values)
    assert CANARY not in str(caught.value)


def test_numbers_of_numpy_are_numbers_of_python():
    assert type(as_number(np.float64(0.5))) is float
    assert type(as_number(np.int8(5))) is int
    assert type(as_number(np.bool_(True))) is bool  # numpy's own
    thing = object()
    assert as_number(thing) is thing


@pytest.mark.parametrize("rows", [TABLE, TABLE.to_pandas(), np.zeros((2, 3)), [[1], [2]]])
def test_rows_are_counted(rows):
    assert row_count(rows, parameter="members") == 2


@pytest.mark.parametrize("rows", [TABLE.lazy(), csr_array(np.eye(2)), 3])
def test_rows_that_cant_be_counted_are_refused(rows):
    with pytest.raises(ParameterError, match="members must be a frame or an array"):
        row_count(rows, parameter="members")
