"""Releases from and into an object store, on one machine and on a Dask cluster."""

from __future__ import annotations

import json
import os
from functools import partial

import pytest

from data.s3_server import environment, s3_server  # type: ignore[import-not-found] # beside
from engines.clusters import (  # type: ignore[import-not-found] # as above
    contents,
    masked,
    parquet_folder,
    protected,
)
from engines.on_workers import (  # type: ignore[import-not-found] # as above
    killing_once,
    on_a_full_disk,
)
from halfmask import DataError, ReleaseError, VerificationError, verify
from halfmask.cli import main
from halfmask.data import open_table
from halfmask.data.io import object_folder as _object_folder
from halfmask.engines import DaskEngine, LocalEngine, map_table
from microdata.people import (  # type: ignore[import-not-found] # as above
    KEY,
    people,
    policy,
    with_gaps,
)

JOBS = {"protect": protected, "mask": masked}
OUT = "s3://bucket/releases/out"
HERE = LocalEngine(2)


@pytest.fixture(scope="module")
def server():
    with pytest.MonkeyPatch.context() as patch, s3_server() as (bucket, address):
        for name, value in environment(address).items():
            patch.setenv(name, value)
        yield bucket


@pytest.fixture
def bucket(server):
    server.objects.clear()
    server.requests.clear()
    server.refused = lambda _method, _name: False
    return server


@pytest.fixture
def folder(tmp_path, bucket):
    """A folder, and the same objects."""
    here = parquet_folder(with_gaps(people(), ["town"]), tmp_path / "people")
    for path in here.iterdir():
        bucket.put(f"bucket/people/{path.name}", path.read_bytes())
    return here


@pytest.fixture(params=JOBS)
def job(request):
    return JOBS[request.param]


