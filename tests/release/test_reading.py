"""A release as a receiver computes with it: types, ranges, sets, suppressed cells."""

from __future__ import annotations

import datetime as dt
import json

import polars as pl
import pytest

import halfmask as hm
from halfmask import ParameterError, Policy, VerificationError, read_release

PEOPLE = pl.DataFrame(
    {
        "age": [30, 31, 40, 44],
        "weight": [60.5, 70.25, 80.0, 81.5],
        "born": [
            dt.date(1990, 1, 1),
            dt.date(1991, 6, 5),
            dt.date(1980, 2, 2),
            dt.date(1979, 3, 4),
        ],
        "city": ["a, b", "{c}", "[1, 2]", '"q"'],
        "income": [1, 2, 3, 4],
    }
)
TEXT = """\
halfmask = 1
[columns.age]
role = "quasi_identifier"
kind = "numeric"
[columns.weight]
role = "quasi_identifier"
kind = "numeric"
[columns.born]
role = "quasi_identifier"
kind = "datetime"
[columns.city]
role = "quasi_identifier"
kind = "categorical"
[columns.income]
role = "insensitive"
kind = "numeric"
[[guarantees]]
model = "k-anonymity"
k = 2
[output]
format = "FORMAT"
"""


def write(tmp_path, text=TEXT, people=PEOPLE, form="parquet"):
    out = tmp_path / "out"
    hm.protect(people, Policy.from_toml(text.replace("FORMAT", form))).write(out)
    return out


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl"])
def test_bounds_hold_each_person_and_have_the_original_types(tmp_path, form):
    rows = read_release(write(tmp_path, form=form))
    assert rows.schema == {
        "age_from": pl.Int64,
        "age_to": pl.Int64,
        "weight_from": pl.Float64,
        "weight_to": pl.Float64,
        "born_from": pl.Date,
        "born_to": pl.Date,
        "city": pl.List(pl.String),
        "income": pl.Int64,
    }
    joined = PEOPLE.join(rows, on="income", suffix="_set")
    for name in ("age", "weight", "born"):
        assert joined[name].is_between(joined[f"{name}_from"], joined[f"{name}_to"]).all()
    assert joined.select(pl.col("city").is_in(pl.col("city_set")).all()).item()


def test_midpoints_are_in_the_middle(tmp_path):
    rows = read_release(write(tmp_path), ranges="midpoints").sort("income")
    assert rows["age"].to_list() == [30.5, 30.5, 42.0, 42.0]
    assert rows["born"].dtype == pl.Datetime("us")
    assert rows["born"][0] == dt.datetime(1990, 9, 18)  # noqa: DTZ001 # tables hold local times


def test_text_is_what_the_files_hold(tmp_path):
    out = write(tmp_path)
    rows = read_release(out, ranges="text", sets="text")
    assert rows.equals(pl.read_parquet(out / "data"))


def test_rounded_ends_are_not_in_their_ranges(tmp_path):
    text = TEXT + '[recoding]\nname = "ranges"\nstep = 10\nunit = "year"\n'
    out = write(tmp_path, text)
    rows = read_release(out)
    assert set(rows["age_from"]) == {30, 40}
    assert set(rows["age_to"]) == {39, 49}
    assert set(read_release(out, ranges="midpoints")["age"]) == {34.5, 44.5}


def test_two_columns_of_ends_are_read_as_ranges_are(tmp_path):
    text = TEXT + '[recoding]\nname = "ranges"\nform = "bounds"\n'
    out = write(tmp_path, text)
    assert read_release(out).columns[:2] == ["age_from", "age_to"]
    assert read_release(out, ranges="midpoints").sort("income")["age"].to_list() == [
        *(30.5, 30.5, 42.0, 42.0)
    ]


def test_suppressed_cells_are_missing(tmp_path):
    people = pl.DataFrame({"age": [1, 1, None, None], "city": ["a", "a", None, None]})
    text = """\
halfmask = 1
[columns.age]
role = "quasi_identifier"
kind = "numeric"
[columns.city]
role = "quasi_identifier"
kind = "categorical"
[[guarantees]]
model = "k-anonymity"
k = 2
"""
    rows = read_release(write(tmp_path, text, people))
    assert rows["age_from"].null_count() == rows["city"].null_count() == 2
    assert set(rows["age_to"]) == {1, None}


def test_a_range_next_to_missing_cells_is_a_range(tmp_path):
    people = pl.DataFrame({"age": [1, 2, None]})
    text = (
        TEXT.split("[columns.weight]", maxsplit=1)[0]
        + '[[guarantees]]\nmodel = "k-anonymity"\nk = 3\n'
    )
    rows = read_release(write(tmp_path, text, people))
    assert rows.rows() == [(1, 2)] * 3


def test_a_set_that_is_cut_short_is_missing(tmp_path):
    people = pl.DataFrame({"city": [f"city {n}" for n in range(40)]})
    text = """\
halfmask = 1
[columns.city]
role = "quasi_identifier"
kind = "categorical"
[[guarantees]]
model = "k-anonymity"
k = 40
"""
    assert read_release(write(tmp_path, text, people))["city"].null_count() == 40


def test_a_changed_file_is_refused(tmp_path):
    out = write(tmp_path, form="csv")
    data = next((out / "data").iterdir())
    data.write_bytes(data.read_bytes().replace(b"40", b"41"))
    with pytest.raises(VerificationError, match="isn't the one"):
        read_release(out)
    data.unlink()
    with pytest.raises(VerificationError, match="isn't there"):
        read_release(out)


def test_masked_and_synthetic_rows_keep_their_types(tmp_path):
    text = """\
halfmask = 1
[columns.age]
role = "quasi_identifier"
kind = "numeric"
mask = { name = "round", base = 10 }
[output]
format = "csv"
"""
    rows = read_release(write(tmp_path, text, PEOPLE.select("age", "income").drop("income")))
    assert set(rows["age"]) <= {30, 40}


def test_what_is_no_release_of_rows_is_refused(tmp_path):
    with pytest.raises(VerificationError):
        read_release(tmp_path)
    with pytest.raises(ParameterError, match="must be the path"):
        read_release(PEOPLE)  # type: ignore[arg-type] # on purpose
    out = write(tmp_path)
    with pytest.raises(ParameterError, match="no copy 1"):
        read_release(out, copy=1)
    with pytest.raises(ParameterError, match="ranges"):
        read_release(out, ranges="middle")  # type: ignore[arg-type] # on purpose


def test_the_manifest_says_the_type_before_the_recoding(tmp_path):
    manifest = json.loads((write(tmp_path) / "manifest.json").read_text(encoding="utf-8"))
    originals = {it["name"]: it.get("original") for it in manifest["details"]["columns"]}
    assert originals == {
        "age": "Int64",
        "weight": "Float64",
        "born": "Date",
        "city": None,
        "income": None,
    }
