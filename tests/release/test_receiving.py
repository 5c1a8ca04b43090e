"""The lines on a page that read a release: its own file, its own columns, no hostile name."""

from __future__ import annotations

import re

import pytest

from halfmask.claims import DataFile, Manifest
from halfmask.release.receiving import reading_lines

RANGES = {"recoding": "ranges", "dtype": "String"}
AGE = {"name": "age", "kind": "numeric", "original": "Int64", **RANGES}
TOWN = {"name": "town", "kind": "categorical", **RANGES}
WAGE = {"name": "wage", "kind": "numeric", "recoding": None, "dtype": "Float64"}


def said(*columns, form="csv", files=1, details=True):
    """Return the sentence and the lines of a release."""
    parts = tuple(
        DataFile(name=f"data/part-{n:05}.{form}", format=form, sha256="0" * 64, n_bytes=1, n_rows=1)
        for n in range(files)
    )
    manifest = Manifest(
        kind="microdata",
        created="2026-11-21T09:00:00Z",
        software={},
        policy_sha256="0" * 64,
        files=parts,
        claims=(),
        details={"columns": list(columns)} if details else {},
    )
    return [sentence for block in reading_lines(manifest) for sentence in block.sentences]


def test_the_lines_name_the_file_and_the_columns_of_ranges_and_sets():
    about, lines = said(AGE, TOWN, WAGE)
    assert "ranges: age." in about
    assert "sets of categories: town." in about
    assert 'read.csv("data/part-00000.csv"' in lines
    assert 'import delimited "data/part-00000.csv"' in lines
    assert "impute_release" in lines
    assert "rows$age_from" in lines
    assert "generate age_to" in lines


def test_the_pattern_of_r_and_stata_finds_both_ends():
    """R's pattern has its backslashes twice; both match as Python's does."""
    _, lines = said(AGE)
    in_r, *_ = re.findall(r'age_from <- sub\("(.*?)", "', lines)
    in_stata, *_ = re.findall(r'ustrregexm\(age, "(.*?)"\)', lines)
    for pattern in (in_r.replace("\\\\", "\\"), in_stata):
        assert re.findall(pattern, "[-17, 25.5]") == [("-17", "25.5")]
        assert re.findall(pattern, "[10, 20) or missing") == [("10", "20")]
        assert re.findall(pattern, "25") == []


def test_unchanged_columns_need_no_draws():
    about, lines = said(WAGE)
    assert "biased" not in about
    assert "impute_release" not in lines
    assert "_from" not in lines


@pytest.mark.parametrize(
    ("form", "reader"),
    [("parquet", "read_parquet"), ("arrow", "read_feather"), ("jsonl", "stream_in")],
    ids=["parquet", "arrow", "jsonl"],
)
def test_other_formats_have_a_reader_in_r_and_stata_asks_for_csv(form, reader):
    lines = said(AGE, form=form, files=2)[1]
    assert f'{reader}({"file(" if form == "jsonl" else ""}"data/part-00000.{form}"' in lines
    assert "Read the other files alike" in lines
    assert 'Ask the owner for [output] format = "csv".' in lines


@pytest.mark.parametrize("word", ["if", "NULL", "float", "str12"])
def test_a_word_of_r_or_stata_is_in_no_line_of_code(word):
    _, lines = said({**AGE, "name": word}, AGE)
    assert f"{word}_from" not in lines
    assert "age_from" in lines


def test_a_name_that_is_no_plain_word_is_in_no_line_of_code():
    hostile = 'a"); system("x'
    about, lines = said({**AGE, "name": hostile})
    assert hostile in about
    assert "system" not in lines


@pytest.mark.parametrize("given", [{"details": False}, {"files": 0}, {"form": "json"}], ids=str)
def test_what_has_no_rows_has_no_lines(given):
    assert said(AGE, **given) == []
