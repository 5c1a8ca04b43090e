"""The page Verify: a release that somebody sent is unpacked safely, verified, and removed."""

from __future__ import annotations

import hashlib
import io
import json
import stat
import warnings
import zipfile
from pathlib import Path

import polars as pl
import pytest

from halfmask import DataError, VerificationError, protect
from halfmask.verifier import verify
from halfmask.workbench import _received
from workbench.conftest import Bench  # type: ignore[import-not-found] # not in a package

pytestmark = pytest.mark.slow

OLD = Path(__file__).parents[1] / "claims" / "v1"
EVENTS = ("guarantees.jsonl", "guarantees.jsonl.manifest.json")
CANARY = "<img src=x onerror=alert(1)>{{7*7}}"


def silent(stage, share=None):
    """Take a report of progress and say nothing."""


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """The files of a release whose sensitive column has a hostile name, by their names."""
    people = pl.DataFrame({"age": [20, 21, 22, 50, 51, 52], CANARY: ["flu", "cold", "flu"] * 2})
    out = tmp_path_factory.mktemp("made") / "out"
    protect(people, quasi_identifiers=["age"], sensitive=[CANARY], k=3, l=2).write(out)
    return files_of(out)


@pytest.fixture(scope="module")
def of_persons(tmp_path_factory):
    """The files of a release whose k-anonymity is one of persons."""
    people = pl.DataFrame({"who": [1, 1, 2, 3, 4, 5, 6], "age": [20, 20, 21, 22, 50, 51, 52]})
    out = tmp_path_factory.mktemp("made") / "out"
    protect(people, quasi_identifiers=["age"], k=3, person="who").write(out)
    return files_of(out)


def files_of(folder):
    return {
        it.relative_to(folder).as_posix(): it.read_bytes()
        for it in folder.rglob("*")
        if it.is_file()
    }


def zipped(files, below=""):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of names that are there twice
        for name, raw in files.items() if isinstance(files, dict) else files:
            archive.writestr(name if isinstance(name, zipfile.ZipInfo) else below + name, raw)
    return made.getvalue()


def received(folder, *files):
    """Verify files as the job does, in this process: names and bytes."""
    staged, job = folder / "staged", folder / "job"
    staged.mkdir()
    job.mkdir()
    for number, (_, raw) in enumerate(files):
        (staged / str(number)).write_bytes(raw)
    try:
        names = [name for name, _ in files]
        return _received.verify_received(silent, job, names=names, staged=str(staged))
    finally:
        assert not staged.exists()
        assert list(job.iterdir()) == []


@pytest.mark.parametrize("below", ["", "out/"])
def test_a_zip_is_verified_with_or_without_a_folder_in_it(tmp_path, release, below):
    found = received(tmp_path, ("r.zip", zipped(release, below)))
    assert found["style"] == "holds"
    assert [each["model"] for each in found["claims"]] == ["k-anonymity", "distinct-l-diversity"]


def test_single_files_are_put_to_their_places(tmp_path, release):
    files = [(name.rpartition("/")[2], raw) for name, raw in release.items()]
    assert received(tmp_path, *files)["style"] == "holds"


def test_what_a_system_adds_to_a_zip_is_left_out(tmp_path, release):
    added = {**release, "__MACOSX/._manifest.json": b"x", "data/.DS_Store": b"x"}
    assert received(tmp_path, ("r.zip", zipped(added)))["style"] == "holds"


def test_a_file_more_breaks_a_release(tmp_path, release):
    found = received(tmp_path, ("r.zip", zipped({**release, "data/more.csv": b"x"})))
    assert found["style"] == "broken"


def test_a_file_that_was_changed_breaks_a_release(tmp_path, release):
    changed = {name: raw[:-1] if name.startswith("data/") else raw for name, raw in release.items()}
    found = received(tmp_path, ("r.zip", zipped(changed)))
    assert found["style"] == "broken"
    assert "Don't hand it over." in found["verdict"]


