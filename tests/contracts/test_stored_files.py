"""Manifests and policies that are stored here stay readable; those of 0.1 are in tests/claims/v1.

A new kind of release adds its manifest, as `write` makes it. A stored file is never changed: if it
is no longer read, users can't read theirs either.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from halfmask.claims import (
    DatabaseDetails,
    MaskedDetails,
    SyntheticDetails,
    events_manifest,
    table_manifest,
)
from halfmask.claims.crosstab_manifest import TablesDetails
from halfmask.claims.manifest_reader import parse_manifest
from halfmask.crosstabs import TablesPolicy
from halfmask.databases import DatabasePolicy
from halfmask.events import EventPolicy
from halfmask.microdata import Policy
from halfmask.verifier.checks import KINDS

STORED = Path(__file__).parent / "stored"
MANIFESTS = sorted((STORED / "manifests").glob("*.json"))
POLICIES = sorted((STORED / "policies").glob("*.toml"))
#: The hash of each policy, which manifests name.
HASHES = json.loads((STORED / "hashes.json").read_text(encoding="utf-8"))
#: What reads policies that aren't of tables.
READERS: dict[str, Callable[[Path], DatabasePolicy | EventPolicy | TablesPolicy]] = {
    "database": DatabasePolicy.load,
    "events": EventPolicy.load,
    "tables": TablesPolicy.load,
}
#: What reads the details of a kind, and writes them again.
DETAILS = {
    "microdata": lambda manifest: table_manifest(manifest).stated().details,
    "events": lambda manifest: events_manifest(manifest).stated().details,
    "masked": lambda manifest: MaskedDetails.of(manifest).to_details(),
    "synthetic": lambda manifest: SyntheticDetails.of(manifest).to_details(),
    "database": lambda manifest: DatabaseDetails.of(manifest).to_details(),
    "tables": lambda manifest: TablesDetails.of(manifest).to_details(),
}


def read(path):
    """Return the value of a stored manifest, and the manifest that is read from it."""
    raw = path.read_bytes()
    written = json.loads(raw)
    return written, parse_manifest(raw, of_output=written["kind"] == "events")


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_a_stored_manifest_is_read_and_written_as_it_was(path):
    written, manifest = read(path)

    assert json.loads(manifest.to_json()) == written
    if manifest.kind in DETAILS:
        assert DETAILS[manifest.kind](manifest) == written["details"]


def test_a_manifest_of_each_kind_is_stored():
    assert {read(path)[1].kind for path in MANIFESTS} == {*KINDS}


@pytest.mark.parametrize("path", POLICIES, ids=lambda path: path.stem)
def test_a_stored_policy_is_read_and_keeps_its_hash(path):
    policy = READERS[path.stem](path) if path.stem in READERS else Policy.load(path)

    assert policy.sha256 == HASHES[path.stem]


def test_each_stored_policy_has_a_hash():
    assert {path.stem for path in POLICIES} == {*HASHES}
