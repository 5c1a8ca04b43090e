"""Arrow buffers hold the rows' values and not one byte more."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import polars as pl
import pyarrow as pa
import pytest

from halfmask.data.io._sinks import plain_batch

CANARY = "CANARY-under-a-missing-cell"
COLUMNS = {
    "text": ["a", None, "", "é"],
    "whole": [1, None, -3, 4],
    "number": [0.5, None, -0.0, 1e300],
    "truth": [True, None, False, True],
    "day": [dt.date(2020, 2, 29), None, dt.date(1970, 1, 1), dt.date(1900, 1, 1)],
    "moment": [dt.datetime(2020, 1, 1, 12), None, dt.datetime(1969, 1, 1), None],  # noqa: DTZ001 # a zone is not the point
    "money": [Decimal("1.50"), None, Decimal("-0.01"), Decimal("0.00")],
}


def all_bytes(batch):
    return b"".join(
        buffer.to_pybytes() for column in batch for buffer in column.buffers() if buffer is not None
    )


@pytest.mark.parametrize("n_rows", [0, 1, 4])
def test_the_values_stay(n_rows):
    frame = pl.DataFrame(COLUMNS).head(n_rows)

    batch = plain_batch(frame)

    batch.validate(full=True)
    assert pl.DataFrame(pa.Table.from_batches([batch])).equals(frame)


def test_rows_outside_of_a_slice_are_gone():
    frame = pl.DataFrame({"text": [CANARY, "a", CANARY], "n": [7, 8, 9]}).slice(1, 1)

    batch = plain_batch(frame)

    assert CANARY.encode() not in all_bytes(batch)
    assert (batch.num_rows, batch.column(1).to_pylist()) == (1, [8])


def test_nothing_lies_under_a_missing_cell():
    shown = pl.Series("text", [CANARY, "a"])
    hidden = shown.set(pl.Series([True, False]), None)
    kept = pa.array([CANARY, "a"], mask=[True, False])  # Arrow's own keeps what is masked

    batch = plain_batch(pl.DataFrame([hidden, pl.Series("kept", kept)]))

    assert CANARY.encode() not in all_bytes(batch)


def test_bits_behind_the_last_row_are_zero():
    frame = pl.DataFrame({"truth": [True] * 16}).slice(0, 3)

    (truth,) = plain_batch(frame)

    assert truth.buffers()[1].to_pybytes()[:1] == b"\x07"
