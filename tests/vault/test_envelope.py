"""Sealed bytes: whole, under one key and for one context, or an error before any output."""

from __future__ import annotations

import hashlib
import hmac

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask._errors import IntegrityError, KeyMismatchError, ParameterError, VaultError
from halfmask.vault._envelope import MAGIC, OVERHEAD, _keys, open_sealed, seal

KEY, OTHER = bytes(range(32)), bytes(range(1, 33))
DATA = b"CANARY: what nobody may see"


def _with_right_digest(body: bytes) -> bytes:
    """What an attacker writes: the checksum is no secret."""
    return body + hashlib.sha256(body).digest()


@given(st.binary(max_size=300), st.binary(min_size=32, max_size=32), st.binary(max_size=40))
def test_what_is_sealed_comes_back(data, key, context):
    sealed = seal(data, key=key, context=context)

    assert open_sealed(sealed, key=key, context=context) == data
    assert len(sealed) == len(data) + OVERHEAD


@given(
    st.binary(max_size=60),
    *[st.binary(min_size=32, max_size=32)] * 2,
    *[st.binary(max_size=20)] * 2,
)
def test_another_key_or_context_never_opens(data, key, other, context, elsewhere):
    sealed = seal(data, key=key, context=context)
    for wrong, place in ((other, context), (key, elsewhere), (other, elsewhere)):
        if (wrong, place) != (key, context):
            with pytest.raises(KeyMismatchError):
                open_sealed(sealed, key=wrong, context=place)


@pytest.mark.parametrize("flip", [0x01, 0x20, 0x80, 0xFF])
def test_every_byte_counts(flip):
    """A byte that is altered anywhere is an error, and is told from a wrong key."""
    sealed = seal(DATA, key=KEY, context=b"here")
    for place in range(len(sealed)):
        altered = bytearray(sealed)
        altered[place] ^= flip
        with pytest.raises(VaultError) as caught:
            open_sealed(bytes(altered), key=KEY, context=b"here")
        assert not isinstance(caught.value, KeyMismatchError)
        assert b"CANARY" not in str(caught.value).encode()


@pytest.mark.parametrize("flip", [0x01, 0x80])
def test_every_byte_counts_where_the_checksum_is_right(flip):
    """Who alters a byte on purpose mends the checksum: the cipher and the commitment find it."""
    body = seal(DATA, key=KEY, context=b"here")[:-32]
    for place in range(len(body)):
        altered = bytearray(body)
        altered[place] ^= flip
        with pytest.raises(VaultError):
            open_sealed(_with_right_digest(bytes(altered)), key=KEY, context=b"here")


def test_every_cut_is_found():
    sealed = seal(DATA, key=KEY, context=b"here")
    for length in range(len(sealed)):
        with pytest.raises(IntegrityError):
            open_sealed(sealed[:length], key=KEY, context=b"here")
    with pytest.raises(IntegrityError):
        open_sealed(sealed + b"\0", key=KEY, context=b"here")


def test_another_version_is_reported():
    sealed = b"halfmask-seal/2\n" + seal(DATA, key=KEY, context=b"")[16:]
    with pytest.raises(VaultError, match="version") as caught:
        open_sealed(sealed, key=KEY, context=b"")
    assert caught.value.code == "vault"


def _poly1305_key(cipher_key):
    """Return r and s of the one-time key that the cipher makes for the zero nonce."""
    stream = Cipher(ChaCha20(cipher_key, bytes(16)), mode=None).encryptor().update(bytes(32))
    clamp = 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    return int.from_bytes(stream[:16], "little") & clamp, int.from_bytes(stream[16:], "little")


