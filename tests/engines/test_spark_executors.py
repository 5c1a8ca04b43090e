"""A cluster of Spark with two executors, each a process of its own, that are killed."""

from __future__ import annotations

import importlib.util
import os
import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from engines.clusters import (  # type: ignore[import-not-found] # beside, not in a package
    contents,
    parquet_folder,
    protected,
)
from engines.on_workers import (  # type: ignore[import-not-found] # as above
    killing_executor_once,
)
from halfmask.engines import LocalEngine, connect
from microdata.people import people, with_gaps  # type: ignore[import-not-found] # as above

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("pyspark") is None, reason="pyspark isn't installed"
    ),
    pytest.mark.skipif(shutil.which("java") is None, reason="Java isn't installed"),
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="executors are found in /proc"),
    # Of Spark and its Java gateway, not of ours.
    pytest.mark.filterwarnings("ignore:::pyspark.*", "ignore::ResourceWarning"),
]


@dataclass
class Killing:
    """Kills an executor in the first fold, and one in the first map."""

    engine: Any
    folder: Path

    def map(self, batches, apply, /):
        return self.engine.map(batches, partial(killing_executor_once, self.folder / "map", apply))

    def fold(self, batches, summarize, merge, /):
        summarize = partial(killing_executor_once, self.folder / "fold", summarize)
        return self.engine.fold(batches, summarize, merge)


@pytest.fixture
def no_logs():
    """Remove what executors of such a cluster log into the folder of pyspark."""
    import pyspark  # noqa: PLC0415 # an extra

    logs = Path(pyspark.__file__).parent / "work"
    before = set(logs.iterdir()) if logs.exists() else None
    yield
    for folder in logs.iterdir() if logs.exists() else ():
        if folder not in (before or ()):
            shutil.rmtree(folder)
    if before is None and logs.exists():
        logs.rmdir()


@pytest.mark.usefixtures("no_logs")
def test_executors_that_are_killed_change_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path("tests").resolve()), prepend=os.pathsep)
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path / "spark-files"))
    monkeypatch.setattr("halfmask.data.io._source._MAX_ROWS", 50)
    folder = parquet_folder(with_gaps(people(), ["town"]), tmp_path / "people")
    killed = tmp_path / "killed"
    killed.mkdir()

    ours = protected(folder, tmp_path / "local", LocalEngine())
    with connect("spark://local-cluster[2,1,1024]") as engine:
        theirs = protected(folder, tmp_path / "spark", Killing(engine, killed))

    assert {path.name for path in killed.iterdir()} == {"fold", "map"}
    assert contents(tmp_path / "spark") == contents(tmp_path / "local")
    assert theirs.manifest.files == ours.manifest.files
    left = {path.name for path in tmp_path.iterdir()} - {"local.owner.html", "spark.owner.html"}
    assert left == {"people", "killed", "spark-files", "local", "spark"}
