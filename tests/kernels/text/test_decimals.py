"""Numbers are read exactly, as `decimal` reads them."""

from __future__ import annotations

from decimal import Decimal

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from halfmask.kernels.text.decimals import LONG, NONE, parse_decimals


def _read(text):
    data = np.frombuffer(text.encode() + b"77", np.uint8)
    units, places, ends = np.empty(1, np.int64), np.empty(1, np.int8), np.empty(1, np.int64)
    parse_decimals(data, np.array([0]), np.array([len(data) - 2]), units, places, ends)
    return int(units[0]), int(places[0]), int(ends[0])


@pytest.mark.slow
@settings(max_examples=300)
@given(st.from_regex(r"-?(0|[1-9][0-9]{0,8})(\.[0-9]{1,6})?([eE][+-]?[0-9]{1,2})?", fullmatch=True))
def test_a_number_is_what_decimal_says(text):
    """Units and places together are the number, wherever it has one of 18 digits."""
    units, places, end = _read(text)

    if places == LONG:
        _, digits, exponent = Decimal(text).normalize().as_tuple()
        assert isinstance(exponent, int)
        assert len(digits) + max(exponent, 0) > 18 or -exponent > 18
    else:
        assert Decimal(units).scaleb(-places) == Decimal(text)
        assert 0 <= places <= 18
        assert end == len(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("7.99 EUR", (799, 2, 4)),
        ("7.99EUR", (799, 2, 4)),
        ("7.99 e", (799, 2, 4)),
        ("7e", (7, 0, 1)),
        ("200 EUR", (200, 0, 3)),
        ("1.50", (150, 2, 4)),
        ("0.000", (0, 3, 5)),
        ("-0", (0, 0, 2)),
        ("0e99999999999", (0, 0, 13)),
        ("999999999999999999", (10**18 - 1, 0, 18)),
        ("0.000000000000000001", (1, 18, 20)),
    ],
)
def test_numbers_and_what_is_behind(text, found):
    """What is behind a number isn't read."""
    assert _read(text) == found


@pytest.mark.parametrize("text", ["", "-", ".", ".5", "EUR", "-x", "1.", "1.e", "+1", " 1", "٣"])
def test_no_number(text):
    """A text that doesn't begin with a number has none."""
    assert _read(text)[:2] == (0, NONE)


@pytest.mark.parametrize("text", ["1" + 18 * "0", "1e18", "1e-19", "1e999999", "0." + 19 * "1"])
def test_too_many_digits(text):
    """What 18 digits don't hold is said to be long."""
    assert _read(text)[:2] == (0, LONG)
