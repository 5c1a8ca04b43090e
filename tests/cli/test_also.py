"""`--also` of protect and verify: the release as a file of SPSS, with codes and labels."""

from __future__ import annotations

import polars as pl
import pyreadstat

POLICY = """
halfmask = 1
[columns]
age = { role = "quasi_identifier", kind = "numeric" }
job = { role = "sensitive", kind = "categorical" }
[[guarantees]]
model = "k-anonymity"
k = 3
"""


def test_a_survey_is_released_with_its_codes_and_verified(tmp_path, run):
    people = pl.DataFrame(
        {"age": [20 + i for i in range(12)], "job": [1 + i % 2 for i in range(12)]}
    )
    pyreadstat.write_sav(
        people, tmp_path / "survey.sav", variable_value_labels={"job": {1: "nurse", 2: "smith"}}
    )
    (tmp_path / "policy.toml").write_text(POLICY)
    words = [tmp_path / name for name in ("survey.sav", "policy.toml", "out")]

    made = run("protect", *words, "--also", tmp_path / "out.sav", "--json")
    found = run("verify", tmp_path / "out", "--also", tmp_path / "out.sav")
    again = run("protect", *words[:2], tmp_path / "other", "--also", tmp_path / "out.sav")
    pyreadstat.write_sav(people, tmp_path / "out.sav")
    changed = run("verify", tmp_path / "out", "--also", tmp_path / "out.sav")

    assert made.status == 0, made.err
    assert made.json["also"].endswith("out.sav")
    assert found.status == 0, found.out + found.err
    assert again.status == 1
    assert "exists already" in again.err
    assert not (tmp_path / "other").exists()
    assert changed.status == 1
    assert "other cells in column 'age'" in changed.out
