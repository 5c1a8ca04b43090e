"""Counts of agreeing rows: those of sdcMicro's freqCalc, and of comparing all pairs."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import ColumnNotFoundError
from halfmask.guarantees import agreeing_rows, class_of_row

WEIGHTS = [18.0, 45.5, 39.0, 17.0, 92.0, 8.0, 123.5, 51.0]
A: list[int | None] = [2, 3, 2, 2, 3, 3, 1, 2]
B: list[int | None] = [3, 3, 3, 3, 3, 3, 4, 3]

#: Tables, and the fk and Fk that sdcMicro 5.8.1 gives for them (cf32510, its own tests).
GOLDEN: dict[str, tuple[dict[str, list[int | None]], list[int], list[float]]] = {
    "no missing cell": (
        {"A": A, "B": B, "C": [1, 3, 1, 2, 1, 1, 1, 1]},
        [3, 1, 3, 1, 2, 2, 1, 3],
        [108, 45.5, 108, 17, 100, 100, 123.5, 108],
    ),
    "missing cells": (
        {"A": A, "B": B, "C": [1, 3, None, 2, 1, 1, None, 1]},
        [3, 1, 4, 2, 2, 2, 1, 3],
        [108, 45.5, 125, 56, 100, 100, 123.5, 108],
    ),
    "a row and a column": (
        {"A": [2, 3, None, 2, 3, 3, 1, 2], "B": [3, 3, None, 3, 3, 3, 4, 3], "C": [None] * 8},
        [4, 4, 8, 4, 4, 4, 2, 4],
        [125, 184.5, 394, 125, 184.5, 184.5, 162.5, 125],
    ),
    "one column": (
        {"A": [2, 3, None, 2, 1, None, 1, 2]},
        [5, 3, 8, 5, 4, 8, 4, 5],
        [133, 92.5, 394, 133, 262.5, 394, 262.5, 133],
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_counts_and_sums_are_those_of_freqcalc(name):
    cells, fk, sums = GOLDEN[name]
    table = pl.DataFrame(cells)

    found = agreeing_rows(table, columns=table.columns)
    weighted = agreeing_rows(table, columns=table.columns, weights=np.array(WEIGHTS))

    assert found.dtype == np.int64
    assert found.tolist() == fk
    assert weighted.tolist() == sums


def test_more_columns_than_rows():
    rows = [
        (2, 2, 1, 3, 3, 3, 1, None),
        (3, 3, None, None, 2, None, 2, 4),
        (None, 3, 3, 3, 2, None, None, 4),
    ]
    table = pl.DataFrame(rows, schema=[f"k{j}" for j in range(8)], orient="row")

    weights = np.array([18.0, 45.5, 122.0])
    assert agreeing_rows(table, columns=table.columns).tolist() == [1, 2, 2]
    assert agreeing_rows(table, columns=table.columns, weights=weights).tolist() == [
        18.0,
        167.5,
        167.5,
    ]


cell = st.none() | st.sampled_from(["a", "b", "c"])


@given(rows=st.lists(st.tuples(cell, cell, cell, cell), min_size=1, max_size=25))
def test_counts_are_those_of_comparing_all_pairs(rows):
    table = pl.DataFrame(rows, schema=dict.fromkeys("wxyz", pl.String), orient="row")
    expected = [
        sum(
            all(a is None or b is None or a == b for a, b in zip(one, other, strict=True))
            for other in rows
        )
        for one in rows
    ]

    assert agreeing_rows(table, columns=list("wxyz")).tolist() == expected


def test_many_columns_of_many_values_are_compared_exactly():
    """Their keys don't fit into 64 bits at once."""
    rng = np.random.default_rng(5)
    half = pl.DataFrame(rng.integers(0, 2**60, (400, 9)), schema=[f"c{i}" for i in range(9)])
    table = pl.concat([half, half[:150]])
    of_row, n = class_of_row(table, quasi_identifiers=table.columns)

    found = agreeing_rows(table, columns=table.columns)

    assert found.tolist() == np.bincount(of_row, minlength=n)[of_row].tolist()


def test_an_empty_table_and_a_lacking_column():
    assert agreeing_rows(pl.DataFrame({"a": []}), columns=["a"]).tolist() == []
    with pytest.raises(ColumnNotFoundError):
        agreeing_rows(pl.DataFrame({"a": [1]}), columns=["b"])
