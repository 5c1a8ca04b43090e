"""Batches of one size hold the rows that came, in order; where they end follows from the rows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask.hashing import HashedRows
from halfmask.trainer.client._flow import rebatch
from trainer.client.stand_in import (  # type: ignore[import-not-found] # beside, not in a package
    rows_of,
)


def _cut(whole, sizes):
    bounds = np.cumsum([0, *sizes])
    return [whole.slice(a, b) for a, b in pairwise(bounds)]


@settings(max_examples=60)
@given(sizes=st.lists(st.integers(0, 40), max_size=8), n_rows=st.integers(1, 50))
def test_sizes_are_equal_and_rows_stay(sizes, n_rows):
    whole = rows_of(sum(sizes))

    found = list(rebatch(_cut(whole, sizes), n_rows))

    full, rest = divmod(sum(sizes), n_rows)
    assert [len(each) for each in found] == [n_rows] * full + [rest] * bool(rest)
    assert not found or HashedRows.concat(found).equals(whole)


@settings(max_examples=100)
@given(
    lengths=st.lists(st.integers(0, 30), max_size=60),
    cuts=st.lists(st.integers(0, 60), max_size=6),
    n_rows=st.integers(1, 20),
    max_bytes=st.integers(1, 600),
)
def test_long_rows_make_shorter_batches_wherever_the_source_was_cut(
    lengths, cuts, n_rows, max_bytes
):
    bounds = np.cumsum([0, *lengths]).astype(np.int64)
    indices = np.arange(bounds[-1], dtype=np.uint32)
    whole = HashedRows(indices=indices, indptr=bounds, bits=20)
    places = sorted({0, *(c for c in cuts if c <= len(lengths)), len(lengths)})

    found = list(rebatch(_cut(whole, np.diff(places)), n_rows, max_bytes=max_bytes))

    # Row by row, as one would do it by hand.
    expected, rows, size = [], 0, 0
    for length in lengths:
        need = 4 * length + 16
        if rows and (rows == n_rows or size + need > max_bytes):
            expected.append(rows)
            rows, size = 0, 0
        rows, size = rows + 1, size + need
    expected += [rows] * bool(rows)
    assert [len(each) for each in found] == expected
    assert not found or HashedRows.concat(found).equals(whole)
