"""The engine of Spark, on a real session with two worker processes on this machine."""

from __future__ import annotations

import importlib.util
import os
import shutil

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
    careless,
    failing,
    refusing,
    text,
)
from halfmask import EngineError, ParameterError, Policy, SchemaError, synthesize, verify
from halfmask.assess.risk import counted_risk
from halfmask.engines import LocalEngine, SparkEngine, connect
from halfmask.engines._versions import check_versions, versions
from microdata.people import KEY, people, with_gaps  # type: ignore[import-not-found] # as above
from microdata.test_synthesize import COLUMNS as SYNTHESIS  # type: ignore[import-not-found] # as above
from microdata.test_synthesize import people as to_learn

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("pyspark") is None, reason="pyspark isn't installed"
    ),
    pytest.mark.skipif(shutil.which("java") is None, reason="Java isn't installed"),
    # Of Spark and its Java gateway, not of ours.
    pytest.mark.filterwarnings("ignore:::pyspark.*", "ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    """Spark on this machine; workers import the functions of these tests."""
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setenv("PYTHONPATH", "tests", prepend=os.pathsep)
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path_factory.mktemp("spark")))
    with connect("spark://local[2]") as found:
        yield found
    monkeypatch.undo()


def test_results_and_merges_come_in_order(engine):
    few = SparkEngine(engine.session, in_flight=3)

    assert list(few.map(range(10), text)) == [f"{n}," for n in range(10)]
    assert engine.fold(range(10), text, str.__add__) == "0,1,2,3,4,5,6,7,8,9,"


def test_the_first_error_in_order_is_raised(engine):
    with pytest.raises(ValueError, match=r"^2$"):
        list(engine.map(range(6), failing))


def test_an_error_of_ours_comes_back_whole(engine):
    with pytest.raises(SchemaError, match=r"^No such table\.\n\nHint: Open it\.$"):
        list(engine.map([1], refusing))


def test_a_failed_task_shows_no_cell(engine, capfd):
    with pytest.raises(RuntimeError, match="1 rows"):
        list(engine.map([people(1)], careless))
    assert "Person" not in "".join(capfd.readouterr())


@pytest.mark.parametrize("job", [protected, masked], ids=["protect", "mask"])
def test_a_release_has_the_bytes_of_a_local_one(engine, tmp_path, monkeypatch, job):
    monkeypatch.setattr("halfmask.data.io._source._MAX_ROWS", 50)
    monkeypatch.setattr("halfmask.microdata._writing.PART_ROWS", 60)
    folder = parquet_folder(with_gaps(people(), ["town"]), tmp_path / "people")

    ours = job(folder, tmp_path / "local", LocalEngine())
    theirs = job(folder, tmp_path / "spark", engine)

    assert contents(tmp_path / "spark") == contents(tmp_path / "local")
    assert theirs.claims == ours.claims
    assert theirs.manifest.files == ours.manifest.files
    if job is protected:
        verified = verify(tmp_path / "spark", engine=engine)
        assert verified.to_dict() == verify(tmp_path / "spark").to_dict()


def test_a_sample_is_that_of_one_machine(engine, tmp_path, monkeypatch):
    monkeypatch.setattr("halfmask.data.io._source._MAX_ROWS", 50)
    monkeypatch.setattr("halfmask.microdata._classes.MAX_ROWS", 100)
    folder = parquet_folder(people(), tmp_path / "people")

    protected(folder, tmp_path / "local", KeepingFew(LocalEngine(1)))
    protected(folder, tmp_path / "spark", KeepingFew(engine))

    assert contents(tmp_path / "spark") == contents(tmp_path / "local")


def test_encoded_and_hashed_files_have_the_bytes_of_local_ones(engine, tmp_path, monkeypatch):
    monkeypatch.setattr("halfmask.encode._files._MAX_ROWS", 50)
    folder = parquet_folder(people(), tmp_path / "people")

    ours = encoded(folder, tmp_path / "local", LocalEngine())
    theirs = encoded(folder, tmp_path / "spark", engine)

    hashed(folder, tmp_path / "local" / "hashed", LocalEngine())
    hashed(folder, tmp_path / "spark" / "hashed", engine)

    assert theirs.to_bytes() == ours.to_bytes()
    assert files_in(tmp_path / "spark") == files_in(tmp_path / "local")


@pytest.mark.parametrize("job", [protected, masked], ids=["protect", "mask"])
def test_many_parts_for_each_worker_are_a_release_with_the_bytes_of_a_local_one(
    engine, tmp_path, monkeypatch, job
):
    """24,000 people in 12 parts, and 12 files; the same on Dask is in test_dask_folders."""
    monkeypatch.setattr("halfmask.data.io._source._MAX_ROWS", 2000)
    monkeypatch.setattr("halfmask.microdata._writing.PART_ROWS", 2000)
    monkeypatch.setattr("halfmask.microdata.masked.ASSESSED_ROWS", 300)
    folder = parquet_folder(many_people(), tmp_path / "people")

    ours = job(folder, tmp_path / "local", LocalEngine())
    theirs = job(folder, tmp_path / "spark", engine)

    assert contents(tmp_path / "spark") == contents(tmp_path / "local")
    assert (theirs.claims, theirs.rows) == (ours.claims, ours.rows)


def test_risks_are_those_of_one_machine(engine, tmp_path, monkeypatch):
    monkeypatch.setattr("halfmask.data.io._source._MAX_ROWS", 50)
    folder = parquet_folder(with_gaps(people(), ["town"]), tmp_path / "people")
    names = ["age", "town", "smoker"]

    found = counted_risk(folder, quasi_identifiers=names, engine=engine)

    assert found.to_dict() == counted_risk(folder, quasi_identifiers=names).to_dict()


def test_synthetic_rows_are_those_of_one_machine(engine, monkeypatch):
    monkeypatch.setattr("halfmask.microdata._synthetic_rows.SAMPLED_ROWS", 90)
    wanted = Policy.from_toml(SYNTHESIS + 'kind = "full"')
    ours = synthesize(to_learn(), wanted, key=KEY).data

    assert synthesize(to_learn(), wanted, key=KEY, engine=engine).data.equals(ours)


def test_a_frame_is_sent_in_batches(engine, tmp_path, monkeypatch):
    monkeypatch.setattr("halfmask.data.io._source._MAX_ROWS", 50)

    protected(people(), tmp_path / "local", LocalEngine())
    protected(people(), tmp_path / "spark", engine)

    assert contents(tmp_path / "spark") == contents(tmp_path / "local")


def test_a_session_is_needed():
    with pytest.raises(ParameterError, match="SparkSession"):
        SparkEngine("spark://127.0.0.1:7077")


def test_workers_of_another_version(engine, monkeypatch):
    monkeypatch.setattr("halfmask.engines._versions.version", lambda _name: "0.0.0")

    with pytest.raises(EngineError, match="2 of 2 workers have another"):
        check_versions(engine.map(range(2), versions))


def test_a_session_of_the_caller_is_left_alone(engine):
    with (
        pytest.raises(EngineError, match="runs in this process already"),
        connect("spark://local[1]"),
    ):
        pass
    assert list(engine.map([1], text)) == ["1,"]
