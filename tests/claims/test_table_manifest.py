"""A manifest of a table has the form of the design."""

from __future__ import annotations

import json

from halfmask.claims import read_manifest, table_manifest
from halfmask.claims.manifest import MANIFEST_NAME


def test_what_is_written_is_read_back(folder):
    risk = {"before": {"unique": 0.5}, **folder.manifest.risk}
    rich = folder.rewrite(weaknesses=("nulls-visible",), risk=risk, utility={"lost": [1, None]})

    assert table_manifest(read_manifest(folder.path)) == rich.manifest
    assert table_manifest(read_manifest(folder.path)).claims[1].support == "support/0.csv"
    assert {path.name for path in folder.path.iterdir()} == {"data", "support", MANIFEST_NAME}


def test_the_form_is_that_of_the_design(folder):
    text = (folder.path / MANIFEST_NAME).read_text(encoding="utf-8")

    found = json.loads(text)

    assert (found["format"], found["version"]) == ("halfmask-release", 2)
    assert found["kind"] == "microdata"
    assert found["claims"][0]["basis"] == "counted"
    assert found["details"]["rows"] == {"in": 4, "out": 4, "suppressed": 0}
    assert found["files"][0].keys() == {"name", "format", "sha256", "bytes", "rows"}
    assert found["claims"][0]["evidence"] == {
        "achieved": 4.0,
        "classes": 1,
        "rows": 4,
        "smallest_class": 4,
    }
