"""Forms of values are counted; checksums tell numbers of cards from numbers."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.data.value_patterns import PATTERNS, iban, luhn, pattern_shares

FITS = {
    "email": ("a@b.org", "first.last+tag@mail.example.com"),
    "url": ("https://example.org/a?b=c", "www.example.org"),
    "ip": ("192.168.0.1", "2001:db8:0:0:0:0:0:1", "fe80::1:2:3"),
    "mac": ("00:1A:2b:3c:4d:5e",),
    "uuid": ("123e4567-e89b-12d3-a456-426614174000",),
    "iban": ("GB82 WEST 1234 5698 7654 32", "DE89370400440532013000"),
    "card": ("4111111111111111", "5500 0000 0000 0004", "340000000000009"),
    "ssn": ("536-90-4399",),
    "phone": ("+49 30 901820", "(212) 555-0123", "030 12 34 56", "555-867-5309"),
    "coordinates": ("52.5200, 13.4050", "(-33.8688, 151.2093)"),
    "address": ("12 Market Place Road", "221b Baker Street", "12 bis rue de Rivoli"),
    "degrees": ("52°30'N", "13 ° 24.5", "W 0°7'39\""),
    "h3": ("8928308280fffff", "871fb4662ffffff"),
    "postcode": ("90210", "12345-6789", "SW1A 1AA", "K1A 0B1", "1012 AB"),
    "missing": ("?", "NA", "n/a", "-", "", "NULL", "unknown"),
}
DOES_NOT_FIT = {
    "email": ("a@b", "a b@c.org", "@"),
    "url": ("example", "http//x"),
    "ip": ("1.2.3", "256.1.1.1", "12:30"),
    "mac": ("00:1A:2b",),
    "uuid": ("123e4567",),
    "iban": ("GB82 WEST 1234 5698 7654 33", "hello"),
    "card": ("4111111111111112", "1234"),
    "ssn": ("000-12-3456", "666-12-3456", "900-12-3456", "536904399"),
    "phone": ("12345", "20:30:11", "a phone"),
    "coordinates": ("1, 2", "52.5200"),
    "address": ("Market", "12", "12 apples", "street"),
    "degrees": ("52.5200", "20 °C", "°30"),
    "h3": ("9928308280fffff", "8928308280ffff", "8928308280fffffg"),
    "postcode": ("1234", "123456"),
    "missing": ("a", "0", "nation"),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_texts_that_have_a_form_and_such_that_do_not(name):
    assert pattern_shares(pl.Series(FITS[name])).get(name) == 1.0
    assert name not in pattern_shares(pl.Series(DOES_NOT_FIT[name]))


def test_shares_are_of_all_texts():
    assert pattern_shares(pl.Series(["a@b.org", "x", "y", "z"])) == {"email": 0.25}
    assert pattern_shares(pl.Series([], dtype=pl.String)) == {}


@given(st.integers(10**15, 10**16 - 1))
def test_exactly_one_last_digit_satisfies_luhn(number):
    assert sum(luhn(f"{number}{digit}") for digit in range(10)) == 1


@given(st.integers(0, 17), st.integers(1, 9))
def test_no_single_changed_digit_keeps_an_iban(position, change):
    good = "DE89370400440532013000"
    digits = list(good[2:])
    digits[position] = str((int(digits[position]) + change) % 10)

    assert iban(good)
    assert not iban("DE" + "".join(digits))
