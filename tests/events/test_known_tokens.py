"""Tokens that are remembered from block to block, against a dictionary."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.events.block._level import Level
from halfmask.events.block._values import Kind, Values
from halfmask.events.block._words import KnownTokens

SCALARS = (
    st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12)
    | st.sampled_from(["", "1", "12345678", "123456789", "a" * 40, "a" * 39 + "b"])
)
COLUMNS: Any = st.lists(
    st.lists(SCALARS | st.sampled_from([None, ..., {}, []]), max_size=30), max_size=5
)


def numbers_by_dictionary(columns):
    known: dict[Any, int] = {}
    for column in columns:
        tokens = [column.token(slot) for slot in range(len(column.kinds))]
        yield [
            known.setdefault(token, len(known)) if Kind.NULL < token[0] < Kind.OBJECT else -1
            for token in tokens
        ]


def column(objects):
    return Values.of(Level.of_events(len(objects)), objects)


@pytest.mark.slow
@given(COLUMNS)
def test_numbers_are_those_of_a_dictionary(objects):
    columns = [column(each) for each in objects]
    known = KnownTokens()

    found = [known.numbered(each).tolist() for each in columns]

    assert found == list(numbers_by_dictionary(columns))
    again = KnownTokens()
    tokens = known.tokens()
    codes = np.arange(len(tokens))
    told = Values.from_tokens(Level.of_events(len(tokens)), codes, tokens)
    assert again.numbered(told).tolist() == codes.tolist()
    assert known.tokens(len(tokens) // 2) == tokens[len(tokens) // 2 :]
    assert known.words() == [f"{int(kind)}{data.decode()}" for kind, data in tokens]


def test_it_grows_by_as_many_and_as_long_tokens_as_there_are():
    texts = [str(n) * (1 + n % 7) for n in range(5_000)] + ["x" * 100_000]
    known = KnownTokens()

    first = known.numbered(column(texts))
    second = known.numbered(column(texts[::-1]))

    assert first.tolist() == list(range(5_001))
    assert second.tolist() == first.tolist()[::-1]
    assert known.size == sum(map(len, texts))
    known.clear()
    assert (len(known), known.size, known.tokens()) == (0, 0, [])
