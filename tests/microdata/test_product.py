"""Publishing: a complete release that the verifier confirmed, under its name, or nothing."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import halfmask
from halfmask._errors import ReleaseError, VerificationError
from halfmask.claims import read_manifest, table_manifest
from halfmask.microdata import _classes, _writing, protect, protect_to
from halfmask.microdata._claims import drop_infinite
from halfmask.microdata._report import render_report
from halfmask.microdata._reporting import report_facts
from halfmask.release import _publishing
from halfmask.verifier.tables import verify
from microdata.people import (  # type: ignore[import-not-found] # beside, not in a package
    GROUPS,
    KEY,
    K,
    people,
    policy,
    promise,
    with_gaps,
)

WANTED = policy(
    K,
    promise("t-closeness", "illness", t=0.6, distance="hierarchical"),
    columns={"illness": {"hierarchy": {"groups": GROUPS}}},
)


@pytest.fixture
def release():
    return protect(with_gaps(people(), ["town"]), WANTED, key=KEY)


#: Of `WANTED` as CSV, under `KEY`, as written before tables stood on the envelope.
GOLDEN = {
    "data/part-00000.csv": "7feb4b5f8b47f87e2d29c634e8a19ecea5097f2fc4016aad6e3fd92f45f708fb",
    "support/0.csv": "9437e23f5e3fc8ef39a900f6d738aec4cb72b94d1f608e54fe5e0f3801b5cc4f",
}


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_manifest_states_what_is_there(tmp_path, release):
    """Files, hashes, rows, columns, versions and the policy's hash are those on disk."""
    written = release.write(tmp_path / "out")

    folder = tmp_path / "out"
    manifest = table_manifest(read_manifest(folder))
    assert read_manifest(folder) == written.manifest
    hashes = {file.name: file.sha256 for file in manifest.files}
    hashes |= {file.name: file.sha256 for file in manifest.support}
    for name, digest in hashes.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    assert manifest.policy_sha256 == WANTED.sha256
    assert manifest.software["polars"] == pl.__version__
    names = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert names == {*hashes, "manifest.json", "report.html"}
    data = pl.read_parquet(folder / "data" / "*.parquet")
    assert {column.name: column.dtype for column in manifest.columns} == {
        name: str(dtype) for name, dtype in data.schema.items()
    }
    assert written.verification == verify(folder)


def test_an_old_policy_gives_the_same_files(tmp_path):
    """Under a fixed key a policy gives, byte for byte, what it gave before."""
    wanted = WANTED.model_copy(update={"output": policy(output={"format": "csv"}).output})
    protect(with_gaps(people(), ["town"]), wanted, key=KEY).write(tmp_path / "out")

    found = contents(tmp_path / "out")
    named = {str(path.relative_to(tmp_path / "out")): raw for path, raw in found.items()}
    assert named.keys() == {*GOLDEN, "manifest.json", "report.html"}
    assert {name: hashlib.sha256(named[name]).hexdigest() for name in GOLDEN} == GOLDEN


def test_the_page_is_made_of_a_verified_release(tmp_path, release):
    """The page's hash is the manifest's, and the page shows the manifest and what was verified."""
    written = release.write(tmp_path / "out")

    page = (tmp_path / "out" / "report.html").read_bytes()
    assert written.manifest.report_sha256 == hashlib.sha256(page).hexdigest()
    facts = report_facts(written, written.manifest, written.verification)
    assert page.decode() == render_report(facts)


def test_what_writing_returns(tmp_path, release):
    """The release that is returned knows its manifest; the one that was written doesn't change."""
    written = release.write(str(tmp_path / "out"))

    assert (release.manifest, release.verification) == (None, None)
    assert written.verification.holds
    assert written.data.equals(release.data)
    again = written.write(tmp_path / "again")
    assert [file.sha256 for file in again.manifest.files] == [
        file.sha256 for file in written.manifest.files
    ]


def test_what_exists_stays(tmp_path, release):
    """A folder, a file or a link of that name is not touched unless that is asked for."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    release.write(tmp_path / "old")
    before = contents(tmp_path)

    for name in ("folder", "file", "link", "old"):
        with pytest.raises(ReleaseError, match=r"exists|has the name"):
            release.write(tmp_path / name)

    assert before == contents(tmp_path)


def test_only_a_release_is_overwritten(tmp_path, release):
    """`overwrite` replaces a folder that holds a manifest, and nothing else."""
    release.write(tmp_path / "old")
    old = contents(tmp_path / "old")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.txt").write_text("years")
    (tmp_path / "file").write_text("mine")

    for name in ("folder", "file"):
        with pytest.raises(ReleaseError):
            release.write(tmp_path / name, overwrite=True)
    protect(people(seed=2), WANTED).write(tmp_path / "old", overwrite=True)

    assert (tmp_path / "folder" / "thesis.txt").read_text() == "years"
    assert (tmp_path / "file").read_text() == "mine"
    assert contents(tmp_path / "old") != old
    assert verify(tmp_path / "old").holds
    assert names(tmp_path) == ["file", "folder", "old", "old.owner.html"]


@pytest.mark.parametrize("out", ["absent/out", "file/out", "x" * 300])
def test_a_place_that_cant_be(tmp_path, release, out):
    """Where no folder can be made, that is a clear error, and its path isn't repeated."""
    (tmp_path / "file").write_text("mine")

    with pytest.raises(ReleaseError) as caught:
        release.write(tmp_path / out)

    assert str(tmp_path) not in str(caught.value)
    assert names(tmp_path) == ["file"]


