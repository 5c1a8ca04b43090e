"""Tokens: the keyed hash of a value's text."""

from __future__ import annotations

import datetime as dt
import hashlib

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import halfmask as hm
from halfmask._errors import DataError, ParameterError, SchemaError
from halfmask.masks import Ff1, KeyedTokens
from masks.masking import KEY  # type: ignore[import-not-found] # beside, not in a package


@given(cells=st.lists(st.none() | st.text(max_size=5), min_size=1, max_size=20))
def test_tokens_are_the_keyed_hash_of_the_text(cells):
    """By hashlib alone; equal values have equal tokens, missing ones none."""
    column = pl.Series("name", cells, dtype=pl.String)

    found = KeyedTokens(digits=24).fit("name", column.dtype, None, KEY).apply(column, 0)

    for cell, got in zip(cells, found, strict=True):
        if cell is None:
            assert got is None
        else:
            told = hashlib.blake2b(cell.encode(), key=KEY, digest_size=32).hexdigest()
            assert got == told[:24]


def test_other_keys_give_other_tokens_and_no_plan_shows_its_key():
    """A repr is what a log holds."""
    column = pl.Series("name", ["Ann"])
    first, second = (KeyedTokens().fit("name", column.dtype, None, key) for key in (KEY, bytes(32)))

    assert first.apply(column, 0)[0] != second.apply(column, 0)[0]
    assert repr(KEY) not in repr(first)
    assert "key" not in repr(first)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pl.Series("x", [1, 20]), pl.Series("x", [1.0, 20.0])),
        (pl.Series("x", [1, None, 300]), pl.Series("x", [1.0, float("nan"), 300.0]).fill_nan(None)),
        (
            pl.Series("x", [1.5, 20.0]),
            pl.Series("x", ["1.50", "20.00"]).str.to_decimal(scale=2),
        ),
        (
            pl.Series("x", [dt.datetime(2020, 1, 2, 3, tzinfo=dt.UTC)]).dt.cast_time_unit("ms"),
            pl.Series("x", [dt.datetime(2020, 1, 2, 3, tzinfo=dt.UTC)]).dt.cast_time_unit("ns"),
        ),
    ],
    ids=["floats", "a gap", "decimals", "times"],
)
def test_tokens_are_those_of_the_value_however_it_was_read(one, other):
    """Pandas makes floats of whole numbers with a gap, and nanoseconds of times."""
    found = [
        KeyedTokens().fit("x", it.dtype, None, KEY).apply(it, 0).to_list() for it in (one, other)
    ]

    assert found[0] == found[1]
    assert len(set(found[0])) == len(found[0])


@pytest.mark.parametrize(
    "cells",
    [
        pl.Series([dt.time(10), dt.time(10, 0, 0, 500)]),
        pl.Series([1_000, 1_001]).cast(pl.Datetime("ns")),
        pl.Series([dt.timedelta(seconds=1), dt.timedelta(seconds=1, microseconds=1)]),
    ],
)
def test_different_times_have_different_tokens(cells):
    """Fractions of a second are part of them."""
    found = KeyedTokens().fit("seen", cells.dtype, None, KEY).apply(cells.alias("seen"), 0)

    assert found.n_unique() == 2


def test_lists_are_refused():
    """A list is several values."""
    with pytest.raises(SchemaError, match=r"'tags'.*single values"):
        KeyedTokens().written("tags", pl.List(pl.String))


@pytest.mark.parametrize("digits", [8, 65])
def test_a_token_has_16_to_64_digits(digits):
    """Fewer would be shared by several values."""
    with pytest.raises(ParameterError):
        KeyedTokens(digits=digits)


WIDTHS = [pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64]


def integer_tokens(cells, dtype, key=KEY):
    column = pl.Series("id", cells, dtype=dtype)
    return KeyedTokens(integers=True).fit("id", dtype(), None, key).apply(column, 0)


