"""Batches of one size hold the rows that came, in order."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask.hashing import HashedRows
from halfmask.trainer.client._batching import rebatched
from trainer.client.stand_in import (  # type: ignore[import-not-found] # beside, not in a package
    rows_of,
)


@settings(max_examples=60)
@given(sizes=st.lists(st.integers(0, 40), max_size=8), n_rows=st.integers(1, 50))
def test_sizes_are_equal_and_rows_stay(sizes, n_rows):
    whole, parts, start = rows_of(sum(sizes)), [], 0
    for size in sizes:
        parts.append(whole.slice(start, start + size))
        start += size

    found = list(rebatched(parts, n_rows))

    full, rest = divmod(sum(sizes), n_rows)
    assert [len(each) for each in found] == [n_rows] * full + [rest] * bool(rest)
    assert not found or HashedRows.concat(found).equals(whole)
