"""Parts: lines that people keep, and that are refused by their number if they aren't right."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask._errors import IntegrityError, KeyMismatchError, ParameterError, VaultError
from halfmask.vault._header import Pointer, VaultHeader, root_id
from halfmask.vault._part import KeyPart, join_parts, split_key

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
