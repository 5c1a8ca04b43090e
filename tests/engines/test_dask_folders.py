"""Folders of Parquet on a Dask cluster: the same releases, and what goes wrong."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from typing import Any

import pytest

from engines.clusters import (  # type: ignore[import-not-found] # beside, not in a package
    KeepingFew,
    contents,
    encoded,
    files_in,
    hashed,
    many_people,
    masked,
    parquet_folder,
    protected,
)
from engines.on_workers import (  # type: ignore[import-not-found] # as above
    hiding,
    killing_once,
    killing_other,
    losing,
    moving,
    on_a_full_disk,
    removing,
)
from halfmask import (
    DataError,
    EngineError,
    ParameterError,
    Policy,
    ReleaseError,
    Secret,
    synthesize,
    verify,
)
from halfmask.assess.risk import counted_risk
from halfmask.cli import main
from halfmask.data import open_table
from halfmask.encode import Codec, encode_folder
from halfmask.engines import DaskEngine, LocalEngine, connect
from microdata.people import (  # type: ignore[import-not-found] # as above
    KEY,
    people,
    policy,
    with_gaps,
)
from microdata.test_synthesize import COLUMNS as SYNTHESIS  # type: ignore[import-not-found] # as above
from microdata.test_synthesize import people as to_learn

pytestmark = pytest.mark.slow
JOBS = {"protect": protected, "mask": masked}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Two worker processes with a thread each, and a dashboard at any free port."""
    from distributed import LocalCluster  # noqa: PLC0415 # an extra

    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address=":0",
        local_directory=tmp_path_factory.mktemp("workers"),
    ) as found:
        yield found


@pytest.fixture
def address(cluster):
    return cluster.scheduler_address.replace("tcp", "dask")


@pytest.fixture
def folder(tmp_path):
    return parquet_folder(with_gaps(people(), ["town"]), tmp_path / "people")


@pytest.fixture
def small(monkeypatch):
    """Read 240 people in 5 parts, and write files of about 60 rows."""
    monkeypatch.setattr("halfmask.data.io._source._MAX_ROWS", 50)
    monkeypatch.setattr("halfmask.microdata._writing.PART_ROWS", 60)
    monkeypatch.setattr("halfmask.encode._files._MAX_ROWS", 50)


class Interrupted(DaskEngine):
    """Does something else in the first task of one kind."""

    wrap: partial[object]
    kind: str

    @classmethod
    def at(cls, client, kind, wrap):
        engine = cls(client)
        object.__setattr__(engine, "kind", kind)
        object.__setattr__(engine, "wrap", wrap)
        return engine

    def map(self, batches, apply, /):
        wrapped = partial(self.wrap, apply) if self.kind == "map" else apply
        return DaskEngine.map(self, batches, wrapped)

    def fold(self, batches, summarize, merge, /):
        wrapped = partial(self.wrap, summarize) if self.kind == "fold" else summarize
        return DaskEngine.fold(self, batches, wrapped, merge)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("job", JOBS)
def test_a_release_has_the_bytes_of_a_local_one(address, folder, tmp_path, job):
    ours = JOBS[job](folder, tmp_path / "local", LocalEngine())
    with connect(address) as engine:
        theirs = JOBS[job](folder, tmp_path / "dask", engine)
        if job == "protect":
            verified = verify(tmp_path / "local", engine=engine)
            assert verified.to_dict() == verify(tmp_path / "local").to_dict()

    assert contents(tmp_path / "dask") == contents(tmp_path / "local")
    assert theirs.claims == ours.claims
    assert theirs.manifest.files == ours.manifest.files
    measured = ("risk", "utility") if job == "protect" else ("assessment",)
    for name in measured:
        assert getattr(theirs, name).to_dict() == getattr(ours, name).to_dict()


@pytest.mark.parametrize("job", JOBS)
def test_many_parts_for_each_worker_are_a_release_with_the_bytes_of_a_local_one(
    address, tmp_path, monkeypatch, job
):
    """24,000 people in 12 parts, and 12 files: k, l and t, or masks."""
    monkeypatch.setattr("halfmask.data.io._source._MAX_ROWS", 2000)
    monkeypatch.setattr("halfmask.microdata._writing.PART_ROWS", 2000)
    monkeypatch.setattr("halfmask.microdata.masked.ASSESSED_ROWS", 300)
    folder = parquet_folder(many_people(), tmp_path / "people")
    ours = JOBS[job](folder, tmp_path / "local", LocalEngine())
    with connect(address) as engine:
        theirs = JOBS[job](folder, tmp_path / "dask", engine)

    assert contents(tmp_path / "dask") == contents(tmp_path / "local")
    assert (theirs.claims, theirs.rows) == (ours.claims, ours.rows)
    assert len(theirs.manifest.files) == (12 if job == "protect" else 9)


