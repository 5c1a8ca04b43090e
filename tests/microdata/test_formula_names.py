"""Columns whose names a spreadsheet would run: guarded in CSV, and read so by the verifier."""

from __future__ import annotations

import csv
import json

import polars as pl
import pytest

import halfmask as hm
from halfmask.data import ReadOptions, open_table
from halfmask.verifier.tables.part import UnreadableError, open_part

N = 40
NAMES = ["=cmd()", "'=cmd()", "@sum", "-5", "+ 5", "\N{FULLWIDTH EQUALS SIGN}x", "a=b"]
IN_CSV = ["'=cmd()", "''=cmd()", "'@sum", "-5", "'+ 5", "'\N{FULLWIDTH EQUALS SIGN}x", "a=b"]


def released(tmp_path, fmt):
    table = pl.DataFrame({name: [i % (at + 2) for i in range(N)] for at, name in enumerate(NAMES)})
    columns = {name: {"role": "insensitive", "kind": "numeric"} for name in NAMES}
    columns["=cmd()"]["role"] = columns["+ 5"]["role"] = "quasi_identifier"
    columns["@sum"]["role"] = "sensitive"
    guarantees = [
        {"model": "k-anonymity", "k": 3},
        {"model": "distinct-l-diversity", "l": 2, "column": "@sum"},
    ]
    policy = hm.Policy(halfmask=1, columns=columns, guarantees=guarantees, output={"format": fmt})
    out = tmp_path / "out"
    hm.protect_to(table, policy, out)
    return out


def test_no_name_leaves_as_a_formula_and_the_verifier_agrees(tmp_path):
    out = released(tmp_path, "csv")
    [path] = (out / "data").glob("*.csv")

    with path.open(newline="") as file:
        assert next(csv.reader(file)) == IN_CSV
    manifest = json.loads((out / "manifest.json").read_text())
    assert [each["name"] for each in manifest["details"]["columns"]] == NAMES
    assert hm.verify(out).holds
    # As cells do, names keep the apostrophe where the file is read again.
    assert open_table(path, options=ReadOptions(header=True)).columns == tuple(IN_CSV)


@pytest.mark.parametrize("fmt", ["parquet", "jsonl"])
def test_other_formats_keep_the_names(tmp_path, fmt):
    out = released(tmp_path, fmt)
    [path] = (out / "data").glob(f"*.{fmt}")

    assert open_table(path).columns == tuple(NAMES)
    assert hm.verify(out).holds


def test_a_file_with_both_forms_of_one_name_is_not_read(tmp_path):
    """Else a column could stand in for another one."""
    path = tmp_path / "part.csv"
    path.write_text("=x,'=x\n1,2\n")

    with pytest.raises(UnreadableError, match="two columns of one name"):
        open_part(path, "csv")
