from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask import DataError
from halfmask.engines._local import merged


@given(st.lists(st.text(max_size=2), min_size=1))
def test_neighbours_are_merged_in_order(parts):
    assert merged(iter(parts), str.__add__) == "".join(parts)


@given(st.integers(min_value=1, max_value=300))
def test_a_part_is_merged_a_few_times(n):
    """A balanced tree of n leaves is no deeper than one above the logarithm of n."""
    depth = merged([0] * n, lambda left, right: 1 + max(left, right))

    assert depth <= math.ceil(math.log2(n))


@given(st.integers(min_value=1, max_value=300))
def test_few_parts_are_held(n):
    """Parts that wait are sums of 1, 2, 4 ... batches: at most one of each size, and a new one."""
    held, most = 0, 0

    def parts():
        nonlocal held, most
        for _ in range(n):
            held += 1
            most = max(most, held)
            yield 0

    def merge(_left, _right):
        nonlocal held
        held -= 1
        return 0

    merged(parts(), merge)
    assert held == 1
    assert most <= n.bit_length() + 1


def test_one_part_stays_as_it_is():
    assert merged(["only"], lambda *_: pytest.fail("nothing is to be merged")) == "only"


def test_no_part_is_an_error():
    with pytest.raises(DataError, match="no batch"):
        merged([], str.__add__)
