"""FF1: the samples of NIST, a naive FF1 on whole numbers, and permutations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask._errors import ParameterError
from halfmask.masks import Ff1

ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"
KEY = bytes.fromhex("2B7E151628AED2A6ABF7158809CF4F3CEF4359D8D580AA4F7F036D6F04FC6A94")
TWEAKS = (b"", b"9876543210", b"7777pqrs777")
TEXTS = ("0123456789", "0123456789", "0123456789abcdefghi")
# NIST, "FF1 samples" of the examples with intermediate values, samples 1 to 9.
SAMPLES = [
    (16, 0, "2433477484"),
    (16, 1, "6124200773"),
    (16, 2, "a9tv40mll9kdu509eum"),
    (24, 0, "2830668132"),
    (24, 1, "2496655549"),
    (24, 2, "xbj3kv35jrawxv32ysr"),
    (32, 0, "6657667009"),
    (32, 1, "1001623463"),
    (32, 2, "xs8a0azh2avyalyzuwd"),
]


def numerals(text):
    return np.array([[ALPHABET.index(it) for it in text]], np.uint8)


def tweak(raw):
    return np.frombuffer(raw, np.uint8)[None, :]


def naive(key, radix, digits, raw, *, rounds=10):
    """FF1 of SP 800-38G, algorithm 7, on Python's integers and the library's CBC mode."""
    n, t = len(digits), len(raw)
    u = n // 2
    v = n - u
    a, b = digits[:u], digits[u:]

    def num(some):
        total = 0
        for it in some:
            total = total * radix + it
        return total

    def encrypted(data, mode):
        return Cipher(algorithms.AES(key), mode).encryptor().update(data)

    n_bytes = math.ceil(math.ceil(v * math.log2(radix)) / 8)
    d = 4 * math.ceil(n_bytes / 4) + 4
    p = bytes([1, 2, 1]) + radix.to_bytes(3, "big") + bytes([10, u % 256])
    p += n.to_bytes(4, "big") + t.to_bytes(4, "big")
    for i in range(rounds):
        q = raw + bytes((-t - n_bytes - 1) % 16) + bytes([i]) + num(b).to_bytes(n_bytes, "big")
        r = encrypted(p + q, modes.CBC(bytes(16)))[-16:]
        s = r
        for j in range(1, math.ceil(d / 16)):
            mixed = int.from_bytes(r, "big") ^ j
            s += encrypted(mixed.to_bytes(16, "big"), modes.ECB())  # noqa: S305 # one block
        m = u if i % 2 == 0 else v
        c = (num(a) + int.from_bytes(s[:d], "big")) % radix**m
        a, b = b, [c // radix ** (m - 1 - at) % radix for at in range(m)]
    return a + b


@pytest.mark.parametrize(("size", "number", "expected"), SAMPLES)
def test_the_samples_of_nist(size, number, expected):
    """All nine, both ways, next to the naive FF1, which has power with nine rounds."""
    text, raw = TEXTS[number], TWEAKS[number]
    radix = 10 if number < 2 else 36
    cipher = Ff1(KEY[:size], [radix] * len(text))

    found = cipher.encrypt(numerals(text), tweak(raw))

    assert found.tolist() == numerals(expected).tolist()
    assert cipher.decrypt(found, tweak(raw)).tolist() == numerals(text).tolist()
    plain = numerals(text)[0].tolist()
    assert naive(KEY[:size], radix, plain, raw) == found[0].tolist()
    assert naive(KEY[:size], radix, plain, raw, rounds=9) != found[0].tolist()


@settings(deadline=None)
@given(
    radix=st.sampled_from([2, 3, 10, 26, 36, 62, 100, 255]),
    raw=st.binary(max_size=40),
    key=st.binary(min_size=32, max_size=32),
    data=st.data(),
)
def test_it_is_the_naive_ff1_for_any_radix_length_and_tweak(radix, raw, key, data):
    """Halves of up to 64 bits and above, S of one block and several."""
    least = max(2, math.ceil(math.log(1_000_000) / math.log(radix) - 1e-9))
    digits = st.lists(st.integers(0, radix - 1), min_size=least, max_size=least + 60)
    plain = data.draw(digits)
    cipher = Ff1(key, [radix] * len(plain))

    found = cipher.encrypt(np.array([plain]), tweak(raw))

    assert found[0].tolist() == naive(key, radix, plain, raw)
    assert cipher.decrypt(found, tweak(raw))[0].tolist() == plain


@settings(deadline=None)
@given(
    radices=st.lists(st.sampled_from([2, 10, 26, 256]), min_size=2, max_size=40).filter(
        lambda it: math.prod(it) >= 1_000_000
    ),
    seed=st.integers(0, 2**32 - 1),
)
def test_several_radices_are_undone(radices, seed):
    """Each numeral stays below its radix."""
    rng = np.random.default_rng(seed)
    plain = rng.integers(0, radices, (5, len(radices))).astype(np.uint8)
    tweaks = rng.integers(0, 256, (5, 3)).astype(np.uint8)
    cipher = Ff1(KEY, radices)

    found = cipher.encrypt(plain, tweaks)

    assert (found < np.array(radices)).all()
    assert (cipher.decrypt(found, tweaks) == plain).all()


@pytest.mark.mostly_slow
@pytest.mark.parametrize("radices", [[10] * 6, [26, 10, 26, 10, 10, 2]])
def test_a_whole_format_is_permuted(radices):
    """A million values and more: each is written once, and hardly one stays."""
    places = np.indices(radices).reshape(len(radices), -1).T.astype(np.uint8)

    found = Ff1(KEY, radices).encrypt(places)

    weights = np.cumprod([1, *radices[:0:-1]])[::-1]
    numbers = found.astype(np.int64) @ weights
    assert np.bincount(numbers, minlength=math.prod(radices)).tolist() == [1] * len(places)
    # Of a random permutation, as many stay as a Poisson number of mean 1; 15 has chance 1e-13.
    assert int((found == places).all(axis=1).sum()) < 15


def test_rows_have_their_own_tweaks_whatever_lies_around_them():
    """In chunks of many rows as one by one."""
    rng = np.random.default_rng(7)
    plain = rng.integers(0, 10, (40_000, 12)).astype(np.uint8)
    tweaks = rng.integers(0, 256, (40_000, 4)).astype(np.uint8)
    cipher = Ff1(KEY, [10] * 12)

    found = cipher.encrypt(plain, tweaks)

    for row in (0, 32_767, 32_768, 39_999):
        alone = cipher.encrypt(plain[row : row + 1], tweaks[row : row + 1])
        assert (found[row] == alone[0]).all()
    assert (found != cipher.encrypt(plain)).any(axis=1).mean() > 0.99


@pytest.mark.parametrize(
    ("key", "radices", "says"),
    [
        (bytes(31), [10] * 10, "16, 24 or 32 bytes"),
        (bytes(32), [10] * 5, "1,000,000 values"),
        (bytes(32), [10] * 5 + [9], "900,000 values"),
        (bytes(32), [257] * 9, "2 to 256"),
        (bytes(32), [1] * 9, "2 to 256"),
        (bytes(32), [], "two numerals"),
    ],
)
def test_small_domains_and_wrong_keys_are_refused(key, radices, says):
    """Rev. 1: at least a million values; no message or repr shows the key."""
    with pytest.raises(ParameterError, match=says):
        Ff1(key, radices)
    assert "key" not in repr(Ff1(bytes(32), [10] * 6))