@pytest.fixture(autouse=True)
def here(tmp_path_factory, monkeypatch):
    """The folder of the process, where owner's pages of releases in a store lie."""
    monkeypatch.chdir(tmp_path_factory.mktemp("here"))


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Read 240 people in 5 parts, and write files of about 60 rows."""
    monkeypatch.setattr("halfmask.data.io._source._MAX_ROWS", 50)
    monkeypatch.setattr("halfmask.microdata._writing.PART_ROWS", 60)
    monkeypatch.setattr("halfmask.microdata.masked.ASSESSED_ROWS", 60)


def fetched(bucket, target, under="bucket/releases/out/"):
    """Copy what lies there, as a receiver does."""
    for name in bucket.names(under):
        path = target / name.removeprefix(under)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bucket.objects[name][0])
    return target


def written(bucket):
    """Return the names of objects in the order in which they were written."""
    return [
        name.removeprefix("bucket/releases/out/")
        for method, name in bucket.requests
        if method == "PUT" and not name.endswith("/")
    ]


@pytest.mark.slow
def test_a_release_has_the_bytes_of_one_on_disk(bucket, folder, tmp_path, job):
    ours = job(folder, tmp_path / "local", HERE)
    theirs = job("s3://bucket/people", OUT, HERE)

    assert contents(fetched(bucket, tmp_path / "there")) == contents(tmp_path / "local")
    assert theirs.manifest.files == ours.manifest.files
    assert verify(tmp_path / "there").holds
    names = written(bucket)
    assert names[0].startswith(".writing-")
    assert names[-1] == "manifest.json"
    named = {"manifest.json", "report.html", *(file.name for file in ours.manifest.files)}
    named |= {f"support/{path.name}" for path in tmp_path.glob("local/support/*")}
    assert {n.removeprefix("bucket/releases/out/") for n in bucket.names("bucket/rel")} == named


class Elsewhere:
    """Runs functions here, and is no engine of this process."""

    def __init__(self):
        self._here = LocalEngine(1)

    def __getattr__(self, name):
        return getattr(self._here, name)


def test_a_worker_without_credentials_is_told_of_credentials(bucket, folder):
    """And one without the folder of a table on disk of the folder."""
    sources = [open_table("s3://bucket/people"), open_table(folder)]
    bucket.refused = lambda method, name: method == "GET" and name.endswith(".parquet")
    for each in folder.iterdir():
        each.unlink()
    for source, hint in zip(sources, ("credentials", "folder"), strict=True):
        with pytest.raises(DataError, match=r"A worker can't read its part") as caught:
            list(map_table(Elsewhere(), source, ["age"], lambda _, rows: len(rows)))
        said = caught.value.hint or ""
        assert hint in said
        assert ("folder" in said) == (hint == "folder")


@pytest.mark.slow
def test_the_command_line(bucket, folder, tmp_path, capsys):
    (tmp_path / "key").write_bytes(KEY)
    (tmp_path / "key").chmod(0o600)
    (tmp_path / "policy.toml").write_text(policy().to_toml())
    words = ["s3://bucket/people", str(tmp_path / "policy.toml"), OUT]
    more = ["--key-file", str(tmp_path / "key"), "--json"]

    assert main(["protect", *words, *more]) == 0
    assert json.loads(capsys.readouterr().out)["ok"]
    assert main(["verify", OUT, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["holds"]
    for again in ([], ["--overwrite"]):
        assert main(["protect", *words, *more, *again]) != 0
    assert main(["protect", words[0], "--quasi-identifiers", "age", "-k", "3", "--out", OUT]) != 0
    there = f"{OUT}-nightly"
    assert main(["protect", *words[:2], there, *more, "--overwrite"]) == 0
    name = bucket.objects["bucket/releases/out-nightly/latest.txt"][0].decode().strip()
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["release"] == f"{there}/{name}"
    assert main(["verify", there, "--json"]) == 0
    del bucket.objects["bucket/releases/out/data/part-00001.parquet"]
    assert main(["verify", OUT, "--json"]) == 1
    assert folder.is_dir()


@pytest.mark.parametrize("there", ["manifest.json", "data/part-00000.parquet", ".writing-0"])
def test_a_place_that_is_not_empty(bucket, folder, there):
    bucket.put(f"bucket/releases/out/{there}", b"x")
    before = bucket.names()

    with pytest.raises(ReleaseError, match="isn't empty"):
        protected(folder, OUT, HERE)
    assert bucket.names() == before


@pytest.mark.slow
def test_two_writers_at_once(bucket, folder, monkeypatch):
    """The second finds the marker of the first; neither mixes with the other."""
    real = _object_folder._send

    def send(*given, **named):
        with pytest.raises(ReleaseError, match="isn't empty"):
            masked(folder, OUT, HERE)
        real(*given, **named)

    monkeypatch.setattr(_object_folder, "_send", send)
    protected(folder, OUT, HERE)
    assert "bucket/releases/out/manifest.json" in bucket.names()


@pytest.mark.slow
def test_writers_that_look_at_an_empty_place_at_once(bucket, folder, monkeypatch):
    """Both looked at an empty place: a writer that lists two markers removes its own, and ends."""
    real = _object_folder.check_object_folder

    def look(*given, **named):
        found = real(*given, **named)
        bucket.put("bucket/releases/out/.writing-other", b"")
        return found

    monkeypatch.setattr(_object_folder, "check_object_folder", look)
    with pytest.raises(ReleaseError, match="another process writes there"):
        masked(folder, OUT, HERE)
    assert bucket.names("bucket/releases") == ["bucket/releases/out/.writing-other"]


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    "refused",
    ["out/data/part-00002.parquet", "out/report.html", "out/manifest.json"],
)
def test_a_store_that_refuses_has_nothing_left(bucket, folder, job, refused):
    bucket.refused = lambda method, name: method == "PUT" and name.endswith(refused)

    with pytest.raises(ReleaseError, match="can't be written to the object store") as caught:
        job(folder, OUT, HERE)
    assert "bucket/" not in str(caught.value)
    assert not bucket.names("bucket/releases")


def test_other_bytes_in_the_store(bucket, folder, monkeypatch):
    real = bucket.put

    def put(name, data):
        real(name, data[:-1] + b"?" if name.endswith("1.parquet") else data)

    monkeypatch.setattr(bucket, "put", put)
    with pytest.raises(ReleaseError, match="other bytes"):
        protected(folder, OUT, HERE)
    assert not bucket.names("bucket/releases")


def test_a_writer_that_is_killed_leaves_no_release(bucket, folder, tmp_path, monkeypatch):
    """Without its last object a folder is none; the next writer refuses."""

    class KilledError(BaseException):
        """Stands for the end of the process."""

    def die(*_given):
        raise KilledError

    monkeypatch.setattr("halfmask.data.io.object_store.ObjectFolder.remove", die)
    monkeypatch.setattr("halfmask.data.io.object_store.ObjectFolder.clear", die)
    with pytest.raises(KilledError):
        protected(folder, OUT, HERE)
    monkeypatch.undo()

    assert "bucket/releases/out/data/part-00000.parquet" in bucket.names()
    with pytest.raises(VerificationError):
        verify(fetched(bucket, tmp_path / "there"))


LATEST = "bucket/releases/out/latest.txt"


def pointed(bucket):
    """Return the folder that the pointer names, which has a complete release."""
    name = bucket.objects[LATEST][0].decode().strip()
    assert f"bucket/releases/out/{name}/manifest.json" in bucket.names()
    return name


def test_a_release_is_replaced_by_a_new_folder_and_a_pointer(bucket, folder, tmp_path, monkeypatch):
    """Who follows the pointer at any moment finds a complete release."""
    masked(folder, OUT, HERE, overwrite=True)
    first, seen = pointed(bucket), set()
    real = bucket.put

    def put(name, data):
        seen.add(pointed(bucket))
        real(name, data)

    monkeypatch.setattr(bucket, "put", put)
    masked(folder, OUT, HERE, overwrite=True)

    assert seen == {first}
    assert written(bucket)[-1] == "latest.txt"
    second = pointed(bucket)
    assert second != first
    fetched(bucket, tmp_path / "old", f"bucket/releases/out/{first}/")
    assert verify(tmp_path / "old").holds
    with _object_folder.fetched_folder(OUT, called="The release") as here:
        assert verify(here).holds
        there = bucket.objects[f"bucket/releases/out/{second}/manifest.json"][0]
        assert (here / "manifest.json").read_bytes() == there
    with pytest.raises(ReleaseError, match="isn't empty"):
        masked(folder, OUT, HERE)


@pytest.mark.mostly_slow
@pytest.mark.parametrize("refused", ["report.html", "latest.txt"])
def test_a_store_that_refuses_has_the_last_release(bucket, folder, refused):
    masked(folder, OUT, HERE, overwrite=True)
    before = pointed(bucket)
    bucket.refused = lambda method, name: method == "PUT" and name.endswith(refused)

    with pytest.raises(ReleaseError, match="can't be written to the object store"):
        masked(folder, OUT, HERE, overwrite=True)
    assert pointed(bucket) == before

    bucket.refused = lambda _method, _name: False
    masked(folder, OUT, HERE, overwrite=True)
    assert pointed(bucket) != before


@pytest.mark.parametrize("there", ["manifest.json", "mine/file", ".writing-0"])
def test_what_no_run_with_overwriting_made_is_not_replaced(bucket, folder, there):
    bucket.put(f"bucket/releases/out/{there}", b"x")

    with pytest.raises(ReleaseError, match="no run with overwriting made"):
        masked(folder, OUT, HERE, overwrite=True)


@pytest.mark.parametrize(
    "text",
    [b"", b"../other", b"20261129T021500Z-0123456z", b"20261129T021500Z-01234567/../x", b"\xff"],
)
def test_a_pointer_that_names_no_release(bucket, text):
    bucket.put(LATEST, text)

    with (
        pytest.raises(DataError, match="names no release of its folder"),
        _object_folder.fetched_folder(OUT, called="The release"),
    ):
        pass


@pytest.mark.parametrize("start", ["{}", "data/../../x", "data//x"], ids=str)
def test_an_object_whose_name_leads_elsewhere_is_not_fetched(bucket, tmp_path, start):
    """A name that starts with a slash is a path of the receiver's machine."""
    mine = tmp_path / "mine"
    mine.write_text("kept")
    name = start.replace("{}", str(mine))
    bucket.put("bucket/releases/out/manifest.json", b"{}")
    bucket.put(f"bucket/releases/out/{name}", b"x")
    with (
        pytest.raises(DataError, match="leads out of its folder"),
        _object_folder.fetched_folder(OUT, called="The release"),
    ):
        pass
    assert mine.read_text() == "kept"


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    ("out", "says"),
    [
        ("s3://me:secret@bucket/out", "user name, a password"),
        ("s3://bucket", "whole bucket"),
        ("s3://bucket/out?x=1", "can't be read"),
    ],
)
def test_addresses_that_cannot_be_written(bucket, folder, job, out, says):
    with pytest.raises((ReleaseError, Exception), match=says) as caught:
        job(folder, out, HERE)
    assert "secret" not in str(caught.value)
    assert not [name for name in bucket.names() if "people" not in name]


