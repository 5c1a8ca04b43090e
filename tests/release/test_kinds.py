"""A kind of release from outside: protect finds it by its policy, and it is verified like ours."""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from dataclasses import dataclass, replace

import polars as pl
import pytest

import halfmask as hm
from halfmask import ParameterError, ReleaseError, VerificationError
from halfmask.claims import Claim, DataFile
from halfmask.release import (
    Release,
    ReleaseKind,
    RowFiles,
    _kinds,
    add_kind,
    kind_named,
)
from halfmask.verifier import ClaimCount, add_check

NAME = "tested-counts"
TABLE = pl.DataFrame({"region": ["CANARY-NORTH"] * 12 + ["south"] * 7 + ["west"]})


@dataclass(frozen=True)
class Wanted:
    n: int = 5
    kind: str = NAME
    sha256: str = "0" * 64


@dataclass(frozen=True)
class Counts:
    counts: pl.DataFrame

    def frame(self, _number=0):
        return self.counts


def make(table, policy, inputs):
    inputs.progress("counting")
    counts = table.group_by("region", maintain_order=True).len("people")
    counts = counts.filter(pl.col("people") >= policy.n)
    claim = Claim(
        model="minimum",
        parameters={"n": policy.n},
        about={},
        basis="counted",
        evidence={"smallest": int(counts["people"].to_numpy().min())},
    )
    return Release(
        kind=kind_named(NAME),
        policy=policy,
        claims=(claim,),
        rows={"in": table.height, "out": counts.height},
        facts=None,
        source=Counts(counts),
        original=table,
    )


@contextmanager
def files(release, job):
    def write(folder):
        path = folder / "data" / "counts.csv"
        release.data.write_csv(path)
        raw = path.read_bytes()
        digest = hashlib.sha256(raw).hexdigest()
        return [
            DataFile(
                name="data/counts.csv",
                format="csv",
                sha256=digest,
                n_bytes=len(raw),
                n_rows=release.rows["out"],
            )
        ]

    job.progress("files")
    yield RowFiles(write=write)


def count(claim, files):
    smallest = min(int(it.rpartition(",")[2]) for it in files[0].read_text().splitlines()[1:])
    return ClaimCount(holds=smallest >= claim.parameters["n"], found={"smallest": smallest})


add_check(NAME, "minimum", count, basis="counted")


@pytest.fixture(autouse=True)
def kind(monkeypatch):
    monkeypatch.setattr(_kinds, "KINDS", dict(_kinds.KINDS))
    made = ReleaseKind(
        name=NAME,
        make=make,
        files=files,
        weaknesses=lambda _: ["one-release: it can be subtracted from another."],
        refuses={"key": "Counts have no order.", "persons": "They name nobody."},
        about="counts",
    )
    add_kind(made)
    return made


def test_protect_makes_it_and_the_verifier_confirms_it(tmp_path):
    release = hm.protect(TABLE, Wanted())

    assert release.data["people"].to_list() == [12, 7]
    assert repr(release) == "Release(2 rows, minimum)"
    assert "CANARY" not in repr(release) + release._repr_html_()
    assert "Not written yet" in release._repr_html_()
    written = release.write(tmp_path / "out")
    assert "verified on disk" in written._repr_html_()
    assert hm.verify(tmp_path / "out").holds
    manifest, found = written.written
    assert manifest.kind == NAME
    assert found.holds
    assert release.manifest is None


def test_protect_to_is_the_same(tmp_path):
    told = []
    hm.protect_to(TABLE, Wanted(), tmp_path / "out", progress=lambda *it: told.append(it[0]))

    assert hm.verify(tmp_path / "out").holds
    assert told[:2] == ["counting", "files"]


@pytest.mark.parametrize("wanted", [Wanted(n=8), Wanted(n=7)])
def test_a_false_claim_leaves_nothing(tmp_path, wanted):
    release = hm.protect(TABLE, wanted)
    bold = replace(release.claims[0], parameters={"n": 13})

    with pytest.raises(VerificationError):
        replace(release, claims=(bold,)).write(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_it_has_no_use_for_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="'key' parameter of protect doesn't go with counts"):
        hm.protect(TABLE, Wanted(), key=bytes(32))
    with pytest.raises(ParameterError, match="'persons' parameter of write"):
        hm.protect(TABLE, Wanted()).write(tmp_path / "out", persons=tmp_path / "x")
    with pytest.raises(TypeError, match="keey"):
        hm.protect(TABLE, Wanted(), keey=bytes(32))  # type: ignore[call-arg] # tested
    with pytest.raises(ParameterError, match="not both"):
        hm.protect(TABLE, Wanted(), quasi_identifiers=["region"], k=2)
    with pytest.raises(ParameterError, match="no kind of release 'unknown'"):
        hm.protect(TABLE, Wanted(kind="unknown"))
    with pytest.raises(ParameterError, match="No policy asks for a release of the kind 'privacy-"):
        hm.protect(TABLE, Wanted(kind="privacy-ledger"))
    with pytest.raises(ParameterError, match="Got a str"):
        hm.protect(TABLE, "policy.toml")  # type: ignore[arg-type] # tested


def test_a_wrong_kind_is_refused(kind, monkeypatch, tmp_path):
    with pytest.raises(ParameterError, match="'refuses' parameter of ReleaseKind must be one of"):
        replace(kind, refuses={"keey": "Counts have no order."})
    monkeypatch.setitem(_kinds.KINDS, NAME, replace(kind, weaknesses=lambda _: "one-release"))
    with pytest.raises(ParameterError, match=f"'weaknesses' parameter of {NAME} must be a list"):
        hm.protect(TABLE, Wanted()).write(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_what_it_does_not_have_is_an_error():
    release = hm.protect(TABLE, Wanted())
    for name in ("risk", "utility", "assessment"):
        with pytest.raises(ReleaseError, match=f"no '{name}'"):
            getattr(release, name)
    with pytest.raises(ReleaseError, match="isn't written"):
        _ = release.written
    with pytest.raises(ParameterError, match="no copy number 1"):
        release.copy(1)
    for wrong in ("0", 0.5, -1, None):
        with pytest.raises(ParameterError, match="'number' parameter of copy"):
            release.copy(wrong)  # type: ignore[arg-type] # tested


def test_a_kind_is_added_once(kind):
    with pytest.raises(ParameterError, match=NAME):
        add_kind(kind)
    with pytest.raises(ParameterError, match="'masked'"):
        add_kind(replace(kind, name="masked"))


@pytest.mark.parametrize("name", [*_kinds.KINDS])
def test_ours_are_kinds_of_the_same_class(name):
    assert type(kind_named(name)) is ReleaseKind
    assert kind_named(name).name == name