def test_odd_names_of_a_release(tmp_path, release):
    """Spaces, other scripts and relative paths are names like others."""
    folder = tmp_path / "Übergabe 2026, \u202ex"
    folder.mkdir()
    release.write(folder / "out put")

    assert verify(folder / "out put").holds


STEPS = {
    "data": (_writing, "write_table"),
    "hash": (_writing, "file_sha256"),
    "support": (_classes, "write_supports"),
    "manifest": (_publishing, "write_manifest"),
    "report": (_classes, "render_report"),
    "text": (Path, "write_text"),
    "page": (Path, "write_bytes"),
    "sync": (os, "fsync"),
}


@pytest.mark.slow
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EACCES])
@pytest.mark.parametrize("step", STEPS)
def test_the_system_refuses(tmp_path, monkeypatch, release, step, number):
    """Whatever can't be written, the error is one of ours, nothing is left, and the old stays."""
    release.write(tmp_path / "old")
    before = contents(tmp_path)

    def refuse(*_args, **_options):
        raise OSError(number, "CANARY", str(tmp_path))

    with monkeypatch.context() as patch:
        patch.setattr(*STEPS[step], refuse)
        for name in ("out", "old"):
            with pytest.raises(ReleaseError) as caught:
                release.write(tmp_path / name, overwrite=name == "old")
            assert "CANARY" not in str(caught.value)
            assert str(tmp_path) not in str(caught.value)
            if number in (errno.ENOSPC, errno.EDQUOT):
                assert "full" in str(caught.value) or "space" in str(caught.value).lower()

    assert before == contents(tmp_path)
    assert names(tmp_path) == ["old", "old.owner.html"]


@pytest.mark.parametrize("fault", [KeyboardInterrupt, MemoryError, RuntimeError])
def test_anything_else_goes_wrong(tmp_path, monkeypatch, release, fault):
    """Being stopped or running out of memory leaves nothing, too."""

    def stop(_facts):
        raise fault

    monkeypatch.setattr(_classes, "render_report", stop)
    with pytest.raises(fault):
        release.write(tmp_path / "out")

    assert not names(tmp_path)


def test_what_isnt_verified_is_not_there(tmp_path, monkeypatch, release):
    """The verifier's word is the last, whatever the engine says."""

    def deny(folder, given):
        found = verify(folder, engine=given.engine)
        object.__setattr__(found, "problems", ("It is broken.",))
        return found

    monkeypatch.setattr(_publishing, "verify_with", deny)
    with pytest.raises(VerificationError, match="It is broken"):
        release.write(tmp_path / "out")

    assert not names(tmp_path)


def test_the_manifest_has_plain_numbers(tmp_path, release):
    """Whatever is infinite or not a number is null: the manifest is strict JSON."""
    said = drop_infinite({"a": float("nan"), "b": [float("inf"), {"c": 1.5}], "d": (True, "x")})
    assert said == {"a": None, "b": [None, {"c": 1.5}], "d": [True, "x"]}

    release.write(tmp_path / "out")

    def refuse(word):
        raise AssertionError(word)

    json.loads((tmp_path / "out" / "manifest.json").read_text(), parse_constant=refuse)


#: Writes a release in parts, again and again, and dies at the n-th thing it does to a file.
KILLED = """
import os, signal, sys
limit, folder, seen = int(sys.argv[1]), sys.argv[2], 0
WATCHED = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.rmtree"}

def watch(event, arguments):
    global seen
    if event in WATCHED and any(folder in str(each) for each in arguments[:2]):
        seen += 1
        if seen == limit:
            os.kill(os.getpid(), signal.SIGKILL)

from microdata.people import people, policy
from halfmask.microdata import protect
from halfmask.microdata import _writing
from halfmask.data.io import _source
_writing.PART_ROWS, _source._MAX_ROWS = 80, 50
release = protect(people(seed=2), policy())
sys.addaudithook(watch)
release.write(folder + "/out", overwrite=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("limit", [4, 20, 45])
def test_killed_in_the_middle(tmp_path, release, limit):
    """kill -9 while parts are written leaves the old release; the next run sweeps the rest away."""
    release.write(tmp_path / "out")
    before = contents(tmp_path / "out")
    paths = [str(Path(__file__).parents[1]), str(Path(halfmask.__file__).parents[1])]

    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(limit), str(tmp_path)],
        check=False,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        timeout=120,
    )

    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    assert before == contents(tmp_path / "out")
    assert len(names(tmp_path)) == 4, "it was killed too early"
    protect_to(people(), WANTED, tmp_path / "new")
    assert names(tmp_path) == ["new", "new.owner.html", "out", "out.owner.html"]
