"""The example runs as it stands, from the command line and from Python."""

from __future__ import annotations

import os
import runpy
from pathlib import Path

import polars as pl
import pytest

from halfmask.data import Hierarchy
from halfmask.microdata import Policy

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "adult"


def test_policy_says_what_it_should():
    """The policy of the issue: nine quasi-identifiers, k = 10, l = 3, guided by income."""
    policy = Policy.load(EXAMPLE / "policy.toml")
    schema = policy.schema()

    assert len(schema.quasi_identifiers) == 9
    assert [each.model for each in policy.guarantees()] == ["k-anonymity", "distinct-l-diversity"]
    assert (policy.method.name, policy.split_targets) == ("guided", ("income",))
    assert set(schema.identifiers) == {"education-num", "fnlwgt", "capital-gain", "capital-loss"}


def test_hierarchies_cover_the_table(adult_csv):
    """Each tree knows each value of its column."""
    table = pl.read_csv(adult_csv, null_values="?")
    schema = Policy.load(EXAMPLE / "policy.toml").schema()

    for name in ("marital-status", "native-country"):
        tree = schema[name].hierarchy
        assert isinstance(tree, Hierarchy)
        tree.cover(table[name].drop_nulls(), column=name)


@pytest.mark.slow
def test_demo(run, tmp_path):
    """What `make demo` runs has numbers worth showing; the page README shows its lines."""
    out = tmp_path / "adult"

    command = ("protect", EXAMPLE / "adult.csv", EXAMPLE / "policy.toml", out, "--overwrite")
    said = run(*command, "--json").json

    model, risk = said["utility"]["model"], said["risk"]
    assert said["rows"] == {"in": 48842, "out": 48842, "suppressed": 0}
    assert [each["counted"] >= least for each, least in zip(
        said["verification"]["claims"], (10, 3), strict=True
    )] == [True, True]  # fmt: skip
    assert risk["after"]["prosecutor"]["highest"]["value"] <= 0.1
    assert risk["before"]["prosecutor"]["highest"]["value"] == 1.0
    # The majority is 76 %; raw rows of the same columns teach 84 %. Most of it must survive.
    assert model["released"]["accuracy"] > model["raw"]["accuracy"] - 0.02


@pytest.mark.slow
def test_python(tmp_path, monkeypatch, capsys):
    """run.py does the same."""
    monkeypatch.chdir(tmp_path)

    runpy.run_path(os.fspath(EXAMPLE / "run.py"), run_name="__main__")

    assert "k-anonymity with k = 10" in capsys.readouterr().out
    assert (tmp_path / "out" / "adult" / "report.html").is_file()
