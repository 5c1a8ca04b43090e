"""Manifests of events from version 0.1 are read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from halfmask.claims import events_manifest
from halfmask.claims import read_manifest as read_any
from halfmask.claims.manifest_reader import parse_manifest


@pytest.mark.parametrize("name", ["guarantees.jsonl", "cells.jsonl", "plain"])
def test_events_of_version_0_1_are_read_as_version_2(name):
    """Nothing is lost between the two, in either direction."""
    old = Path(__file__).parent / "v1"
    first = json.loads((old / f"{name}.manifest.json").read_text(encoding="utf-8"))
    found = read_any(old / name)

    again = parse_manifest(found.to_json().encode(), of_output=True)
    assert again == found
    assert events_manifest(again).stated() == found
    now = json.loads(found.to_json())
    assert (now["kind"], now["version"]) == ("events", 2)
    for field in first["fields"]:
        del field["field"]
    for key in ("counts", "fields", "failures", "risk"):
        assert now["details"][key] == first[key]
    for key in ("created", "software"):
        assert now[key] == first[key]
    told = first["claims"] or {}
    assert now["details"]["panes"] == told.get("panes", [])
    assert len(now["claims"]) == len(told.get("guarantees", told.get("aggregates", [])))
    assert [it["rows"] for it in now["files"]] == [it["lines"] for it in first["files"]]
