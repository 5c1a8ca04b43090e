"""The example of places runs as its page says, and its policies keep what they say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "places"


@pytest.mark.slow
def test_the_example_runs_where_files_of_others_are_missing(tmp_path):
    pytest.importorskip("shapely")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLE / "run.py")],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "fewer than 20 people live as near" in done.stdout
    assert "snow: skipped" in done.stdout
    rows = pl.read_parquet(tmp_path / "out/places/areas/data")
    assert min(rows.group_by("home", "age", "sex").len()["len"]) >= 10
    moved = pl.read_parquet(tmp_path / "out/places/donut/data")
    assert moved.columns == ["longitude", "latitude"]