def linked():
    entry = zipfile.ZipInfo("data/part-00000.parquet")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return entry


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"../x": b""}, "leads elsewhere"),
        ({"a/../../x": b""}, "leads elsewhere"),
        ({"/x": b""}, "leads elsewhere"),
        ({"..\\x": b""}, "leads elsewhere"),
        ({"C:x": b""}, "leads elsewhere"),
        ({"a\u202eb": b""}, "leads elsewhere"),
        ({"x" * 300: b""}, "leads elsewhere"),
        ({"a/" * 20 + "x": b""}, "leads elsewhere"),
        ([(linked(), b"/etc/passwd")], "a link or a device"),
        ([("a", b""), ("a", b"")], "the same name"),
        ([("a", b""), ("a/b", b"")], "the same name"),
        ({str(number): b"" for number in range(1_001)}, "1,001 entries"),
    ],
)
def test_a_hostile_zip_is_refused(tmp_path, release, files, said):
    good = [] if isinstance(files, dict) and len(files) > 1_000 else [*release.items()]
    more = files.items() if isinstance(files, dict) else files
    with pytest.raises(DataError, match=said):
        received(tmp_path, ("r.zip", zipped([*good, *more])))
    assert [it.name for it in tmp_path.iterdir()] == ["job"]


def test_single_files_cannot_lead_elsewhere(tmp_path, release):
    files = [("manifest.json", release["manifest.json"]), ("..", b"x")]
    with pytest.raises(DataError, match="leads elsewhere"):
        received(tmp_path, *files)


