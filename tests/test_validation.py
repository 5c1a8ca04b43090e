"""Checks of arguments: what passes, what doesn't, and what a message may repeat."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import ParameterError
from halfmask._validation import (
    fraction,
    integer_at_least,
    number_between,
    one_of,
    rows_of_share,
)


@pytest.mark.parametrize("value", [2, 3, 10**30, np.int64(2), np.uint8(200)])
def test_integers_of_at_least_the_minimum_pass(value):
    integer_at_least(2, owner="It", k=value)


@pytest.mark.parametrize("value", [1, 0, -5, True, 2.0, "2", None, np.int64(1), math.nan])
def test_other_values_are_no_integers_of_at_least_the_minimum(value):
    with pytest.raises(ParameterError, match=r"'k' parameter of It .* \[2, inf\)"):
        integer_at_least(2, owner="It", k=value)


@pytest.mark.parametrize(
    ("value", "low_open", "high_open", "passes"),
    [
        (0.0, False, False, True),
        (1.0, False, False, True),
        (0.0, True, False, False),
        (1.0, False, True, False),
        (0.5, True, True, True),
        (-1e-9, False, False, False),
        (1.0 + 1e-9, False, False, False),
        (math.nan, False, False, False),
        (math.inf, False, False, False),
        (True, False, False, False),
        ("0.5", False, False, False),
    ],
)
def test_ends_of_a_range_belong_to_it_unless_they_are_open(value, low_open, high_open, passes):
    def check():
        number_between(0, 1, owner="It", low_open=low_open, high_open=high_open, t=value)

    if passes:
        check()
    else:
        left, right = "(" if low_open else r"\[", r"\)" if high_open else r"\]"
        with pytest.raises(ParameterError, match=rf"range \{left[-1]}0, 1{right}"):
            check()


def test_no_number_is_infinite_even_where_the_range_is():
    number_between(0, math.inf, owner="It", c=1e300)
    with pytest.raises(ParameterError, match=r"range \[0, inf\)"):
        number_between(0, math.inf, owner="It", c=math.inf)


def test_a_fraction_is_from_0_to_1():
    fraction(owner="It", low=0.0, high=1)
    with pytest.raises(ParameterError, match=r"'high' .* \[0, 1\]\. Got 1\.5 instead"):
        fraction(owner="It", low=0.0, high=1.5)


def test_a_word_is_one_of_those_allowed():
    one_of(("mean", "median"), owner="It", numeric="mean")
    with pytest.raises(ParameterError, match=r"one of 'mean', 'median'\. Got 'mode' instead"):
        one_of(("mean", "median"), owner="It", numeric="mode")


def test_a_message_repeats_no_long_text_and_no_object():
    with pytest.raises(ParameterError) as long:
        one_of(("a",), owner="It", word="CANARY" * 10)
    with pytest.raises(ParameterError) as listed:
        one_of(("a",), owner="It", word=("CANARY",))

    assert "CANARY" not in f"{long.value} {listed.value}"
    assert "a value of type tuple" in str(listed.value)


@given(st.integers(0, 1000), st.integers(0, 10**6))
def test_a_share_of_rows_is_that_of_its_digits(thousandths, rows):
    share = thousandths / 1000

    assert rows_of_share(share, rows) == thousandths * rows // 1000
    assert rows_of_share(share, rows, nearest=True) == (thousandths * rows + 500) // 1000


@given(st.integers(1, 10**6), st.data())
def test_a_share_of_rows_is_the_quotient_that_it_was_computed_as(rows, data):
    part = data.draw(st.integers(0, rows))

    assert rows_of_share(part / rows, rows) == part
    assert rows_of_share(part / rows, rows, nearest=True) == part
