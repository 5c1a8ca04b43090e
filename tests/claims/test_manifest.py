"""A manifest is written whole, or not at all."""

from __future__ import annotations

import dataclasses

import pytest

from halfmask._errors import ReleaseError
from halfmask.claims import Evidence
from halfmask.claims.manifest import MANIFEST_NAME, write_manifest


def test_a_number_that_json_lacks_is_not_written(folder):
    claims = [
        dataclasses.replace(
            folder.manifest.claims[0],
            evidence=Evidence(achieved=float("inf"), classes=1, rows=4, smallest_class=4),
        )
    ]
    before = (folder.path / MANIFEST_NAME).read_bytes()

    with pytest.raises(ReleaseError, match="infinite"):
        folder.rewrite(claims=tuple(claims))

    assert (folder.path / MANIFEST_NAME).read_bytes() == before


def test_a_folder_that_cannot_be_written_leaves_nothing(folder, tmp_path):
    with pytest.raises(ReleaseError, match="can't be written"):
        write_manifest(folder.manifest, tmp_path / "absent")
