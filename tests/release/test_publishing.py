"""A kind of release that is added from outside: a kind and a check, and nothing of ours changed.

The page "Add a kind of release" shows the same.
"""

from __future__ import annotations

import csv
import hashlib
import io
from contextlib import nullcontext
from dataclasses import replace

import polars as pl
import pytest

import halfmask
from halfmask._errors import MissingDependencyError, ParameterError, VerificationError
from halfmask.claims import Claim, DataFile, read_manifest, write_manifest
from halfmask.release import (
    BarsBlock,
    Release,
    ReleaseKind,
    RowFiles,
    TableBlock,
    TextBlock,
    _publishing,
)
from halfmask.release.release import StatedPolicy
from halfmask.verifier import CHECKS, ClaimCount, add_check

COUNTS = {"north": 12, "south": 7}


def write(folder, counts):
    """Write counts of people by region: the room's own code."""
    out = io.StringIO()
    csv.writer(out).writerows([("region", "people"), *counts.items()])
    raw = out.getvalue().encode()
    (folder / "data" / "counts.csv").write_bytes(raw)
    digest = hashlib.sha256(raw).hexdigest()
    return [
        DataFile(
            name="data/counts.csv",
            format="csv",
            sha256=digest,
            n_bytes=len(raw),
            n_rows=len(counts),
        )
    ]


def check(claim, files):
    """Count again, with code of its own: the last word of each line."""
    lines = files[0].read_text(encoding="utf-8").splitlines()[1:]
    smallest = min(int(line.rpartition(",")[2]) for line in lines)
    holds = smallest >= claim.parameters["n"] and smallest >= claim.evidence["smallest"]
    return ClaimCount(holds=holds, found={"smallest": smallest})


def release(counts=COUNTS, *, n=5, smallest=7, kind="toy-counts", claims=None, page=None):
    claim = Claim(
        model="minimum-count",
        parameters={"n": n},
        about={"column": "people"},
        basis="counted",
        evidence={"smallest": smallest},
    )
    made = ReleaseKind(
        name=kind,
        files=lambda _release, _job: nullcontext(RowFiles(write=lambda at: write(at, counts))),
        weaknesses=lambda _: ["one-release: a second release can be subtracted from this one."],
        blocks=lambda _: [
            TextBlock(title="About", sentences=["<Counts>"]),
            TableBlock(title="Regions", columns=["region"], rows=[["north"]]),
            BarsBlock(title="Shares", shares={"north": 12 / 19}),
        ],
        software=("polars",),
        page=page,
    )
    return Release(
        kind=made,
        policy=StatedPolicy(kind, ""),
        claims=(claim,) if claims is None else claims,
        rows={"out": len(counts)},
        facts=None,
    )


@pytest.fixture
def checked(monkeypatch):
    """The toy's check, known for one test."""
    monkeypatch.setitem(CHECKS, ("toy-counts", "minimum-count"), ("counted", check))


@pytest.mark.usefixtures("checked")
def test_a_kind_from_outside_is_released_and_verifies(tmp_path):
    manifest = release().write(tmp_path / "out").written[0]

    assert read_manifest(tmp_path / "out") == manifest
    found = halfmask.verify(tmp_path / "out")
    assert found.holds
    assert found.to_dict()["kind"] == "toy-counts"
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "counted in the files" in page
    assert "&lt;Counts&gt;" in page


def test_without_its_check_it_is_refused(tmp_path):
    with pytest.raises(VerificationError, match="takes a check of its model") as refused:
        release().write(tmp_path / "out")

    assert "counted in the files" not in str(refused.value)
    assert "Import the module" in str(refused.value)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("checked")
@pytest.mark.parametrize(
    "broken",
    [
        release({"north": 12, "south": 4}, smallest=4),  # one below what is claimed
        release(smallest=8),  # evidence that states more than is there
        release(kind="other-counts"),  # a check of another kind is none
        release(claims=()),  # nothing claimed, nothing verified
        release({"north": "many"}),  # what the check can't read
    ],
)
def test_what_its_check_does_not_bear_out_leaves_no_release(tmp_path, broken):
    with pytest.raises(VerificationError) as caught:
        broken.write(tmp_path / "out")

    assert "many" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("checked")
@pytest.mark.parametrize("name", ["data/counts.csv", "report.html", "data/another.csv"])
def test_a_folder_that_was_changed_does_not_verify(tmp_path, name):
    release().write(tmp_path / "out")
    path = tmp_path / "out" / name
    path.write_bytes((path.read_bytes() if path.exists() else b"") + b"north,9\r\n")

    assert not halfmask.verify(tmp_path / "out").holds


