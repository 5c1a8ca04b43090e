"""The row nearest the middle of its cell, against every row tried."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from halfmask.anonymize._representatives import representative_rows
from halfmask.anonymize.coding import code_column
from halfmask.data import Column

N_VALUES = 6
rows_of_two = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, N_VALUES - 1), st.integers(0, N_VALUES - 1)),
    min_size=1,
    max_size=20,
)


def coding(kind):
    column = Column(name=kind, role="quasi_identifier", kind=kind)
    values = pl.Series(kind, range(N_VALUES))
    return code_column(column, values, missing=False)


def distance(row, cell):
    """Steps from the lower median by the width, and 1 where the category isn't the commonest."""
    numbers = sorted(each[1] for each in cell)
    median = numbers[(len(numbers) - 1) // 2]
    counts = Counter(each[2] for each in cell)
    return abs(row[1] - median) / (N_VALUES - 1) + (counts[row[2]] < max(counts.values()))


@given(rows_of_two)
def test_it_is_the_first_of_the_nearest(rows):
    numbers = sorted({cell for cell, _, _ in rows})
    rows = [(numbers.index(cell), number, category) for cell, number, category in rows]
    codes = np.array(rows)

    found = representative_rows(
        codes[:, 0].astype(np.int32),
        [codes[:, 1], codes[:, 2]],
        [coding("numeric"), coding("categorical")],
    )

    for cell in range(len(numbers)):
        own = [(i, row) for i, row in enumerate(rows) if row[0] == cell]
        members = [row for _, row in own]
        best = min(own, key=lambda each: (round(distance(each[1], members), 9), each[0]))
        assert found[cell] == best[0]
