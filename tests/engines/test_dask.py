"""The engine of a cluster, on one of two worker processes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import polars as pl
import pytest

from engines.on_workers import (  # type: ignore[import-not-found] # beside, not in a package
    careless,
    failing,
    killing,
    killing_once,
    refusing,
    size,
    text,
)
from halfmask import ParameterError, SchemaError, Secret
from halfmask.engines import DaskEngine, LocalEngine
from halfmask.engines._dask import _Held
from halfmask.microdata import protect, protect_to
from microdata.people import (  # type: ignore[import-not-found] # beside, not in a package
    KEY,
    people,
    policy,
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """A client of two worker processes with a thread each, and a dashboard at any free port."""
    from distributed import Client, LocalCluster  # noqa: PLC0415 # an extra

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


@pytest.fixture
def in_batches(monkeypatch):
    """Read 240 people in 5 batches of 50 rows."""
    monkeypatch.setattr("halfmask.data.io._source._MAX_ROWS", 50)


class Killing(DaskEngine):
    """Kills one worker in the fold."""

    marker: str

    def fold(self, batches, summarize, merge, /):
        return DaskEngine.fold(self, batches, partial(killing_once, self.marker, summarize), merge)


def test_results_and_merges_come_in_order(client):
    engine = DaskEngine(client, in_flight=3)

    assert list(engine.map(range(10), text)) == [f"{n}," for n in range(10)]
    assert engine.fold(range(10), text, str.__add__) == "0,1,2,3,4,5,6,7,8,9,"


def test_no_more_batches_are_read_than_may_be_in_flight(client):
    read = []

    def batches():
        for n in range(10):
            read.append(n)
            yield n

    results = DaskEngine(client, in_flight=3).map(batches(), text)

    assert next(results) == "0,"
    assert read == [0, 1, 2]
    results.close()  # type: ignore[attr-defined] # a generator


@pytest.mark.parametrize(
    "run",
    [
        lambda engine: list(engine.map(range(6), failing)),
        lambda engine: engine.fold(range(6), failing, str.__add__),
    ],
    ids=["map", "fold"],
)
def test_the_first_error_in_order_is_raised(client, run):
    with pytest.raises(ValueError, match=r"^2$"):
        run(DaskEngine(client))


def test_what_a_task_takes_shows_no_cell():
    """Dask logs the representation of a task where it is short."""
    assert "CANARY" not in repr(_Held("CANARY"))


def test_a_failed_task_logs_no_cell(client):
    """Dask logs a failed task and its exception."""
    batch = pl.DataFrame({"name": ["CANARY"]})

    with pytest.raises(RuntimeError, match="1 rows"):
        list(DaskEngine(client).map([batch], careless))
    logged = str(client.get_worker_logs())

    assert "Compute Failed" in logged
    assert "CANARY" not in logged


def test_an_error_of_ours_comes_back_whole(client):
    with pytest.raises(SchemaError, match=r"^No such table\.\n\nHint: Open it\.$") as caught:
        list(DaskEngine(client).map([1], refusing))
    assert (caught.value.what, caught.value.hint) == ("No such table.", "Open it.")


def test_a_large_batch_is_sent_without_a_warning(client):
    """Dask warns from 10 MB on, and warnings are errors here."""
    assert list(DaskEngine(client).map([bytes(11 << 20)], size)) == [11 << 20]


def test_a_secret_is_not_sent(client):
    with pytest.raises(TypeError) as caught:
        list(DaskEngine(client).map([Secret.fresh()], text))
    chain = [caught.value, caught.value.__cause__, caught.value.__context__]
    assert any("belongs in a vault" in str(each) for each in chain)


def test_a_worker_that_is_killed_changes_nothing(client, tmp_path):
    marker = tmp_path / "killed"

    found = DaskEngine(client).fold(range(10), partial(killing, str(marker)), str.__add__)

    assert marker.exists()
    assert found == "0,1,2,3,4,5,6,7,8,9,"


@pytest.mark.usefixtures("in_batches")
@pytest.mark.parametrize("killed", [False, True], ids=["", "killed"])
def test_a_release_under_a_key_has_the_bytes_of_a_local_one(client, tmp_path, killed):
    engine = Killing(client) if killed else DaskEngine(client)
    if killed:
        object.__setattr__(engine, "marker", str(tmp_path / "killed"))

    ours = protect_to(people(), policy(), tmp_path / "local", key=KEY, engine=LocalEngine())
    theirs = protect_to(people(), policy(), tmp_path / "dask", key=KEY, engine=engine)

    assert (tmp_path / "killed").exists() == killed
    assert ours.manifest is not None
    assert theirs.manifest is not None
    assert theirs.manifest.files == ours.manifest.files
    assert theirs.manifest.claims == ours.manifest.claims
    files = sorted(path.name for path in (tmp_path / "local" / "data").iterdir())
    for name in files:
        local, dask = (tmp_path / where / "data" / name for where in ("local", "dask"))
        assert local.read_bytes() == dask.read_bytes()


@pytest.mark.usefixtures("in_batches")
def test_a_cluster_finds_the_cells_of_a_table_that_does_not_fit(client):
    """Rows that find their cells by the plan are placed alike by both engines."""
    prepared = replace(protect(people(), policy(), key=KEY).source, cells=None)
    placed = replace(prepared, engine=DaskEngine(client)).frame()

    assert placed.equals(prepared.frame())


def test_a_client_is_needed():
    with pytest.raises(ParameterError, match=r"distributed\.Client"):
        DaskEngine("tcp://127.0.0.1:8786")


def test_at_least_one_batch_is_in_flight(client):
    with pytest.raises(ParameterError, match="in_flight"):
        DaskEngine(client, in_flight=0)