def _opened_by_two(first, second, associated):
    """Return a ciphertext of two blocks and a tag that Poly1305 accepts under both keys.

    Both tags are linear in the two blocks: two equations modulo 2^130 - 5, solved for the blocks;
    one tag in about sixteen gives blocks of the right size.
    """
    prime, top = 2**130 - 5, 2**128
    keys = [_poly1305_key(key) for key in (first, second)]
    known = [associated[i : i + 16] for i in range(0, len(associated), 16)]
    lengths = len(associated).to_bytes(8, "little") + (32).to_bytes(8, "little")
    for tag in range(10_000):
        wanted = []
        for r, s in keys:
            fixed = 0
            for block in known:
                fixed = (fixed + int.from_bytes(block, "little") + top) * r % prime
            fixed = fixed * r * r * r + (int.from_bytes(lengths, "little") + top) * r
            wanted.append((tag - s) % top - fixed)
        (r, _), (q, _) = keys
        inverse_of = pow(r**3 * q**2 - r**2 * q**3, -1, prime)
        a = (wanted[0] * q**2 - wanted[1] * r**2) * inverse_of % prime
        b = (r**3 * wanted[1] - q**3 * wanted[0]) * inverse_of % prime
        if top <= a < 2 * top and top <= b < 2 * top:
            blocks = [(each - top).to_bytes(16, "little") for each in (a, b)]
            return b"".join(blocks) + tag.to_bytes(16, "little")
    raise AssertionError("no tag gave blocks")


def test_two_keys_cant_open_one_file(monkeypatch):
    """The attack that works on the cipher alone is refused, and by the commitment."""
    salt = bytes(32)
    (one, commitment), (other, _) = (_keys(key, salt, b"") for key in (KEY, OTHER))
    head = MAGIC + salt + commitment
    forged = _opened_by_two(one, other, head)
    sealed = _with_right_digest(head + forged)

    for key in (one, other):  # the attack has power: the cipher alone opens under both keys
        assert len(ChaCha20Poly1305(key).decrypt(bytes(12), forged, head)) == 32
    assert len(open_sealed(sealed, key=KEY, context=b"")) == 32
    with pytest.raises(KeyMismatchError):
        open_sealed(sealed, key=OTHER, context=b"")
    monkeypatch.setattr("halfmask.vault._envelope.hmac.compare_digest", lambda *_: True)
    assert len(open_sealed(sealed, key=OTHER, context=b"")) == 32


def test_the_commitment_is_to_key_salt_and_context():
    """It is what the page says, by code of its own; nothing of it depends on the data."""
    sealed = seal(DATA, key=KEY, context=b"here")
    salt, commitment = sealed[16:48], sealed[48:80]
    pseudorandom = hmac.digest(salt, KEY, hashlib.sha256)
    info = b"".join(len(it).to_bytes(8, "big") + it for it in (b"halfmask/envelope/1", b"here"))
    cipher_key = hmac.digest(pseudorandom, info + b"\1", hashlib.sha256)

    assert hmac.digest(pseudorandom, cipher_key + info + b"\2", hashlib.sha256) == commitment
    opened = ChaCha20Poly1305(cipher_key).decrypt(bytes(12), sealed[80:-32], sealed[:80])
    assert opened == DATA
    assert sealed.startswith(MAGIC)


@settings(max_examples=20)
@given(st.binary(min_size=8, max_size=64))
def test_nothing_of_the_data_shows(data):
    """Neither in the file, nor by two files being alike."""
    one, other = (seal(data, key=KEY, context=b"") for _ in range(2))

    assert data not in one[len(MAGIC) :]
    assert one[16:48] != other[16:48]
    assert one[80:] != other[80:]


@pytest.mark.parametrize("key", [b"", bytes(31), bytes(33)])
def test_keys_that_cant_be(key):
    with pytest.raises(ParameterError):
        seal(DATA, key=key, context=b"")


def test_too_much(monkeypatch):
    """A gigabyte is a table, and tables aren't kept here."""
    monkeypatch.setattr("halfmask.vault._envelope.MAX_BYTES", 10)
    with pytest.raises(ParameterError):
        seal(bytes(11), key=KEY, context=b"")
    assert seal(bytes(10), key=KEY, context=b"")
