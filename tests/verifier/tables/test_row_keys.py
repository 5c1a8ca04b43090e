"""One exact integer a row, and the way back."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from halfmask.verifier.tables._row_keys import KEY_LIMIT, RowKeys, pack

spans = st.lists(st.integers(1, 2**40), min_size=1, max_size=8)


@given(spans)
def test_words_hold_every_column_once_in_order_and_stay_in_bounds(spans):
    packing = pack(spans)

    assert [i for word in packing for i in word] == list(range(len(spans)))
    assert all(math.prod(spans[i] for i in word) <= KEY_LIMIT for word in packing)


@given(
    st.lists(
        st.tuples(st.integers(0, 2**61), st.integers(0, 3), st.integers(0, 2**60)),
        min_size=1,
        max_size=12,
    ),
    st.integers(1, 2**61),
)
def test_keys_are_equal_where_rows_are_and_lead_back_to_them(rows, n):
    words = [np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)]

    keys = RowKeys.of(words, [2**61 + 1, 4, 2**60 + 1]).with_room_for(n)

    same = np.equal.outer(keys.keys, keys.keys)
    assert same.tolist() == [[one == other for other in rows] for one in rows]
    assert keys.span * n <= KEY_LIMIT or keys.span <= len(rows)
    assert [tuple(row) for row in zip(*keys.words_of(keys.keys), strict=True)] == rows
