"""Comparisons of fractions, against Python's own."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._validation import decimal
from halfmask.guarantees._exact import at_most, below, integers_up_to

numerators = st.integers(0, 2**61)
denominators = st.integers(1, 2**61)


@given(st.lists(st.tuples(numerators, denominators), min_size=1, max_size=5), st.floats(0, 1e6))
def test_fractions_are_compared_without_rounding(pairs, bound):
    left = np.array([pair[0] for pair in pairs])
    right = np.array([pair[1] for pair in pairs])
    threshold = decimal(bound)

    assert at_most(left, right, threshold).tolist() == [Fraction(*p) <= threshold for p in pairs]
    assert below(left, right, threshold).tolist() == [Fraction(*p) < threshold for p in pairs]


def test_a_tenth_is_a_tenth():
    """1/10 is at most 0.1, though the nearest binary number to 0.1 is larger than a tenth."""
    assert at_most(np.array([1]), np.array([10]), decimal(0.1)).tolist() == [True]
    assert below(np.array([1]), np.array([10]), decimal(0.1)).tolist() == [False]


def test_something_over_nothing_is_never_below():
    assert below(np.array([1]), np.array([0]), decimal(1e9)).tolist() == [False]


@pytest.mark.parametrize("bound", [1.697940478930689e-38, 5e-324, 1e300])
def test_nothing_is_compared_with_bounds_whose_numbers_are_huge(bound):
    none, one = np.array([0, 0]), np.array([1, 2**61])
    assert at_most(none, one, decimal(bound)).tolist() == [True, True]
    assert below(none, one, decimal(bound)).tolist() == [True, True]
    assert at_most(one, none, decimal(bound)).tolist() == [False, False]
    assert below(none, none, decimal(bound)).tolist() == [False, False]


def test_integers_get_room_where_64_bits_may_not_do():
    values = np.array([2**40])

    assert integers_up_to(2**61, values) is values
    assert (integers_up_to(2**63, values) * 2**40).tolist() == [2**80]
