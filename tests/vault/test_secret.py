"""Secrets: keys per purpose and column that say nothing of each other; no byte shows."""

from __future__ import annotations

import copy
import hashlib
import hmac
import pickle

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from halfmask._errors import ParameterError
from halfmask.vault import Secret

FIXED = Secret.from_bytes(bytes(range(32)))
WORDS = st.text(min_size=1, max_size=8)


def _by_the_book(material: bytes, info: bytes, length: int) -> bytes:
    """HKDF as RFC 5869 writes it, from hashlib alone."""
    pseudorandom = hmac.digest(bytes(32), material, hashlib.sha256)
    out, block = b"", b""
    for counter in range(1, -(-length // 32) + 1):
        block = hmac.digest(pseudorandom, block + info + bytes([counter]), hashlib.sha256)
        out += block
    return out[:length]


@given(WORDS, st.text(max_size=8), st.integers(1, 200))
def test_keys_are_those_of_the_rfc(purpose, column, length):
    """Another program can derive the same keys: they are HKDF over length-prefixed words."""
    try:
        words = [b"halfmask/secret/1/key", purpose.encode(), column.encode()]
    except UnicodeEncodeError:
        with pytest.raises(ParameterError):
            FIXED.key(purpose, column=column)
        return
    info = b"".join(len(word).to_bytes(8, "big") + word for word in words)
    info += length.to_bytes(8, "big")

    assert FIXED.key(purpose, column=column, length=length) == _by_the_book(
        bytes(range(32)), info, length
    )


def test_the_derivation_stays():
    """Keys of today are keys of tomorrow: encoded files would be lost otherwise."""
    assert FIXED.key("names", column="age").hex() == (
        "5c0855697434c14cb1580b2377eedb881c265b1cf9425ad71124b4b3f6801590"
    )
    assert FIXED.id == "1ede84a0"


@given(WORDS, WORDS, WORDS, WORDS)
def test_different_words_give_different_keys(first, second, third, fourth):
    """No two pairs of purpose and column meet, however the letters are parted."""
    assume((first, second) != (third, fourth))
    try:
        one, other = FIXED.key(first, column=second), FIXED.key(third, column=fourth)
    except ParameterError:
        return
    assert one != other
    assert FIXED.key("ab", column="c") != FIXED.key("a", column="bc")


def test_lengths_are_independent():
    """A short key isn't the head of a long one."""
    assert FIXED.key("a", length=64)[:32] != FIXED.key("a")


@pytest.mark.parametrize("length", [0, -1, 8161, True, 1.5, None])
def test_lengths_that_cant_be(length):
    """HKDF has a longest key."""
    with pytest.raises(ParameterError):
        FIXED.key("a", length=length)
    assert len(FIXED.key("a", length=8160)) == 8160


@pytest.mark.parametrize("material", [b"", bytes(31), bytes(33), "x" * 32, bytearray(32), None])
def test_what_is_no_secret(material):
    """32 bytes, nothing else, and what was given isn't repeated."""
    with pytest.raises(ParameterError) as caught:
        Secret.from_bytes(material)
    assert "xxx" not in str(caught.value)


@pytest.mark.parametrize("words", [("", "age"), ("\ud800", ""), ("a", "\ud800"), (None, "")])
def test_words_that_cant_be(words):
    """A purpose is there, and has a UTF-8 form."""
    with pytest.raises(ParameterError):
        FIXED.key(words[0], column=words[1])


def test_fresh_ones_differ():
    """They come from the operating system."""
    assert len({Secret.fresh() for _ in range(100)}) == 100


def test_equality():
    """The same bytes are the same secret; anything else isn't one."""
    assert Secret.from_bytes(bytes(range(32))) == FIXED
    assert Secret.from_bytes(bytes(32)) != FIXED
    assert bytes(range(32)) != FIXED
    assert copy.deepcopy(FIXED) is copy.copy(FIXED) is FIXED


def test_nothing_shows():
    """No repr, text or attribute listing holds a byte of it, and pickle is refused."""
    secret = Secret.from_bytes(b"CANARY-CANARY-CANARY-CANARY-CANA")
    for said in (repr(secret), str(secret), f"{secret}", repr([secret]), repr({secret: 1})):
        assert "CANARY" not in said
        assert b"CANARY".hex() not in said
    assert not hasattr(secret, "__dict__")
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match="pickled"):
            pickle.dumps(secret, protocol)
