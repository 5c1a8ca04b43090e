"""A manifest of any kind is read as it was written, from where its kind has it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask._errors import VerificationError
from halfmask.claims import BASES, Claim, DataFile, Manifest, read_manifest
from halfmask.claims.manifest import MANIFEST_NAME
from halfmask.claims.manifest_reader import parse_manifest

HASH = "0" * 64


NAMES = st.text(min_size=1, max_size=8)


NUMBERS = st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False)


JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=5,
)


CLAIMS = st.builds(
    Claim,
    model=NAMES,
    parameters=st.dictionaries(NAMES, NUMBERS | NAMES, max_size=3),
    about=st.dictionaries(NAMES, JSON, max_size=3),
    basis=st.sampled_from(sorted(BASES)),
    evidence=st.dictionaries(NAMES, JSON, max_size=3),
)


MANIFESTS = st.builds(
    Manifest,
    kind=NAMES,
    created=st.just("2026-11-25T09:00:00Z"),
    software=st.dictionaries(NAMES, NAMES, max_size=2),
    policy_sha256=st.just("a" * 64),
    files=st.lists(
        st.builds(
            DataFile,
            name=st.just("data/part-0.csv"),
            format=st.sampled_from(["csv", "jsonl"]),
            sha256=st.just(HASH),
            n_bytes=st.integers(0, 10**12),
            n_rows=st.integers(0, 10**12),
        ),
        max_size=2,
    ).map(tuple),
    claims=st.lists(CLAIMS, max_size=3).map(tuple),
    weaknesses=st.lists(NAMES, max_size=2).map(tuple),
    details=st.dictionaries(NAMES, JSON, max_size=3),
    report_sha256=st.none() | st.just("b" * 64),
)


@pytest.mark.slow
@settings(deadline=None)
@given(MANIFESTS)
def test_a_manifest_of_any_kind_is_read_as_it_was_written(manifest):
    assert parse_manifest(manifest.to_json().encode()) == manifest


def test_a_manifest_must_be_where_its_kind_has_it(folder):
    """Of tables in their folder, of events beside their output: else other files are verified."""
    events = read_manifest(Path(__file__).parent / "v1" / "plain")
    table = dataclasses.replace(read_manifest(folder.path), files=())

    for raw, beside in ((events.to_json(), False), (table.to_json(), True)):
        with pytest.raises(VerificationError, match=r"isn't where|plain name"):
            parse_manifest(raw.encode(), of_output=beside)


def test_a_manifest_must_be_a_plain_file_of_the_folder(folder, tmp_path):
    target = folder.path / MANIFEST_NAME
    moved = tmp_path / "elsewhere.json"
    target.rename(moved)
    with pytest.raises(VerificationError, match=r"no manifest.json"):
        read_manifest(folder.path)
    target.symlink_to(moved)
    with pytest.raises(VerificationError, match="of its own"):
        read_manifest(folder.path)
    with pytest.raises(VerificationError, match="no manifest"):
        read_manifest(moved)


def test_a_release_that_is_not_there_is_said_to_be_missing(tmp_path):
    with pytest.raises(VerificationError, match="The release is not there"):
        read_manifest(tmp_path / "relese")
