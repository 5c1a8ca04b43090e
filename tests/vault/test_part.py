"""Parts: lines that people keep, and that are refused by their number if they aren't right."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask._errors import IntegrityError, KeyMismatchError, ParameterError, VaultError
from halfmask.vault._header import Pointer, VaultHeader, root_id
from halfmask.vault._part import KeyPart, combine, inverse, join_parts, share, split_key, times

KEY = bytes(range(32))


def _header(key=KEY, vault="0" * 16):
    pointer = Pointer(vault=vault, generation="1" * 16)
    return VaultHeader(
        pointer=pointer, kind="key-file", parameters={}, root=root_id(key), wrapped=b""
    )


def _lines(key=KEY, vault="0" * 16, parts=5, needed=3):
    made = split_key(key, vault=vault, parts=parts, needed=needed)
    return [part.to_bytes() for part in made]


def test_every_choice_that_is_enough():
    lines = _lines()
    for count in (3, 4, 5):
        for chosen in itertools.permutations(lines, count):
            assert join_parts(chosen, header=_header()) == KEY


@settings(max_examples=25)
@given(st.binary(min_size=32, max_size=32), st.integers(2, 5), st.integers(0, 3))
def test_lines_come_back(key, needed, more):
    for part in split_key(key, vault="a" * 16, parts=needed + more, needed=needed):
        line = part.to_bytes()
        assert KeyPart.from_bytes(line, given=1) == part
        spaced = b"  " + line.replace(b" ", b"\n \t")
        assert KeyPart.from_bytes(spaced, given=1) == part


@pytest.mark.parametrize("chosen", [[], [0], [0, 1], [0, 0, 0], [3, 3, 4, 4]])
def test_too_few(chosen):
    """A part that is given twice counts once."""
    lines = _lines()
    with pytest.raises(VaultError, match="too few"):
        join_parts([lines[each] for each in chosen], header=_header())


def test_every_letter_counts():
    """A slip of a key anywhere in a line is found before it is used, and told by its place."""
    lines = _lines(parts=2, needed=2)
    line = lines[1].rstrip()
    for place in range(len(line)):
        altered = bytearray(line)
        altered[place] ^= 1
        if altered.split() == line.split():
            continue
        with pytest.raises(VaultError, match="number 2"):
            join_parts([lines[0], bytes(altered)], header=_header())


@pytest.mark.parametrize(
    "line", [b"", b"\xff\xfe", b"halfmask-part/1", b"CANARY", b"halfmask-part/1 " + b"0" * 5000]
)
def test_what_is_no_part(line):
    with pytest.raises(IntegrityError, match="number 1") as caught:
        join_parts([line], header=_header())
    assert "CANARY" not in str(caught.value)


def test_another_version():
    line = _lines()[0].replace(b"part/1", b"part/2")
    with pytest.raises(VaultError, match="another version"):
        join_parts([line], header=_header())


def test_of_another_vault():
    lines = _lines()[:2] + _lines(vault="f" * 16)[2:3]
    with pytest.raises(KeyMismatchError, match="Part 3 of 5 is of another vault"):
        join_parts(lines, header=_header())


def test_of_another_splitting():
    lines = _lines()[:2] + _lines()[2:3]
    with pytest.raises(KeyMismatchError, match="Part 3 of 5 is of another splitting"):
        join_parts(lines, header=_header())


def test_of_an_earlier_root_key():
    with pytest.raises(KeyMismatchError, match="root key"):
        join_parts(_lines(key=bytes(32)), header=_header())


def _forged(line):
    """A part whose secret bytes were altered by who can count a checksum."""
    part = KeyPart.from_bytes(line, given=1)
    return KeyPart(
        vault=part.vault,
        split=part.split,
        number=part.number,
        parts=part.parts,
        needed=part.needed,
        share=bytes(byte ^ 1 for byte in part.share),
    ).to_bytes()


def test_a_forged_one():
    """It makes another key, which opens nothing; more parts than are needed show it."""
    lines = _lines()
    with pytest.raises(KeyMismatchError, match="root key"):
        join_parts([*lines[:2], _forged(lines[2])], header=_header())
    with pytest.raises(IntegrityError, match="don't agree"):
        join_parts([*lines[:3], _forged(lines[3])], header=_header())
    with pytest.raises(IntegrityError, match="two different parts 1"):
        join_parts([*lines, _forged(lines[0])], header=_header())


def test_a_part_that_was_read_as_text_is_said_to_be():
    lines = [part.to_bytes() for part in split_key(KEY, vault="0" * 16, parts=2, needed=2)]

    with pytest.raises(ParameterError, match=r"number 2 of those given must be bytes\. Got str"):
        join_parts([lines[0], lines[1].decode()], header=_header())  # type: ignore[list-item]


def test_nothing_shows():
    part = split_key(KEY, vault="0" * 16, parts=2, needed=2)[0]
    assert repr(part.share) not in repr(part)
    assert part.share.hex() not in repr(part)


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


@pytest.mark.slow
def test_the_field_is_that_of_brute_algebra():
    """All 65,536 products."""
    for a, b in itertools.product(range(256), repeat=2):
        assert times(a, b) == _by_long_division(a, b)


@pytest.mark.slow
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


@pytest.mark.slow
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