def test_what_a_zip_unpacks_to_is_bounded(tmp_path, release, monkeypatch):
    monkeypatch.setattr(_received, "MOST_BYTES", 1 << 16)
    packed = io.BytesIO(zipped(release))
    with zipfile.ZipFile(packed, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data/bomb", bytes(1 << 17))
    with pytest.raises(DataError, match="more than"):
        received(tmp_path, ("r.zip", packed.getvalue()))


def test_a_damaged_or_locked_zip_is_refused(tmp_path, release):
    raw = bytearray(zipped(release))
    at = raw.index(release["report.html"][:100])
    raw[at] ^= 0xFF
    with pytest.raises(DataError, match="can't be read"):
        received(tmp_path, ("r.zip", bytes(raw)))
    raw = bytearray(zipped(release))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = raw.index(mark)
        raw[at + offset] |= 1
    (tmp_path / "job").rmdir()
    with pytest.raises(DataError, match="locked by a password"):
        received(tmp_path, ("r.zip", bytes(raw)))


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_that_is_packed_otherwise_and_damaged_is_refused(tmp_path, release, packing):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", packing) as archive:
        archive.writestr("manifest.json", release["manifest.json"] * 9)
    raw = bytearray(made.getvalue())
    raw[60:80] = bytes(20)
    with pytest.raises(DataError, match="can't be read"):
        received(tmp_path, ("r.zip", bytes(raw)))


def test_what_is_no_release_says_what_to_choose(tmp_path):
    with pytest.raises(VerificationError) as caught:
        received(tmp_path, ("letter.pdf", b"%PDF-1.4"))
    assert "zip that you received" in str(caught.value.hint)


def test_a_receiver_compares_the_hash_of_the_owner(bench, tmp_path, release):
    found = received(tmp_path / ".halfmask", ("r.zip", zipped(release)))
    digest = hashlib.sha256(release["manifest.json"]).hexdigest()
    assert digest in shown(bench, found)
    assert "The hashes match" in bench.get(f"/verify?hash={digest.upper()}")
    assert "The hashes differ" in bench.get(f"/verify?hash={digest[::-1]}")


def test_a_receiver_reads_the_limits_that_the_manifest_states(tmp_path, release):
    found = received(tmp_path, ("r.zip", zipped(release)))
    stated = json.loads(release["manifest.json"])["weaknesses"]
    assert stated
    assert len(found["weaknesses"]) >= len(stated)
    for it in stated:
        code, _, said = it.partition(": ")
        assert any(line.lower() == said.lower() for line in found["weaknesses"]), code


def test_only_the_owner_of_the_process_can_read_what_was_unpacked(tmp_path, release, monkeypatch):
    seen = {}

    def look(_, where):
        seen.update({it: stat.S_IMODE(it.stat().st_mode) for it in (where, *where.rglob("*"))})
        return {}

    monkeypatch.setattr(_received, "verdict_on", look)
    received(tmp_path, ("r.zip", zipped(release)))
    assert len(seen) == len(release) + 2
    assert {*seen.values()} == {0o700, 0o600}


def shown(bench, found):
    """Show a verdict on the page, as of a job that is done."""
    job = bench.desk.jobs.folder / "0123456789abcdef"
    job.mkdir(mode=0o700, parents=True)
    asked = {"kind": "verify", "arguments": {"names": ["r.zip"]}, "started": 0.0}
    (job / "job.json").write_text(json.dumps(asked), encoding="utf-8")
    end = {"state": "done", "result": found, "at": 1.0}
    (job / "end.json").write_text(json.dumps(end), encoding="utf-8")
    return bench.get("/verify")


def test_a_claim_that_was_not_checked_is_not_shown_as_counted(bench, tmp_path, of_persons):
    found = received(tmp_path / ".halfmask", ("r.zip", zipped(of_persons)))
    assert found["style"] == "unchecked"
    words = shown(bench, found)
    assert "Not every claim could be checked." in words
    row = words.partition("Evidence")[2].partition("data files")[0]
    assert row.startswith(" not checked k-anonymity")
    assert "none yet; the manifest says counted" in row
    assert "persons" in row


def test_an_output_of_events_is_verified(bench, tmp_path):
    files = [(name, (OLD / name).read_bytes()) for name in EVENTS]
    words = shown(bench, received(tmp_path / ".halfmask", *files))
    assert "Nothing in the 300 lines speaks against the manifest. It isn't signed." in words
    assert "Counted in sessions; for entities only the manifest states it" in words


def test_no_name_becomes_markup(bench, tmp_path, release):
    words = shown(bench, received(tmp_path / ".halfmask", ("r.zip", zipped(release))))
    assert CANARY in words
    assert "<img" not in bench.html


def test_a_receiver_reads_the_verdict_without_table_or_policy(bench, release):
    assert "Drop its zip here" in bench.get("/verify")
    bench.post("/verify/drop", files=[("release", ("r.zip", zipped(release)))])
    assert bench.path == "/verify"
    assert bench.finish("verify").state == "done"
    assert "Everything that the release claims holds." in bench.get("/verify")
    changed = [(name.rpartition("/")[2], raw) for name, raw in release.items()]
    changed = [(name, raw[:-1] if "part" in name else raw) for name, raw in changed]
    bench.post("/verify/drop", files=[("release", each) for each in changed])
    assert bench.finish("verify").state == "done"
    words = bench.get("/verify")
    assert "The release doesn't bear out what it claims." in words
    assert "What is wrong" in words
    bench.post("/verify/drop", files=[("release", ("r.zip", zipped({"../../x": b""})))])
    assert bench.finish("verify").state == "failed"
    assert "leads elsewhere" in bench.get("/verify")
    left = {it.name for it in bench.project.hidden.iterdir()}
    assert not any(name.startswith(("received", "upload")) for name in left)


def test_only_releases_in_the_folder_are_chosen(bench, tmp_path, release):
    outside = tmp_path.parent / "outside"
    (outside / "data").mkdir(parents=True, exist_ok=True)
    for name, raw in release.items():
        (outside / name).write_bytes(raw)
    assert verify(outside).holds
    (tmp_path / "link").symlink_to(outside)
    for name in ("../outside", str(outside), "link", "", "a\0b", "x" * 300):
        words = bench.post("/verify/choose", name=name)
        assert "can't be the name" in words or "no release of this name" in words, name
    assert bench.desk.jobs.all() == []
    assert "No file was chosen." in bench.post("/verify/drop")


def test_too_many_files_are_refused_in_words(bench):
    files = [("release", (f"{number}.csv", b"x")) for number in range(101)]
    assert "too many files" in bench.post("/verify/drop", files=files, status=400)
    assert not any(it.name.startswith("upload") for it in bench.project.hidden.iterdir())


def test_names_of_the_folder_are_offered(tmp_path, release):
    (tmp_path / "march" / "data").mkdir(parents=True)
    for name, raw in release.items():
        (tmp_path / "march" / name).write_bytes(raw)
    bench = Bench(tmp_path)
    bench.get("/verify")
    assert "<option>march</option>" in bench.html
