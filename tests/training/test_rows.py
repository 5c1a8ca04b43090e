"""Some rows of tables of every kind."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from halfmask.training._encoding import as_table
from halfmask.training._rows import taken

VALUES = [[1, 2], [3, 4], [5, 6]]


@pytest.mark.parametrize(
    "rows",
    [
        np.array(VALUES),
        VALUES,
        pd.DataFrame(VALUES, columns=["x0", "x1"], index=[7, 7, 0]),
        pl.DataFrame(VALUES, schema=["x0", "x1"], orient="row"),
        pl.DataFrame(VALUES, schema=["x0", "x1"], orient="row").to_arrow(),
    ],
    ids=["array", "list", "pandas", "polars", "arrow"],
)
def test_rows_are_taken_by_their_place(rows):
    assert as_table(taken(rows, np.array([2, 0, 2]))).rows() == [(5, 6), (1, 2), (5, 6)]
