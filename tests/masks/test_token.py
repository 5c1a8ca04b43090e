"""Tokens: the keyed hash of a value's text."""

from __future__ import annotations

import datetime as dt
import hashlib

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import ParameterError, SchemaError
from halfmask.masks import KeyedTokens
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