@pytest.mark.usefixtures("checked")
def test_no_check_can_be_replaced():
    with pytest.raises(ParameterError, match="already"):
        add_check("toy-counts", "minimum-count", check, basis="counted")


@pytest.mark.parametrize("kind", ["microdata", "events"])
def test_a_check_that_nobody_would_ask_is_refused(kind):
    """Tables and events are counted in one pass over all claims."""
    with pytest.raises(ParameterError, match="one pass"):
        add_check(kind, "minimum-count", check, basis="counted")


def test_a_basis_that_is_none_is_refused():
    with pytest.raises(ParameterError, match="basis"):
        add_check("toy-counts", "other", check, basis="proven")  # type: ignore[arg-type] # the fault


@pytest.mark.usefixtures("checked")
@pytest.mark.parametrize("basis", ["accounted", "measured"])
def test_no_evidence_is_dressed_as_another(tmp_path, basis):
    """A check that counts bears out nothing that is said to be measured or accounted."""
    claim = replace(release().claims[0], basis=basis)

    with pytest.raises(VerificationError, match="is of what is counted"):
        release(claims=(claim,)).write(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_check_that_fails_says_nothing_of_the_files(tmp_path, monkeypatch):
    """What a library says of a file may quote it."""

    def quoting(claim, files):  # noqa: ARG001 # a check's
        raise pl.exceptions.ComputeError("could not parse 'canary'")

    monkeypatch.setitem(CHECKS, ("toy-counts", "minimum-count"), ("counted", quoting))

    with pytest.raises(VerificationError, match="can't read the files") as refused:
        release().write(tmp_path / "out")
    assert "canary" not in str(refused.value)


def test_a_check_without_its_library_refutes_nothing(tmp_path, monkeypatch):
    """The base installation has no scipy: a release isn't wrong because of that."""

    def lacking(claim, files):  # noqa: ARG001 # a check's
        raise ModuleNotFoundError(name="scipy.special")

    monkeypatch.setitem(CHECKS, ("toy-counts", "minimum-count"), ("counted", lacking))

    with pytest.raises(MissingDependencyError, match="scipy"):
        release().write(tmp_path / "out")


@pytest.mark.usefixtures("checked")
def test_a_page_of_its_own_shows_what_was_verified(tmp_path):
    """It gets the manifest and what the verifier found; its hash comes into the manifest."""
    seen = []

    def page(_, manifest, verification):
        seen.append((manifest, verification))
        return f"<p>{verification.claims[0].sentence}</p>"

    manifest = release(page=page).write(tmp_path / "out").written[0]

    [(told, verification)] = seen
    assert verification.holds
    assert told == replace(manifest, report_sha256=None)
    assert manifest.software.keys() == {"halfmask", "polars"}
    raw = (tmp_path / "out" / "report.html").read_bytes()
    assert raw.decode() == f"<p>{verification.claims[0].sentence}</p>"
    assert hashlib.sha256(raw).hexdigest() == manifest.report_sha256
    assert read_manifest(tmp_path / "out") == manifest
    assert halfmask.verify(tmp_path / "out").holds


@pytest.mark.usefixtures("checked")
def test_a_page_of_its_own_is_not_made_of_what_does_not_hold(tmp_path):
    def page(_release, _manifest, _verification):
        raise AssertionError

    with pytest.raises(VerificationError):
        release(smallest=8, page=page).write(tmp_path / "out")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("checked")
@pytest.mark.parametrize(("page", "times"), [(None, 1), (lambda *_: "<p>", 2)])
def test_how_often_the_manifest_is_written(tmp_path, monkeypatch, page, times):
    """Once; a page of what was verified needs a second time, for its hash."""
    written = []

    def counted(manifest, folder):
        written.append(manifest.report_sha256)
        return write_manifest(manifest, folder)

    monkeypatch.setattr(_publishing, "write_manifest", counted)
    release(page=page).write(tmp_path / "out")

    assert len(written) == times
    assert written[-1] is not None


@pytest.mark.usefixtures("checked")
def test_it_says_how_far_it_is(tmp_path):
    stages = []

    def told(stage, share=None):
        stages.append((stage, share))

    release().write(tmp_path / "out", progress=told)

    assert stages == [("writing", 0.0), ("verifying on disk", None), ("done", 1.0)]
