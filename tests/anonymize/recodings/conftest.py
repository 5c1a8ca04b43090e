"""Cells made by hand, for the recodings to write."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from halfmask.anonymize._cells import CellColumn
from halfmask.anonymize.coding import code_column
from halfmask.data import Column


@pytest.fixture
def write():
    """Write the column of some cells, each given as the list of its rows' values.

    `unused` are values of the column that only suppressed rows had.
    """

    def written(
        recoding, *cells, kind="numeric", hierarchy=None, unused=(), dtype=None, chosen=None
    ):
        members = [value for cell in cells for value in cell]
        series = pl.Series("x", [*members, *unused], dtype=dtype)
        column = Column(name="x", role="quasi_identifier", kind=kind, hierarchy=hierarchy)
        coding = code_column(
            column, series.drop_nulls().unique(), missing=bool(series.null_count())
        )
        codes = coding.codes(series.head(len(members)))
        of_row = np.repeat(np.arange(len(cells)), [len(cell) for cell in cells])
        by_cell = [codes[of_row == cell] for cell in range(len(cells))]
        return recoding.write(
            CellColumn(
                coding=coding,
                low=np.array([part.min() for part in by_cell]),
                high=np.array([part.max() for part in by_cell]),
                cells=of_row,
                codes=codes,
                representatives=None
                if chosen is None
                else coding.codes(pl.Series("x", chosen, dtype=series.dtype)),
            )
        )

    return written