@pytest.fixture(scope="module")
def client(server, tmp_path_factory):
    """Two worker processes, which have the environment of this one."""
    from distributed import Client, LocalCluster  # noqa: PLC0415 # an extra

    assert server
    assert os.environ["AWS_ENDPOINT_URL"]
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            local_directory=tmp_path_factory.mktemp("workers"),
        ) as cluster,
        Client(cluster) as found,
    ):
        yield found


@pytest.mark.slow
def test_workers_read_and_write_objects(client, bucket, folder, tmp_path, job):
    """No folder is shared; the bytes are those of one machine, and nothing lies between them."""
    ours = job(folder, tmp_path / "local", HERE)
    bucket.requests.clear()
    theirs = job("s3://bucket/people", OUT, DaskEngine(client))

    assert contents(fetched(bucket, tmp_path / "there")) == contents(tmp_path / "local")
    assert theirs.manifest.files == ours.manifest.files
    assert verify(tmp_path / "there").holds
    names = written(bucket)
    assert sum(name.startswith(".order/") for name in names) == 5
    assert names[-1] == "manifest.json"
    assert not bucket.names("bucket/releases/out/.")


class Killing(DaskEngine):
    """Kills one worker while it puts rows aside or writes a file."""

    def map(self, batches, apply, /):
        return DaskEngine.map(self, batches, partial(killing_once, str(self.marker), apply))

    @classmethod
    def with_marker(cls, client, marker):
        engine = cls(client)
        object.__setattr__(engine, "marker", marker)
        return engine

    marker: object


