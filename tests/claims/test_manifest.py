"""A manifest is written whole and read strictly."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask._errors import ReleaseError, VerificationError
from halfmask.claims import BASES, Claim, DataFile, Manifest, events_manifest
from halfmask.claims import read_manifest as read_any
from halfmask.claims import read_table_manifest as read_manifest
from halfmask.claims._manifest import MANIFEST_NAME, write_manifest
from halfmask.claims._manifest_reader import parse_manifest
from halfmask.claims._released_files import check_name, entries_of, released_file
from halfmask.claims._table_manifest import Evidence
from halfmask.claims._table_reader import table_manifest

ROLES = {"age": "quasi_identifier", "zip": "quasi_identifier", "ill": "sensitive"}
HASH = "0" * 64


@pytest.fixture
def folder(make, naive, claim):
    frame = pl.DataFrame({"age": ["a"] * 4, "zip": ["z"] * 4, "ill": ["flu", "cold"] * 2})
    claims = [
        claim("k-anonymity", k=4),
        claim("t-closeness", "ill", support="support/0.csv", t=0.5, distance="ordered"),
    ]
    trees = {"ill": [["flu", "*"], ["cold", "*"]]}
    honest = [naive(frame, trees["ill"]).honest(each) for each in claims]
    return make(frame, honest, roles=ROLES, trees=trees)


def test_what_is_written_is_read_back(folder):
    risk = {"before": {"unique": 0.5}, **folder.manifest.risk}
    rich = folder.rewrite(weaknesses=("nulls-visible",), risk=risk, utility={"lost": [1, None]})

    assert read_manifest(folder.path) == rich.manifest
    assert read_manifest(folder.path).claims[1].support == "support/0.csv"
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


@settings(deadline=None)
@given(MANIFESTS)
def test_a_manifest_of_any_kind_is_read_as_it_was_written(manifest):
    assert parse_manifest(manifest.to_json().encode()) == manifest


def test_a_table_of_version_0_1_is_read_as_version_2():
    """Its claims are said to be counted; nothing else changes."""
    old = Path(__file__).parent / "v1" / "table"
    found = read_manifest(old)

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


@pytest.mark.parametrize("name", ["guarantees.jsonl", "cells.jsonl", "plain"])
def test_events_of_version_0_1_are_read_as_version_2(name):
    """Nothing is lost between the two, in either direction."""
    old = Path(__file__).parent / "v1"
    first = json.loads((old / f"{name}.manifest.json").read_text(encoding="utf-8"))
    found = read_any(old / name)

    again = parse_manifest(found.to_json().encode(), beside=True)
    assert again == found
    assert events_manifest(again).stated() == found
    now = json.loads(found.to_json())
    assert (now["kind"], now["version"]) == ("events", 2)
    for key in ("counts", "fields", "failures", "risk"):
        assert now["details"][key] == first[key]
    for key in ("created", "software"):
        assert now[key] == first[key]
    told = first["claims"] or {}
    assert now["details"]["panes"] == told.get("panes", [])
    assert len(now["claims"]) == len(told.get("guarantees", told.get("aggregates", [])))
    assert [it["rows"] for it in now["files"]] == [it["lines"] for it in first["files"]]


def test_a_manifest_must_be_where_its_kind_has_it(folder):
    """Of tables in their folder, of events beside their output: else other files are verified."""
    events = read_any(Path(__file__).parent / "v1" / "plain")
    table = dataclasses.replace(read_any(folder.path), files=())

    for raw, beside in ((events.to_json(), False), (table.to_json(), True)):
        with pytest.raises(VerificationError, match=r"isn't where|plain name"):
            parse_manifest(raw.encode(), beside=beside)


@pytest.mark.parametrize(
    ("basis", "words"),
    [("counted", "counted in"), ("accounted", "was not seen"), ("measured", "an attack")],
)
def test_a_sentence_says_its_basis_and_no_other(basis, words):
    said = Claim(model="m", parameters={}, about={}, basis=basis, evidence={}).sentence()

    assert words in said
    assert sum(each in said for each in ("counted in", "was not seen", "an attack")) == 1


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
        (["software"], {"halfmask": 1}, "software must be text"),
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
        (["claims", 0, "parameters"], {"k": None}, "parameters must be a number"),
        (["claims", 0, "parameters"], {"k": [10]}, "parameters must be a number"),
        (
            ["claims", 0, "about", "quasi_identifiers"],
            [1],
            "number 1 must be text",
        ),
        (["claims", 0, "evidence", "achieved"], "CANARY", "achieved must be a number"),
        (["claims", 0, "evidence", "achieved"], 10**400, "achieved must be a finite number"),
        (["claims", 0, "evidence", "rows"], ..., "evidence lacks the key 'rows'"),
        (["claims", 0, "evidence", "CANARY"], 1, "doesn't know"),
        (["claims", 0, "basis"], "CANARY", "basis must be one of counted, accounted, measured"),
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


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_random_bytes_are_refused(raw):
    with pytest.raises(VerificationError):
        parse_manifest(raw)


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


@pytest.mark.parametrize(
    "name",
    [
        "data/..",
        "data/.",
        "data/",
        "data",
        "data//x",
        "../data/x",
        "/data/x",
        "data/x/y",
        "data/../x",
        "data\\x",
        "data/x\\..\\y",
        "data/C:x",
        "data/x\0y",
        "data/\u2025",
        "data/..%c0%af",
        "data/.hidden",
        "data/con.parquet",
        "data/NUL",
        "data/x.",
        "data/" + "x" * 300,
        "file:///data/x",
        "data/x\n",
    ],
)
def test_names_that_lead_elsewhere_are_no_names(name):
    assert not check_name(name, "data")


def test_links_and_folders_are_no_released_files(folder, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").write_text("")
    (folder.path / "data" / "link").symlink_to(outside / "x")
    (folder.path / "linked").symlink_to(outside)
    (folder.path / "data" / "empty").mkdir()

    assert released_file(folder.path, "data/part-00000.parquet") is not None
    assert released_file(folder.path, "data/link") is None
    assert released_file(folder.path, "linked/x") is None
    assert released_file(folder.path, "data/empty") is None
    assert released_file(folder.path, "data/absent") is None
    assert entries_of(folder.path) >= {"data/link", "linked", "data/empty/"}
    assert "linked/x" not in entries_of(folder.path)
