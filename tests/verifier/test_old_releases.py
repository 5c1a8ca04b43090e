"""Releases that version 0.1 wrote, as they lie in `tests/claims/v1`, still verify."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from halfmask._errors import ParameterError, VerificationError
from halfmask.verifier import verify
from halfmask.verifier.events import Check
from halfmask.verifier.tables import ClaimCheck

OLD = Path(__file__).parents[1] / "claims" / "v1"


def test_a_table_of_version_0_1_verifies():
    found = verify(OLD / "table")

    assert found.holds
    # What verify counted when the release was made.
    counted = [each for each in found.claims if isinstance(each, ClaimCheck)]
    assert [(each.model, round(each.counted or 0, 9), each.classes) for each in counted] == [
        ("k-anonymity", 5, 12),
        ("distinct-l-diversity", 3, 12),
        ("t-closeness", 0.3625, 12),
    ]
    assert [each.n_rows for each in found.files] == [80, None]


@pytest.mark.parametrize("release", [None, 5, ["folder"]])
def test_what_is_no_path_is_refused_by_type(release):
    with pytest.raises(ParameterError, match=f"Got a value of type {type(release).__name__}"):
        verify(release)


def test_an_engine_that_is_none_is_refused_by_type():
    with pytest.raises(ParameterError, match="'engine' parameter of verify can't be used"):
        verify(OLD / "table", engine="dask://host")  # type: ignore[arg-type] # a text is refused


def test_a_changed_one_does_not(tmp_path):
    shutil.copytree(OLD / "table", tmp_path / "table")
    part = tmp_path / "table/data/part-00000.csv"
    part.write_bytes(part.read_bytes().replace(b"Dunn", b"Dunm", 1))

    with pytest.raises(VerificationError, match="bear out"):
        verify(tmp_path / "table").raise_if_broken()


@pytest.mark.parametrize(
    ("name", "lines", "claims"),
    [
        ("guarantees.jsonl", 300, [("sessions", 3), ("sessions", 2)]),
        ("cells.jsonl", 6, [("nothing", None)]),
        ("plain", 20, []),
    ],
)
def test_events_of_version_0_1_verify(name, lines, claims):
    """What that version's own verifier counted; of aggregates no count was written."""
    found = verify(OLD / name)

    assert found.holds
    assert (found.kind, found.rows) == ("events", lines)
    counted = [each for each in found.claims if isinstance(each, Check)]
    assert [(each.counted, each.least) for each in counted] == claims
    assert len(counted) == len(found.claims)


@pytest.fixture
def old(tmp_path):
    """A copy of the releases, to be changed."""
    return shutil.copytree(OLD, tmp_path / "old")


@pytest.mark.parametrize(
    ("name", "was", "becomes"),
    [
        ("guarantees.jsonl", b'"k": 2', b'"k": 4'),  # the lines have 3 and 2 sessions at least
        ("guarantees.jsonl", b'"panes": [\n      300', b'"panes": [\n      299'),
        ("guarantees.jsonl", b'"unique_events": 174', b'"unique_events": 173'),
        ("guarantees.jsonl", b'"least-entities-of-the-run": 3', b'"least-entities-of-the-run": 4'),
        ("cells.jsonl", b'"lines": 300', b'"lines": 299'),
        ("plain", b'"lines": 20\n', b'"lines": 21\n'),
        ("plain", b'"version": 1', b'"version": 1.0'),
        ("plain", b'"version": 1', b'"version": 2'),
        ("plain", b'"folder": true', b'"folder": true, "more": 1'),
        ("plain", b'"name": "part-', b'"name": "../plain/part-'),
    ],
)
def test_events_of_version_0_1_with_a_changed_manifest_do_not(old, name, was, becomes):
    manifest = old / f"{name}.manifest.json"
    raw = manifest.read_bytes()
    assert was in raw
    manifest.write_bytes(raw.replace(was, becomes, 1))

    with pytest.raises(VerificationError):
        verify(old / name).raise_if_broken()


@pytest.mark.parametrize("name", ["guarantees.jsonl", "cells.jsonl", "plain/part-00001.jsonl"])
def test_events_of_version_0_1_with_changed_lines_do_not(old, name):
    lines = (old / name).read_bytes().splitlines(keepends=True)
    (old / name).write_bytes(b"".join(lines[1:]))

    assert not verify(old / name.split("/")[0]).holds
