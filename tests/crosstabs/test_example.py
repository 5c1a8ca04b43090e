"""The example runs as it stands, and cells that tables share have one state."""

from __future__ import annotations

import os
import runpy
from pathlib import Path

import polars as pl
import pytest

from halfmask.crosstabs import TablesPolicy

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "tables"
NAMES = ("turnover_act_cj", "turnover_act_size", "turnover_nuts_cj", "turnover_nuts_size")


def test_its_policy_names_the_dimensions_of_all_tables():
    policy = TablesPolicy.load(EXAMPLE / "policy.toml")
    named = {
        column
        for name in NAMES
        for column in pl.read_csv(EXAMPLE / "turnover" / f"{name}.csv").columns
    }

    assert {*policy.dimensions} == named - {"TOT", "N_OBS", "MAX"}


@pytest.mark.slow
def test_it_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    runpy.run_path(os.fspath(EXAMPLE / "run.py"), run_name="__main__")

    said = capsys.readouterr().out
    assert all(name in said for name in NAMES)
    assert "Running HiGHS" not in said
    tables = {
        name: pl.read_csv(tmp_path / "out" / "turnover" / "data" / f"{name}.csv") for name in NAMES
    }
    for column, pair in (("ACTIVITY", NAMES[:2]), ("NUTS", NAMES[2:])):
        states = [
            tables[name].filter(pl.nth(1) == "Total").sort(column).select(column, "state")
            for name in pair
        ]
        assert states[0].equals(states[1])
    hidden = sum(int((each["state"] == "hidden").sum()) for each in tables.values())
    assert 300 < hidden < 900