@pytest.mark.usefixtures("small")
def test_a_sample_is_that_of_one_machine(address, folder, tmp_path, monkeypatch):
    monkeypatch.setattr("halfmask.microdata._classes.MAX_ROWS", 100)

    protected(folder, tmp_path / "local", KeepingFew(LocalEngine(1)))
    with connect(address) as engine:
        protected(folder, tmp_path / "dask", KeepingFew(engine))

    assert contents(tmp_path / "dask") == contents(tmp_path / "local")


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("job", "kind"), [("protect", "fold"), ("protect", "map"), ("mask", "map")]
)
def test_a_worker_that_is_killed_changes_nothing(cluster, folder, tmp_path, job, kind):
    from distributed import Client  # noqa: PLC0415 # an extra

    marker = tmp_path / "killed"
    JOBS[job](folder, tmp_path / "local", LocalEngine())
    with Client(cluster) as client:
        engine = Interrupted.at(client, kind, partial(killing_once, str(marker)))
        JOBS[job](folder, tmp_path / "dask", engine)

    assert marker.exists()
    assert contents(tmp_path / "dask") == contents(tmp_path / "local")
    left = {path.name for path in tmp_path.iterdir()} - {"local.owner.html", "dask.owner.html"}
    assert left == {"people", "killed", "local", "dask"}


@pytest.mark.usefixtures("small")
def test_hashed_files_have_the_bytes_of_local_ones(cluster, folder, tmp_path):
    """Also where a worker is killed on the way."""
    from distributed import Client  # noqa: PLC0415 # an extra

    hashed(folder, tmp_path / "local", LocalEngine())
    with Client(cluster) as client:
        wrap = partial(killing_once, str(tmp_path / "killed"))
        hashed(folder, tmp_path / "dask", Interrupted.at(client, "map", wrap))

    assert (tmp_path / "killed").exists()
    assert files_in(tmp_path / "dask") == files_in(tmp_path / "local")
    assert len(files_in(tmp_path / "dask")) == 5


@pytest.mark.usefixtures("small")
def test_encoded_files_have_the_bytes_of_local_ones(address, folder, tmp_path):
    ours = encoded(folder, tmp_path / "local", LocalEngine())
    with connect(address) as engine:
        theirs = encoded(folder, tmp_path / "dask", engine)

    assert theirs.to_bytes() == ours.to_bytes()
    assert theirs.receipts_ == ours.receipts_
    assert files_in(tmp_path / "dask") == files_in(tmp_path / "local")
    assert len(files_in(tmp_path / "dask")) == 6


@pytest.mark.usefixtures("small")
def test_a_worker_that_is_killed_changes_no_encoded_file(cluster, folder, tmp_path):
    from distributed import Client  # noqa: PLC0415 # an extra

    encoded(folder, tmp_path / "local", LocalEngine())
    with Client(cluster) as client:
        wrap = partial(killing_once, str(tmp_path / "killed"))
        encoded(folder, tmp_path / "dask", Interrupted.at(client, "map", wrap))

    assert (tmp_path / "killed").exists()
    assert files_in(tmp_path / "dask") == files_in(tmp_path / "local")


def test_encoded_files_in_a_folder_that_workers_cannot_see(cluster, folder, tmp_path):
    from distributed import Client  # noqa: PLC0415 # an extra

    codec = Codec(learner="trees", secret=Secret.from_bytes(KEY))
    codec.fit(open_table(folder).read())
    wrap = partial(removing, tmp_path)
    with (
        Client(cluster) as client,
        pytest.raises(ReleaseError, match="A worker can't write to the folder of the output"),
    ):
        encode_folder(codec, folder, tmp_path / "out", engine=Interrupted.at(client, "map", wrap))
    assert [path.name for path in tmp_path.iterdir()] == ["people"]


def test_files_that_workers_cannot_see(cluster, folder, tmp_path):
    from distributed import Client  # noqa: PLC0415 # an extra

    wrap = partial(moving, folder, tmp_path / "elsewhere")
    with (
        Client(cluster) as client,
        pytest.raises(DataError, match=r"A worker can't read its part of the table\. File 1 .*"),
    ):
        protected(folder, tmp_path / "out", Interrupted.at(client, "fold", wrap))
    assert [path.name for path in tmp_path.iterdir()] == ["elsewhere"]


@pytest.mark.usefixtures("small")
def test_a_folder_to_write_that_workers_cannot_see(cluster, folder, tmp_path):
    from distributed import Client  # noqa: PLC0415 # an extra

    wrap = partial(hiding, tmp_path)
    with (
        Client(cluster) as client,
        pytest.raises(ReleaseError, match="A worker can't write to the folder of the release"),
    ):
        protected(folder, tmp_path / "out", Interrupted.at(client, "map", wrap))
    assert [path.name for path in tmp_path.iterdir()] == ["people"]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("job", JOBS)
