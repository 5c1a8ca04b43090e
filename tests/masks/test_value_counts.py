"""Counts of a column's values add up."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from halfmask.masks import ValueCounts


@given(parts=st.lists(st.lists(st.none() | st.integers(0, 5), max_size=8), min_size=1, max_size=5))
def test_counts_add_up(parts):
    """Counts of batches, added in any order, are those of the whole column."""
    columns = [pl.Series("x", part, dtype=pl.Int64) for part in parts]
    whole = ValueCounts.of(pl.concat(columns))

    for some in (columns, columns[::-1]):
        found = ValueCounts.sum(map(ValueCounts.of, some))
        assert found.values.equals(whole.values)
        assert found.counts.equals(whole.counts)
    cells = [cell for part in parts for cell in part if cell is not None]
    assert dict(zip(whole.values, whole.counts, strict=True)) == {
        int(value): int(count)
        for value, count in zip(*np.unique(cells, return_counts=True), strict=True)
    }
