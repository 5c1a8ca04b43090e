"""Summaries of many batches add up to that of all rows, few of them held at once."""

from __future__ import annotations

import weakref
from typing import Any

import hypothesis.strategies as st
from hypothesis import given

from halfmask.encode._summary import total


class _Part:
    """A summary that knows its batches, in order."""

    def __init__(self, batches):
        self.batches = batches

    def __add__(self, other):
        return _Part(self.batches + other.batches)


def _total(parts: Any) -> list[int]:
    found: Any = total(parts)
    return list(found.batches)


@given(n_batches=st.integers(1, 70))
def test_all_batches_are_added_up_in_order(n_batches):
    assert _total(_Part([i]) for i in range(n_batches)) == list(range(n_batches))


def test_no_more_sums_are_held_than_there_are_powers_of_two():
    alive: weakref.WeakSet[_Part] = weakref.WeakSet()
    most = 0

    def parts():
        nonlocal most
        for i in range(1000):
            part = _Part([i])
            alive.add(part)
            most = max(most, len(alive))
            yield part
            del part

    assert _total(parts()) == list(range(1000))
    assert most <= 4


def test_no_batch_has_no_sum():
    assert total([]) is None
