"""Places of values are those of a dictionary, whatever the type."""

from __future__ import annotations

import hypothesis.strategies as st
import polars as pl
import pytest
from hypothesis import given, settings

from encode.any_table import CELLS  # type: ignore[import-not-found] # beside, not in a package
from halfmask.encode._codes import MISSING, UNSEEN, Lookup


def _cells(dtype):
    # Cells of a categorical column may be infinite, and zero of either sign is one value.
    return CELLS[dtype].map(lambda it: it + 0.0) if dtype == pl.Float64 else CELLS[dtype]


@pytest.mark.mostly_slow
@pytest.mark.parametrize("dtype", list(CELLS), ids=str)
@pytest.mark.parametrize("hidden", [False, True])
def test_each_cell_is_found_as_a_dictionary_finds_it(dtype, hidden):
    @settings(max_examples=15)
    @given(
        known=st.lists(_cells(dtype), max_size=8),
        cells=st.lists(st.none() | _cells(dtype), max_size=12),
    )
    def found_as_defined(known, cells):
        values = pl.Series(known, dtype=dtype, strict=False).unique().sort()
        column = pl.Series([*cells, *known], dtype=dtype, strict=False)
        at = {value: place for place, value in enumerate(values.to_list())}
        at[None] = MISSING
        if hidden:
            at[None] = len(values)
            values = values.extend(pl.Series([None], dtype=dtype))

        places = Lookup(values).places(column)

        assert places.tolist() == [at.get(cell, UNSEEN) for cell in column.to_list()]

    found_as_defined()
