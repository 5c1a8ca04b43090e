"""Columns of tokens: numbered, taken, formatted, and there and back again."""

from __future__ import annotations

import json
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import ParameterError
from halfmask.events.block._level import Level
from halfmask.events.block._values import Kind, Values, read_text, written_text

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.just(...)
)


def _event_values(objects):
    return Values.of(Level.of_events(len(objects)), objects)


@pytest.mark.slow
@given(st.lists(LEAVES, max_size=12))
def test_objects_come_back(objects):
    values = _event_values(objects)

    found = values.objects()

    assert objects == found
    assert [type(value) for value in objects] == [type(value) for value in found]


@pytest.mark.slow
@given(st.lists(LEAVES, max_size=12))
def test_distinct_numbers_tokens_by_first_appearance(objects):
    values = _event_values(objects)
    expected: dict[tuple[Kind, bytes], int] = {}
    codes = []
    for slot in range(len(objects)):
        token = values.token(slot)
        codes.append(expected.setdefault(token, len(expected)) if token[0] else -1)

    found, tokens = values.distinct()

    assert codes == found.tolist()
    assert list(expected) == tokens


@pytest.mark.slow
def test_many_distinct_tokens_outgrow_every_table():
    rng = np.random.default_rng(5)
    drawn = rng.integers(0, 30_000, 50_000)
    values = _event_values([f"token {n}" * (1 + n % 3) for n in drawn.tolist()])

    codes, tokens = values.distinct()

    _, firsts, inverse = np.unique(drawn, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(firsts))
    np.testing.assert_array_equal(order[inverse], codes)
    assert len(firsts) == len(tokens)
    assert tokens[0] == values.token(0)


@pytest.mark.slow
@given(st.lists(LEAVES, max_size=12))
def test_codes_and_tokens_make_the_same_values(objects):
    values = _event_values(objects)

    again = Values.from_tokens(values.level, *values.distinct())

    assert values.objects() == again.objects()


def test_equal_bytes_of_other_kinds_are_other_tokens():
    codes, _ = _event_values(["1", 1, "null", None, "true", True, {}, [], "{}"]).distinct()

    assert list(range(9)) == codes.tolist()


@pytest.mark.slow
@given(st.lists(st.integers(-(2**63), 2**63 - 1)), st.integers(0, 18), st.randoms())
def test_decimals_are_written_exactly(units, decimals, random):
    level = Level.of_events(len(units))
    present = np.array([random.random() < 0.8 for _ in units], dtype=np.bool_)

    values = Values.from_decimals(level, np.array(units, dtype=np.int64), decimals, present)

    for slot, (unit, there) in enumerate(zip(units, present.tolist(), strict=True)):
        kind, token = values.token(slot)
        if there:
            expected = f"{Decimal(unit).scaleb(-decimals):.{decimals}f}".encode()
            assert (Kind.NUMBER if decimals else Kind.INTEGER, expected) == (kind, token)
            json.loads(token)
        else:
            assert kind == Kind.MISSING


def test_take_repeats_reorders_and_leaves_out():
    values = _event_values(["a", "b", "c"])
    level = Level.of_events(4)

    taken = values.take(np.array([2, -1, 0, 0]), level)

    assert taken.objects() == ["c", ..., "a", "a"]
    assert _event_values([]).take(np.array([-1]), Level.of_events(1)).objects() == [...]


def test_levels_know_their_parents_and_empty_arrays():
    events = Level.of_events(3)
    present = np.array([True, True, False])

    lines = Level.under(events, "a[]", np.array([2, 0, 0]), present=present)
    inner = Level.under(lines, "a[][]", np.array([1, 3]))

    assert lines.parents().tolist() == [0, 0]
    assert inner.parents().tolist() == [0, 1, 1, 1]
    assert inner.event.tolist() == [0, 0, 0, 0]
    assert lines.present.tolist() == [True, True, False]
    assert events.parents().tolist() == [0, 1, 2]


@given(st.text())
def test_text_comes_back_from_its_token(text):
    token = written_text(text)

    assert text == read_text(token) == json.loads(b'"%b"' % token)


def test_what_json_has_no_word_for_is_refused():
    level = Level.of_events(1)

    for value in (float("nan"), float("inf"), "\ud800", b"bytes", (1,)):
        with pytest.raises(ParameterError):
            Values.of(level, [value])
    with pytest.raises(ParameterError, match=r"\[0, 18\]"):
        Values.from_decimals(level, np.zeros(1, dtype=np.int64), 19, np.ones(1, dtype=np.bool_))
    with pytest.raises(ParameterError, match="one value for each of 1 slots"):
        Values.of(level, ["a", "b"])


def test_numbers_beyond_floats_keep_their_size():
    level = Level.of_events(2)
    tokens = [(Kind.NUMBER, b"1e400"), (Kind.INTEGER, b"9" * 5_000)]

    objects = Values.from_tokens(level, np.array([0, 1]), tokens).objects()

    assert [Decimal("1e400"), Decimal("9" * 5_000)] == objects