@pytest.mark.slow
@given(dtype=st.sampled_from(WIDTHS), data=st.data())
def test_tokens_of_integers_are_integers_of_the_same_width_and_sign(dtype, data):
    """Different ones of different ones, in any batch."""
    low, high = (pl.select(it).item() for it in (dtype.min(), dtype.max()))
    cells = data.draw(st.lists(st.none() | st.integers(low, high), min_size=1, max_size=20))

    found = integer_tokens(cells, dtype)

    assert found.dtype == dtype
    assert found.n_unique() == len(set(cells))
    for cell, got in zip(cells, found, strict=True):
        assert (cell is None) == (got is None)
        assert cell is None or (cell < 0) == (got < 0)
        assert integer_tokens([cell], dtype)[0] == got


@pytest.mark.parametrize("dtype", [pl.Int8, pl.Int16, pl.UInt8, pl.UInt16])
def test_tokens_of_narrow_integers_are_a_permutation(dtype):
    """Of all values; the key decides, and the negative ones have an order of their own."""
    low, high = (pl.select(it).item() for it in (dtype.min(), dtype.max()))
    every = list(range(low, high + 1))

    one, other = (integer_tokens(every, dtype, key).to_list() for key in (KEY, bytes(32)))

    assert sorted(one) == sorted(other) == every
    assert sum(a == b for a, b in zip(one, other, strict=True)) < 25
    # The order of -1, -2, ... isn't that of 0, 1, ...
    assert low == 0 or one[: high + 1][::-1] != [~it for it in one[high + 1 :]]


def test_tokens_of_wide_integers_are_ff1_of_their_bytes():
    """A naive call, value by value; the tweak is the sign."""
    made = hashlib.blake2b(bytes([31]), key=KEY, digest_size=32, person=b"halfmask/integer")
    cipher = Ff1(made.digest(), [128, 256, 256, 256])

    found = integer_tokens([0, 1, -1, 2**31 - 1, -(2**31)], pl.Int32)

    for cell, got in zip([0, 1, -1, 2**31 - 1, -(2**31)], found, strict=True):
        size, sign = (cell, 0) if cell >= 0 else (-1 - cell, 1)
        numerals = np.frombuffer(size.to_bytes(4, "big"), np.uint8)[None]
        written = cipher.encrypt(numerals, np.array([[sign]], np.uint8)).tobytes()
        size = int.from_bytes(written, "big")
        assert got == (size if cell >= 0 else -1 - size)


def test_tokens_of_integers_join_linked_columns_of_two_widths():
    """Fitted to the narrower type; what doesn't fit is refused with a count."""
    plan = KeyedTokens(integers=True).fit("id", pl.Int32(), None, KEY)
    narrow, wide = (pl.Series("id", [7, -9, None], dtype=it) for it in (pl.Int32, pl.Int64))

    assert plan.apply(wide, 0).dtype == pl.Int64
    assert plan.apply(wide, 0).to_list() == plan.apply(narrow, 0).to_list()
    with pytest.raises(DataError, match=r"'id' has 2 different integers of more than 31 bits"):
        plan.apply(pl.Series("id", [2**31, -(2**31) - 1, 2**31, 5]), 0)


@pytest.mark.parametrize("dtype", [pl.String, pl.Float64, pl.Boolean, pl.Date, pl.Decimal(9, 0)])
def test_integers_of_other_columns_is_no_setting_without_effect(dtype):
    """Texts of digits lose zeros in front."""
    with pytest.raises(SchemaError, match=r"'x'.*'integers', which is for integers"):
        KeyedTokens(integers=True).written("x", pl.Series([], dtype=dtype).dtype)
    assert KeyedTokens().written("x", pl.Int64()) == pl.String


def test_a_release_of_tokens_that_are_integers_verifies(tmp_path):
    """It claims nothing of their format, and nothing is due."""
    table = pl.DataFrame({"id": range(50), "n": [it % 7 for it in range(50)]})
    policy = hm.Policy.from_toml(
        "halfmask = 1\n"
        '[columns.id]\nrole = "insensitive"\nkind = "numeric"\n'
        'mask = { name = "token", integers = true }\n'
        '[columns.n]\nrole = "insensitive"\nkind = "numeric"\n'
    )

    hm.mask(table, policy).write(tmp_path / "out")

    assert hm.verify(tmp_path / "out").holds
