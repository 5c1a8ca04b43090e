"""Columns put one behind the other, against lists."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from halfmask.kernels.text.json_join import join_column

WORDS = [b"", b"null", b"false", b"true"]
ENDS = np.cumsum([0, *map(len, WORDS)], dtype=np.int64)
MISSING, NULL, FALSE, TRUE, INTEGER, NUMBER, STRING = range(7)
TOKENS = st.one_of(
    st.tuples(st.sampled_from([MISSING, NULL, FALSE, TRUE]), st.just(b"")),
    st.tuples(st.sampled_from([INTEGER, NUMBER, STRING]), st.binary(max_size=5)),
)


@given(st.lists(st.lists(TOKENS, max_size=6), min_size=1, max_size=4))
def test_every_slot_finds_its_bytes_among_all(columns):
    count = sum(map(len, columns))
    kinds, starts = np.empty(count, np.uint8), np.empty(count, np.int64)
    stops, data, at, size = np.empty(count, np.int64), b"".join(WORDS), 0, 0
    for column in columns:
        own = np.cumsum([0, *(len(token) for _, token in column)], dtype=np.int64)
        size += join_column(
            np.array([kind for kind, _ in column], np.uint8), own[:-1], own[1:], len(data), ENDS,
            at, kinds, starts, stops,
        )  # fmt: skip
        data += b"".join(token for _, token in column)
        at += len(column)

    slots = [slot for column in columns for slot in column]
    found = [data[start:stop] for start, stop in zip(starts, stops, strict=True)]
    assert kinds.tolist() == [kind for kind, _ in slots]
    assert found == [WORDS[kind] if kind < INTEGER else token for kind, token in slots]
    assert size == sum(len(token) for _, token in slots)
