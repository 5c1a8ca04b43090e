"""Releases that version 0.1 wrote, as they lie in `tests/claims/v1`, still verify."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from halfmask._errors import VerificationError
from halfmask.verifier import verify
from halfmask.verifier.events import ReleaseVerdict
from halfmask.verifier.tables import Verification

OLD = Path(__file__).parents[1] / "claims" / "v1"


def test_a_table_of_version_0_1_verifies():
    found = verify(OLD / "table")

    assert isinstance(found, Verification)
    assert found.holds
    # What verify counted when the release was made.
    assert [(each.model, round(each.counted or 0, 9), each.classes) for each in found.claims] == [
        ("k-anonymity", 5, 12),
        ("distinct-l-diversity", 3, 12),
        ("t-closeness", 0.3625, 12),
    ]
    assert [each.n_rows for each in found.files] == [80, None]


def test_a_changed_one_does_not(tmp_path):
    shutil.copytree(OLD / "table", tmp_path / "table")
    part = tmp_path / "table/data/part-00000.csv"
    part.write_bytes(part.read_bytes().replace(b"Dunn", b"Dunm", 1))

    with pytest.raises(VerificationError, match="bear out"):
        verify(tmp_path / "table").raise_if_broken()


@pytest.mark.parametrize(("name", "lines"), [("guarantees", 300), ("cells", 6)])
def test_events_of_version_0_1_verify(name, lines):
    found = verify(OLD / f"{name}.jsonl")

    assert isinstance(found, ReleaseVerdict)
    assert found.holds
    assert found.lines == lines
    assert found.claims
