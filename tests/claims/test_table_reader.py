"""Manifests of tables are read exactly, or refused by the place of the fault."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from halfmask._errors import VerificationError
from halfmask.claims import read_manifest, table_manifest
from halfmask.claims.manifest import MANIFEST_NAME
from halfmask.claims.manifest_reader import parse_manifest

HASH = "0" * 64


def test_a_table_of_version_0_1_is_read_as_version_2():
    """Its claims are said to be counted; nothing else changes."""
    old = Path(__file__).parent / "v1" / "table"
    found = table_manifest(read_manifest(old))

    first = json.loads((old / MANIFEST_NAME).read_text(encoding="utf-8"))
    now = json.loads(found.to_json())
    assert {each["basis"] for each in now["claims"]} == {"counted"}
    for key in ("rows", "support", "columns", "method", "risk", "utility"):
        assert now["details"][key] == first[key]
    for key in ("created", "software", "policy", "files", "weaknesses", "report"):
        assert now[key] == first[key]
    assert [
        {"model": it["model"], "parameters": it["parameters"], "evidence": it["evidence"]}
        | it["about"]
        for it in now["claims"]
    ] == first["claims"]


def edited(folder, *path, value):
    """The bytes of the manifest with one thing in it replaced."""
    found = json.loads((folder.path / MANIFEST_NAME).read_text(encoding="utf-8"))
    inner = found
    for key in path[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return json.dumps(found).encode()


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (["format"], "other", "isn't the manifest"),
        (["version"], 3, "isn't of version 1 or 2"),
        (["version"], True, "isn't of version 1 or 2"),
        (["version"], 2.0, "isn't of version 1 or 2"),
        (["version"], "1", "isn't of version 1"),
        (["created"], "yesterday", "created must be a time in UTC"),
        (["software"], {"halfmask": 1}, "software: halfmask must be text"),
        (["policy"], {"sha256": "0"}, "policy: sha256 must be 64"),
        (["details", "rows", "in"], -1, "rows: in must be a whole number"),
        (["details", "rows", "in"], True, "rows: in must be a whole number"),
        (["details", "rows", "in"], 4.0, "rows: in must be a whole number"),
        (["details", "rows", "suppressed"], ..., "rows lacks the key 'suppressed'"),
        (["files"], {}, "files must be a list"),
        (["files", 0], [], "files number 1 must be an object"),
        (["files", 0, "CANARY"], 1, "files number 1 has 1 keys that this version doesn't know"),
        (["files", 0, "format"], "exe", "format must be one of parquet, csv, arrow, jsonl"),
        (["files", 0, "sha256"], HASH.upper().replace("0", "A"), "sha256 must be 64 lower-case"),
        (["files", 0, "name"], "data/../../CANARY", "plain name of a file under data/"),
        (["files", 0, "name"], "/CANARY", "plain name of a file under data/"),
        (["files", 0, "name"], "support/0.csv", "plain name of a file under data/"),
        (
            ["details", "support", 0, "name"],
            "data/part-00000.parquet",
            "a file under support/",
        ),
        (["details", "support", 0, "column"], "", "column must be text that isn't empty"),
        (
            ["details", "columns", 0, "role"],
            "CANARY",
            "number 1: role must be one of identifier",
        ),
        (["details", "columns", 0, "kind"], None, "kind must be text"),
        (["claims", 0, "parameters"], {"k": None}, "parameters: k must be a number"),
        (["claims", 0, "parameters"], {"k": [10]}, "parameters: k must be a number"),
        (
            ["claims", 0, "about", "quasi_identifiers"],
            [1],
            "number 1 must be text",
        ),
        (["claims", 0, "evidence", "achieved"], "CANARY", "achieved must be a number"),
        (["claims", 0, "evidence", "achieved"], 10**400, "achieved must be a finite number"),
        (["claims", 0, "evidence", "rows"], ..., "evidence lacks the key 'rows'"),
        (["claims", 0, "evidence", "CANARY"], 1, "doesn't know"),
        (
            ["claims", 0, "basis"],
            "CANARY",
            "basis must be one of counted, accounted, measured, estimated",
        ),
        (["claims", 0, "basis"], "measured", "basis must be one of counted"),
        (["claims", 0, "about", "CANARY"], 1, "about has 1 keys"),
        (["kind"], "CANARY", "isn't one of a table of people"),
        (["details", "CANARY"], 1, "details has 1 keys"),
        (["weaknesses"], [1], "weaknesses number 1 must be text"),
        (["details", "risk"], [], "risk must be an object"),
        (["details", "risk"], {"before": {}}, "risk lacks the key 'released_columns'"),
        (["CANARY"], 1, "manifest.json has 1 keys that this version doesn't know"),
        (["details", "utility"], ..., "manifest.json: details lacks the key 'utility'"),
    ],
)
def test_whatever_is_not_exactly_a_manifest_is_refused(folder, path, value, said):
    raw = edited(folder, *path, value=value)

    with pytest.raises(VerificationError, match=said.replace("(", r"\(")) as caught:
        table_manifest(parse_manifest(raw))

    assert "CANARY" not in str(caught.value)
