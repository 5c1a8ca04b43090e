"""`halfmask assess regression`: coefficients of a table and of its release."""

from __future__ import annotations

import json

import polars as pl

import halfmask as hm

PEOPLE = pl.DataFrame(
    {
        "pay": [float(30 + 2 * i % 17 + i) for i in range(40)],
        "age": [20 + i for i in range(40)],
        "town": ["bonn", "ulm"] * 20,
    }
)


def test_a_release_and_a_file_are_compared_with_the_table(tmp_path, run):
    PEOPLE.write_csv(tmp_path / "people.csv")
    release = hm.protect(PEOPLE, quasi_identifiers=["age"], sensitive=["pay", "town"], k=4)
    release.write(tmp_path / "out")
    words = ("assess", "regression", tmp_path / "people.csv")

    said = run(*words, tmp_path / "out", "--formula", "pay ~ age + town")
    same = run(
        *words, tmp_path / "people.csv", "--formula", "pay ~ age", "--weights", "age",
        "--out", tmp_path / "found.json", "--json",
    )  # fmt: skip

    assert said.status == 0, said.err
    for part in ("linear regression", "town = ulm", "Mean overlap", "40 of TABLE (0 left out)"):
        assert part in said.out
    assert same.status == 0, same.err
    assert same.json["mean_overlap"] == 1.0
    told = json.loads((tmp_path / "found.json").read_text())
    assert told["weights"] == "age"
    assert [each["name"] for each in told["coefficients"]] == ["intercept", "age"]


def test_a_formula_that_can_not_be_read_is_refused(desk, run):
    said = run("assess", "regression", desk.table, desk.table, "--formula", "age ~ town * age")
    assert said.status != 0
    assert "columns, + and C() only" in said.err
