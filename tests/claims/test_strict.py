"""JSON is read strictly, and what is refused isn't quoted."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask._errors import VerificationError
from halfmask.claims.manifest_reader import parse_manifest


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\xff\xfe",
        b"null",
        b"[]",
        b'{"format": "halfmask-release", "version": 1}',
        b'{"a": 1, "a": 2}',
        b'{"a": NaN}',
        b'{"a": Infinity}',
        b"[" * 100_000,
        b"1" * 5_000,
    ],
)
def test_what_is_no_strict_json_is_refused_and_not_quoted(raw):
    with pytest.raises(VerificationError):
        parse_manifest(raw)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_random_bytes_are_refused(raw):
    with pytest.raises(VerificationError):
        parse_manifest(raw)
