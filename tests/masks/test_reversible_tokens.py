"""Reversible tokens: AES-SIV, both ways."""

from __future__ import annotations

import base64
import hashlib

import polars as pl
import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import DataError, SchemaError
from halfmask.masks import KeyedTokens, ReversibleTokens
from masks.masking import KEY  # type: ignore[import-not-found] # beside, not in a package


def plan(key=KEY):
    return ReversibleTokens().fit("x", pl.String(), None, key)


@pytest.mark.slow
@given(values=st.lists(st.none() | st.text(max_size=40), min_size=1, max_size=20))
def test_the_key_reverses_and_equal_values_have_equal_tokens(values):
    """Any text, such as one that ends in the padding's own bytes."""
    values = [*values, "\0", "", "\x80", "a\0\0"]
    column = pl.Series("x", values, dtype=pl.String)

    found = plan().apply(column, 0)

    assert plan().reverse(found).to_list() == values
    assert found.drop_nulls().n_unique() == len({it for it in values if it is not None})


def test_it_is_aes_siv_of_the_padded_text():
    """By the library, with a key that is derived for this purpose alone."""
    key = hashlib.blake2b(key=KEY, digest_size=64, person=b"halfmask/siv").digest()
    sealed = AESSIV(key).encrypt(b"Ann\x80".ljust(16, b"\0"), None)

    found = plan().apply(pl.Series("x", ["Ann"]), 0)[0]

    assert base64.b32decode(found.upper() + "====") == sealed


def test_lengths_show_in_steps_alone():
    """Of 16 bytes."""
    found = plan().apply(pl.Series("x", ["a", "a" * 15, "a" * 16]), 0).str.len_chars()

    assert found[0] == found[1] < found[2]


def test_foreign_and_changed_tokens_are_counted():
    """Of another key, cut off, spelled in another way, or no tokens; none is shown."""
    column = pl.Series("x", ["Ann", "Bob"])
    tokens = plan().apply(column, 0)
    spelled = tokens[0].upper()
    changed = pl.Series("x", [tokens[0], tokens[1][:-4], spelled, "canary", "canaryé"])

    with pytest.raises(DataError, match="'x' has 4 different values") as refused:
        plan().reverse(changed)
    assert "canary" not in str(refused.value)
    with pytest.raises(DataError, match="2 different values"):
        plan(bytes(32)).reverse(tokens)


def test_a_value_has_one_token_however_it_was_read():
    """As of `KeyedTokens`: 1, 1.0 and "1"."""
    columns = [pl.Series("x", it) for it in ([1], [1.0], ["1"])]
    found = {ReversibleTokens().fit("x", it.dtype, None, KEY).apply(it, 0)[0] for it in columns}
    assert len(found) == 1


def test_lists_are_refused_and_no_plan_shows_its_key():
    """A list is several values; a repr is what a log holds."""
    with pytest.raises(SchemaError, match=r"'tags'.*single values"):
        ReversibleTokens().written("tags", pl.List(pl.String))
    assert "key" not in repr(plan())
    assert "key" not in repr(KeyedTokens().fit("x", pl.String(), None, KEY))
