"""Folders that can't be read or written: each is named, and nothing is half-written."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import polars as pl
import pytest

from engines.clusters import (  # type: ignore[import-not-found] # beside, not in a package
    masked,
    masking_policy,
    parquet_folder,
    protected,
)
from engines.on_workers import losing, on_a_full_disk  # type: ignore[import-not-found] # as above
from halfmask import DataError, ReleaseError, SchemaError
from halfmask.cli import main
from halfmask.data import write_table
from halfmask.engines import LocalEngine
from halfmask.microdata import _writing, mask, protect
from microdata.people import KEY, people, policy  # type: ignore[import-not-found] # as above

JOBS = {"protect": protected, "mask": masked}
ALONE = LocalEngine(1)


@pytest.fixture(params=JOBS)
def job(request):
    return JOBS[request.param]


@pytest.fixture
def folder(tmp_path):
    return parquet_folder(people(), tmp_path / "people")


@pytest.fixture
def small(monkeypatch):
    """Read 240 people in 5 parts, and write files of about 60 rows."""
    monkeypatch.setattr("halfmask.data.io._source._MAX_ROWS", 50)
    monkeypatch.setattr("halfmask.microdata._writing.PART_ROWS", 60)


class Interrupted(LocalEngine):
    """Wraps each function that is mapped, in one thread."""

    def map(self, batches, apply, /):
        return ALONE.map(batches, partial(self.wrap, apply))

    def fold(self, batches, summarize, merge, /):
        return ALONE.fold(batches, summarize, merge)

    @classmethod
    def by(cls, wrap):
        engine = cls(1)
        object.__setattr__(engine, "wrap", wrap)
        return engine

    wrap: partial[object]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda rows: rows.drop("town"), "File 3 of the table to read lacks 1 columns of file 1"),
        (
            lambda rows: rows.with_columns(pay=pl.col("pay").cast(pl.String)),
            "Column 'pay' is String in file 3 of the table to read and Int64 before",
        ),
        (lambda rows: rows.rename({"town": "Town"}), "lacks 1 columns of file 1 and has 1"),
    ],
)
def test_files_that_differ(folder, tmp_path, job, change, says):
    last = folder / "2.parquet"
    change(pl.read_parquet(last)).write_parquet(last)

    with pytest.raises(SchemaError, match=says):
        job(folder, tmp_path / "out", ALONE)
    assert [path.name for path in tmp_path.iterdir()] == ["people"]


def test_a_folder_without_files(tmp_path, job):
    (tmp_path / "people").mkdir()
    (tmp_path / "people" / "_SUCCESS").touch()

    with pytest.raises(DataError, match=r"^The table to read is a folder without files\."):
        job(tmp_path / "people", tmp_path / "out", ALONE)
    assert [path.name for path in tmp_path.iterdir()] == ["people"]


@pytest.mark.slow
@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("make", [protect, mask])
def test_a_file_that_vanishes_between_plan_and_apply(folder, tmp_path, make):
    wanted = policy() if make is protect else masking_policy()
    release = make(folder, wanted, key=KEY)
    (folder / "1.parquet").unlink()

    with pytest.raises(DataError, match=r"^File 2 of the table to read is not there\."):
        release.write(tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["people"]


@pytest.mark.usefixtures("small")
def test_a_file_that_vanishes_while_parts_are_written(folder, tmp_path, job):
    engine = Interrupted.by(partial(losing, folder / "2.parquet"))

    with pytest.raises(DataError, match=r"^File 3 of the table to read is not there\."):
        job(folder, tmp_path / "out", engine)
    assert [path.name for path in tmp_path.iterdir()] == ["people"]


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_a_disk_that_fills_up_while_parts_are_put_aside(folder, tmp_path, job):
    with pytest.raises(ReleaseError, match=r"the disk is full\. Nothing was left behind"):
        job(folder, tmp_path / "out", Interrupted.by(on_a_full_disk))
    assert [path.name for path in tmp_path.iterdir()] == ["people"]


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_a_disk_that_fills_up_while_files_are_written(folder, tmp_path, monkeypatch, job):
    """The rows are aside by then."""

    def full(*given, **named):
        return on_a_full_disk(partial(write_table, **named), *given)

    monkeypatch.setattr(_writing, "write_table", full)
    with pytest.raises(ReleaseError, match=r"the disk is full\. Nothing was left behind"):
        job(folder, tmp_path / "out", ALONE)
    assert [path.name for path in tmp_path.iterdir()] == ["people"]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/sys").is_dir(), reason="needs a folder that not even root may write")
def test_an_output_that_cannot_be_written(folder, job):
    with pytest.raises(ReleaseError, match=r"can't be written"):
        job(folder, "/sys/halfmask", ALONE)


@pytest.mark.parametrize("option", [[], ["--overwrite"]])
def test_an_output_that_is_read_only_is_refused_before_the_table_is_read(
    tmp_path, monkeypatch, capsys, option
):
    (tmp_path / "policy.toml").write_text(policy().to_toml())
    monkeypatch.setattr("os.access", lambda *_: False)

    with pytest.raises(ReleaseError, match="parent folder of the folder to write can't be written"):
        protected(tmp_path / "no table", tmp_path / "out", ALONE)
    words = ["protect", str(tmp_path / "no table"), str(tmp_path / "policy.toml")]
    assert main([*words, str(tmp_path / "out"), *option]) != 0
    assert "The parent folder of OUT can't be written" in capsys.readouterr().err
