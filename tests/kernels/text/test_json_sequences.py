"""Numbers by first appearance within a group, against a dictionary."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.events.block._values import SEED
from halfmask.kernels.text.json_sequences import number_within

MISSING, NULL, FALSE, INTEGER, STRING, ARRAY = 0, 1, 2, 4, 6, 7
# Some are alike in their first or last eight bytes, and some but for their kind.
WORDS = ["", "1", "2", "12345678", "123456789", "x12345678", "y12345678", "12345678x", "é" * 9]
SLOTS = st.lists(
    st.one_of(
        st.sampled_from([(MISSING, ""), (NULL, "null"), (FALSE, "false"), (ARRAY, "")]),
        st.tuples(st.sampled_from([INTEGER, STRING]), st.sampled_from(WORDS)),
    ),
    max_size=9,
)
GROUPS = st.lists(SLOTS, max_size=6)


def numbered(groups):
    """Return kinds and texts of what the kernel wrote, and how many slots it left."""
    slots = [slot for group in groups for slot in group]
    words = [word.encode() for _, word in slots]
    count, most = len(slots), max(map(len, groups), default=0)
    stops = np.cumsum([len(word) for word in words], dtype=np.int64)
    starts = stops - np.array([len(word) for word in words], np.int64)
    # Nothing behind the last token may count.
    data = np.frombuffer(bytearray(b"".join(words) + b"7" * 64), np.uint8)
    size = 2 << most.bit_length()
    out, became = np.empty((len(str(most)) + 1) * count, np.uint8), np.empty(count, np.uint8)
    begins, ends = np.empty(count, np.int64), np.empty(count, np.int64)
    others = number_within(
        data, np.array([kind for kind, _ in slots], np.uint8), starts, stops,
        np.repeat(np.arange(len(groups)), [len(group) for group in groups]), SEED,
        np.empty(size, np.int32), np.full(size, -1), np.empty(size, np.uint64),
        np.empty(size, np.int64), np.empty(size, np.int64), out, became, begins, ends,
    )  # fmt: skip
    text = out.tobytes().decode("latin-1")
    found = [text[begin:end] for begin, end in zip(begins, ends, strict=True)]
    return list(zip(became.tolist(), found, strict=True)), others


@pytest.mark.slow
@given(GROUPS)
def test_each_scalar_has_the_place_of_its_first_appearance_in_its_group(groups):
    expected = []
    for group in groups:
        seen: dict[tuple[int, str], int] = {}
        for kind, word in group:
            if FALSE <= kind <= STRING:
                number = seen.setdefault((kind, "" if kind == FALSE else word), len(seen) + 1)
                expected.append((INTEGER, str(number)))
            else:
                expected.append((NULL if kind == NULL else MISSING, ""))

    found, others = numbered(groups)

    assert found == expected
    assert others == sum(kind == ARRAY for group in groups for kind, _ in group)


def test_two_groups_know_nothing_of_each_other():
    assert numbered([[(STRING, "a"), (STRING, "b")], [(STRING, "b")]])[0] == [
        (INTEGER, "1"), (INTEGER, "2"), (INTEGER, "1"),
    ]  # fmt: skip
