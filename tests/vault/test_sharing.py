"""Sharing: any m parts make the secret, fewer tell nothing of it."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask.vault._sharing import combine, inverse, share, times


def _by_long_division(a: int, b: int) -> int:
    """Multiply as on paper: lists of bits, then divide by the modulus from the top."""
    bits = [0] * 15
    for i, j in itertools.product(range(8), range(8)):
        bits[i + j] ^= (a >> i & 1) & (b >> j & 1)
    modulus = [1, 1, 0, 1, 1, 0, 0, 0, 1]
    for top in range(14, 7, -1):
        if bits[top]:
            for k, bit in enumerate(modulus):
                bits[top - 8 + k] ^= bit
    assert not any(bits[8:])
    return sum(bit << place for place, bit in enumerate(bits[:8]))


def test_the_field_is_that_of_brute_algebra():
    """All 65,536 products."""
    for a, b in itertools.product(range(256), repeat=2):
        assert times(a, b) == _by_long_division(a, b)


def test_inverses():
    """Each element but 0 has exactly one, found by trying all."""
    for a in range(1, 256):
        assert [b for b in range(256) if _by_long_division(a, b) == 1] == [inverse(a)]


def test_the_products_of_fips_197():
    """Sections 4.2 and 4.2.1 of the standard of AES."""
    assert times(0x57, 0x83) == 0xC1
    assert times(0x57, 0x13) == 0xFE
    assert [times(0x57, 1 << n) for n in (1, 2, 3, 4)] == [0xAE, 0x47, 0x8E, 0x07]


def test_the_vector_of_the_internet_draft():
    """draft-mcgrew-tss-03: two shares of "test" and a zero byte, in the same field."""
    shares = {1: bytes.fromhex("b9fa07e185"), 2: bytes.fromhex("f5409b4511")}

    assert combine(shares) == b"test\0"


def test_shares_lie_on_the_polynomial_with_these_coefficients(monkeypatch):
    """f(x) = 0x2a + 0x03 x + 0x80 x^2, by hand."""
    coefficients = iter([b"\x03", b"\x80"])
    monkeypatch.setattr("os.urandom", lambda _: next(coefficients))

    got = share(b"\x2a", parts=3, needed=3)

    expected = [
        0x2A ^ _by_long_division(3, x) ^ _by_long_division(0x80, _by_long_division(x, x))
        for x in (1, 2, 3)
    ]
    assert [each[0] for each in got] == expected


@settings(max_examples=40)
@given(st.binary(min_size=1, max_size=32), st.integers(2, 6), st.integers(0, 4), st.randoms())
def test_any_that_are_enough_make_it(secret, needed, more, random):
    shares = dict(enumerate(share(secret, parts=needed + more, needed=needed), start=1))
    chosen = random.sample(sorted(shares), needed)

    assert combine({number: shares[number] for number in chosen}) == secret
    for number, each in shares.items():
        assert combine({it: shares[it] for it in chosen}, at=number) == each


def test_every_choice_of_3_of_5():
    secret = bytes(range(32))
    shares = dict(enumerate(share(secret, parts=5, needed=3), start=1))

    for chosen in itertools.combinations(shares, 3):
        assert combine({it: shares[it] for it in chosen}) == secret
    for pair in itertools.combinations(shares, 2):
        assert combine({it: shares[it] for it in pair}) != secret


def test_255_parts():
    secret = b"secret"
    shares = dict(enumerate(share(secret, parts=255, needed=2), start=1))

    assert combine({1: shares[1], 255: shares[255]}) == secret
    assert len(set(shares.values())) == 255


@pytest.mark.parametrize("secret", [b"\x00", b"\x2a"])
def test_fewer_tell_nothing(monkeypatch, secret):
    """Over all polynomials, what m - 1 parts show is the same for each secret: every pair once."""
    seen: Counter[tuple[int, int]] = Counter()
    for a, b in itertools.product(range(0, 256, 5), range(256)):
        drawn = iter([bytes([a]), bytes([b])])
        monkeypatch.setattr("os.urandom", lambda _, drawn=drawn: next(drawn))
        first, second = share(secret, parts=2, needed=3)
        seen[first[0], second[0]] += 1

    assert set(seen.values()) == {1}
    assert len(seen) == 52 * 256