@pytest.mark.slow
def test_a_worker_that_is_killed_changes_nothing(client, bucket, folder, tmp_path):
    protected(folder, tmp_path / "local", HERE)
    engine = Killing.with_marker(client, tmp_path / "killed")
    protected("s3://bucket/people", OUT, engine)

    assert (tmp_path / "killed").exists()
    assert contents(fetched(bucket, tmp_path / "there")) == contents(tmp_path / "local")
    assert verify(tmp_path / "there").holds


class Full(DaskEngine):
    """Lets no file of a worker grow."""

    def map(self, batches, apply, /):
        return DaskEngine.map(self, batches, partial(on_a_full_disk, apply))


@pytest.mark.slow
@pytest.mark.parametrize("refused", [".order/3.rows", "data/part-00001.parquet", "report.html"])
def test_a_store_that_refuses_a_worker(client, bucket, folder, refused):
    bucket.refused = lambda method, name: method != "GET" and name.endswith(refused)

    with pytest.raises(ReleaseError, match="can't be written to the object store"):
        protected(folder, OUT, DaskEngine(client))
    assert not bucket.names("bucket/releases")


@pytest.mark.slow
def test_a_disk_of_a_worker_that_fills_up(client, bucket, folder):
    with pytest.raises((ReleaseError, DataError), match="disk is full"):
        protected(folder, OUT, Full(client))
    assert not bucket.names("bucket/releases")
