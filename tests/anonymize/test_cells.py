"""A quasi-identifier in every cell: against plain lists."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.anonymize._cells import CellColumn
from halfmask.anonymize.coding import code_column
from halfmask.data import Column

N_VALUES = 4
COLUMN = Column(name="age", role="quasi_identifier", kind="numeric")
#: Cells as lists of codes; the code behind the last value is the one for missing.
cells_of_codes = st.lists(
    st.lists(st.integers(0, N_VALUES), min_size=1, max_size=6), min_size=1, max_size=4
)


def column_of(cells, *, paired=False):
    values = pl.Series("age", list(range(10, 10 + N_VALUES)))
    entries = [(i, code) for i, codes in enumerate(cells) for code in codes]
    counts = None
    if paired:
        counted = Counter(entries)
        entries, counts = list(counted), np.array(list(counted.values()))
    return CellColumn(
        coding=code_column(COLUMN, values, missing=True),
        low=np.array([min(codes) for codes in cells]),
        high=np.array([max(codes) for codes in cells]),
        cells=np.array([i for i, _ in entries]),
        codes=np.array([code for _, code in entries]),
        counts=counts,
    )


@given(cells_of_codes)
def test_ranges_are_those_of_the_values(cells):
    low, high = column_of(cells).value_range()

    held = [[code for code in codes if code < N_VALUES] for codes in cells]
    assert low.tolist() == [min(codes, default=-1) for codes in held]
    assert high.tolist() == [max(codes, default=-1) for codes in held]


@given(cells_of_codes)
def test_missing_cells_are_seen(cells):
    assert column_of(cells).mixes_missing().tolist() == [N_VALUES in codes for codes in cells]


@given(cells_of_codes)
def test_values_that_leave_are_known(cells):
    found = column_of(cells).occurring()

    assert found.tolist() == [any(code in codes for codes in cells) for code in range(N_VALUES)]


@given(cells_of_codes, st.booleans())
def test_rows_are_counted_alike_by_row_and_by_pair(cells, paired):
    counted = column_of(cells, paired=paired).counted()

    expected = Counter((i, c) for i, codes in enumerate(cells) for c in codes if c < N_VALUES)
    assert counted.rows() == sorted((*pair, n) for pair, n in expected.items())


@pytest.mark.parametrize("cells", [[[0, 1], [2]]])
def test_no_value_is_in_the_repr(cells):
    assert repr(column_of(cells)) == "CellColumn(Coding('age', 5 codes), 2 cells)"