def test_a_disk_of_a_worker_that_fills_up(cluster, folder, tmp_path, job):
    from distributed import Client  # noqa: PLC0415 # an extra

    with (
        Client(cluster) as client,
        pytest.raises(ReleaseError, match=r"the disk is full\. Nothing was left behind"),
    ):
        JOBS[job](folder, tmp_path / "out", Interrupted.at(client, "map", partial(on_a_full_disk)))
    assert [path.name for path in tmp_path.iterdir()] == ["people"]


@pytest.mark.usefixtures("small")
def test_a_file_that_vanishes_while_parts_are_written(cluster, folder, tmp_path):
    from distributed import Client  # noqa: PLC0415 # an extra

    wrap = partial(losing, folder / "2.parquet")
    with (
        Client(cluster) as client,
        pytest.raises(DataError, match=r"A worker can't read its part of the table\. File 3 .*"),
    ):
        masked(folder, tmp_path / "out", Interrupted.at(client, "map", wrap))
    assert [path.name for path in tmp_path.iterdir()] == ["people"]


def test_a_file_that_changes_is_an_error(address, folder, tmp_path):
    table = open_table(folder)
    people(20).write_parquet(folder / "2.parquet")

    with connect(address) as engine, pytest.raises(DataError, match="has changed"):
        protected(table, tmp_path / "out", engine)
    assert not (tmp_path / "out").exists()


def test_workers_of_another_version(address, folder, tmp_path, monkeypatch):
    monkeypatch.setattr("halfmask.engines._versions.version", lambda _name: "0.0.0")

    with connect(address) as engine, pytest.raises(EngineError, match="2 of 2 workers have an"):
        protected(folder, tmp_path / "out", engine)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", ["fold", "map"])
def test_a_scheduler_that_is_gone(folder, tmp_path, kind):
    """The job ends with an error that says so, and leaves nothing."""
    from distributed import Client  # noqa: PLC0415 # an extra

    run = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1"]
    options = [
        "--port",
        "0",
        "--dashboard-address",
        ":0",
        "--scheduler-file",
        str(tmp_path / "where"),
    ]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", "--nworkers", "1"]
    worker += ["--scheduler-file", str(tmp_path / "where"), "--no-dashboard"]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with (
        subprocess.Popen([*run, *options], cwd=tmp_path, **quiet) as scheduler,
        subprocess.Popen(worker, cwd=tmp_path, **quiet) as working,
    ):
        try:
            client = Client(scheduler_file=str(tmp_path / "where"), timeout=60)
            client.wait_for_workers(1, timeout=120)
            wrap = partial(killing_other, scheduler.pid, str(tmp_path / "killed"))
            with pytest.raises(EngineError, match="scheduler of Dask is gone"):
                protected(folder, tmp_path / "out", Interrupted.at(client, kind, wrap))
            client.close(timeout=1)
        finally:
            scheduler.kill()
            working.terminate()
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob(".halfmask-*"))


@pytest.mark.usefixtures("small")
def test_risks_are_those_of_one_machine(address, folder):
    names = ["age", "town", "smoker"]
    with connect(address) as engine:
        found = counted_risk(folder, quasi_identifiers=names, engine=engine)
    assert found.to_dict() == counted_risk(folder, quasi_identifiers=names).to_dict()


def test_synthetic_rows_are_those_of_one_machine(address, monkeypatch):
    monkeypatch.setattr("halfmask.microdata._synthetic_rows.SAMPLED_ROWS", 90)
    wanted = Policy.from_toml(SYNTHESIS + 'kind = "full"')
    ours = synthesize(to_learn(), wanted, key=KEY).data

    with connect(address) as engine:
        assert synthesize(to_learn(), wanted, key=KEY, engine=engine).data.equals(ours)


def test_the_command_line(address, folder, tmp_path, capsys):
    (tmp_path / "key").write_bytes(KEY)
    (tmp_path / "key").chmod(0o600)
    (tmp_path / "policy.toml").write_text(policy().to_toml())
    words = ["protect", str(folder), str(tmp_path / "policy.toml")]
    more = ["--key-file", str(tmp_path / "key"), "--json"]

    assert main([*words, str(tmp_path / "dask"), *more, "--engine", address]) == 0
    assert main([*words, str(tmp_path / "local"), *more]) == 0
    assert contents(tmp_path / "dask") == contents(tmp_path / "local")
    capsys.readouterr()

    reports = []
    for more in ([], ["--engine", address]):
        assert main(["verify", str(tmp_path / "dask"), "--json", *more]) == 0
        reports.append(capsys.readouterr())
    assert reports[0] == reports[1]
    assert not reports[0].err


def test_no_scheduler(monkeypatch):
    monkeypatch.setattr("halfmask.engines._dask._PATIENCE", 1)

    with pytest.raises(EngineError, match="can't be reached"), connect("dask://127.0.0.1:9"):
        pass


@pytest.mark.parametrize("address", ["tcp://host:1", "dask://", "", "cluster"])
def test_an_address_of_nothing(address):
    with pytest.raises(ParameterError, match="address of an engine"), connect(address):
        pass
