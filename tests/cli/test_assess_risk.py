"""`halfmask assess risk`: all measures of a table, and no cell of it."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest

CANARY = "CANARY"


@pytest.fixture
def words(desk: Any) -> Any:
    def of(*more: object) -> list[object]:
        return ["assess", "risk", desk.table, "--quasi-identifiers", "age,town", *more]

    return of


def test_the_risks_are_told_and_no_cell_is_shown(words, run):
    said = run(*words("--sampling-fraction", "0.1", "--max-global-risk", "0.01"))

    assert said.status == 0, said.err
    for part in (
        "estimated from the sampling fraction",
        "expected to be unique in the population",
        "once no row has a risk above",
        "nearest to a key",
        "weight in unique sets",
    ):
        assert part in said.out
    assert CANARY not in said.out + said.err


def test_programs_get_both_readings_and_files_only_what_was_asked_for(desk, words, run):
    out, rows = desk.folder / "risk.json", desk.folder / "rows.csv"

    said = run(*words("--sampling-fraction", "0.1", "--out", out, "--per-row", rows, "--json"))

    assert said.status == 0, said.err
    told = said.json
    assert told.pop("ok") is True
    assert json.loads(out.read_text()) == told
    assert told["suda"]["missing_as_wildcard"] is None
    table = pl.read_csv(rows)
    assert table.height == told["counted"]["missing_as_value"]["rows"]
    assert CANARY not in out.read_text() + rows.read_text() + said.out


def test_the_risk_of_each_row_is_written_as_parquet(desk, words, run):
    rows = desk.folder / "rows.parquet"

    assert run(*words("--per-row", rows, "--household", "name")).status == 0

    assert pl.read_parquet(rows).columns == [
        "row", "prosecutor", "individual", "household", "suda_score", "smallest_unique_set",
    ]  # fmt: skip


def test_a_population_is_read_and_must_hold_the_table(desk, words, run):
    whole, part = desk.folder / "all.csv", desk.folder / "part.csv"
    lines = desk.table.read_text().splitlines(keepends=True)
    whole.write_text("".join(lines + lines[1:]))
    part.write_text("".join(lines[:5]))

    said = run(*words("--population", whole))
    assert said.status == 0, said.err
    assert "looks its rows up in the whole population" in said.out

    said = run(*words("--population", part))
    assert said.status == 1
    assert "fewer rows than the table" in said.err


def test_wrong_usage_is_told(desk, words, run):
    said = run(*words("--weights", "age", "--sampling-fraction", "0.1"))
    assert said.status == 2
    assert "in several ways" in said.err

    said = run(*words("--per-row", desk.folder / "rows.xlsx"))
    assert said.status == 2
    assert ".parquet" in said.err

    said = run("assess", "risk", desk.table, "--quasi-identifiers", "age,twon")
    assert said.status == 1
    assert "Did you mean 'town'" in said.err


def test_an_engine_counts_the_same(words, run):
    usual = run(*words("--sampling-fraction", "0.1", "--json"))
    said = run(*words("--sampling-fraction", "0.1", "--json", "--engine", "local"))

    assert said.status == 0, said.err
    for name in ("uniqueness", "class_sizes"):
        ours, theirs = (it.json["counted"]["missing_as_value"][name] for it in (said, usual))
        assert ours == theirs
    assert said.json["separation"] == usual.json["separation"]
    assert {"counted", "separation", "population_uniqueness"} < said.json.keys()
    shown = run(*words("--engine", "local"))
    assert "nearest to a key" in shown.out
    assert CANARY not in shown.out + shown.err


@pytest.mark.parametrize("option", ["--weights", "--population", "--household", "--per-row"])
def test_an_engine_refuses_what_takes_rows(option, words, run):
    said = run(*words(option, "age.csv", "--engine", "local"))

    assert said.status == 2
    assert f"{option} takes the rows of the table" in said.err


def test_marks_of_missing_cells_are_those_of_the_population_too(tmp_path, run):
    """With "?" as a value of its own it would hold no row like the last one of the table."""
    rows = "".join(f"{'fm'[n % 2]},{30 + n % 4},{n}\n" for n in range(40))
    table, population = tmp_path / "table.csv", tmp_path / "people.csv"
    table.write_text(f"sex,age,note\n{rows}?,30,x\n")
    cells = "".join(f"{'fm'[n % 2]},{30 + n % 4}\n" for n in range(80))
    population.write_text(f"sex,age\n{cells}?,30\n")

    how = ("--population", population, "--missing", "?", "--dtype", "note=string", "--json")
    said = run("assess", "risk", table, "--quasi-identifiers", "sex,age", *how)

    assert said.status == 0, said.err
    assert said.json["counted"]["missing_as_wildcard"]["journalist"] is not None


def test_the_reading_of_missing_cells_is_named(tmp_path, run):
    table = tmp_path / "table.csv"
    table.write_text("sex,age\n" + "f,30\n" * 5 + "m,40\n" * 5 + ",30\n")

    said = run("assess", "risk", table, "--quasi-identifiers", "sex,age")

    assert "read as a value of their own, which gives the higher risk" in said.out
    assert "Read as any value, 0 rows would be" in said.out


def test_a_release_is_called_one(tmp_path, run):
    release = tmp_path / "release"
    (release / "data").mkdir(parents=True)
    (release / "manifest.json").write_text("{}")

    said = run("assess", "risk", release, "--quasi-identifiers", "sex")

    assert said.status != 0
    assert "is a release; its rows are in its folder data" in said.err
