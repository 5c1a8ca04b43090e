"""The base installation has no pyarrow: releases are verified and read with polars alone."""

from __future__ import annotations

import sys

import polars as pl
import pytest

import halfmask as hm
from halfmask._errors import MissingDependencyError

PEOPLE = pl.DataFrame(
    {"whose": [1, 1, 2, 3, 4], "age": [30, 31, 40, 44, 45], "city": ["a", "a", "b", "b", "b"]}
)
CLASSES = """\
halfmask = 1
person = "whose"
[columns]
whose = { role = "identifier" }
age = { role = "quasi_identifier", kind = "numeric" }
city = { role = "quasi_identifier", kind = "categorical" }
[[guarantees]]
model = "k-anonymity"
k = 2
[output]
format = "FORMAT"
"""
MASKED = """\
halfmask = 1
[columns]
whose = { role = "identifier" }
age = { role = "quasi_identifier", kind = "numeric", mask = { name = "round", base = 10 } }
city = { role = "quasi_identifier", kind = "categorical" }
[output]
format = "FORMAT"
"""


@pytest.fixture
def without(monkeypatch):
    """A function after which nothing can import pyarrow."""

    def hide():
        hidden = {name for name in sys.modules if name.partition(".")[0] == "pyarrow"}
        for name in hidden | {"pyarrow"}:
            monkeypatch.setitem(sys.modules, name, None)
        monkeypatch.setattr("halfmask._foreign.find_spec", lambda name: name != "pyarrow" or None)

    return hide


@pytest.mark.parametrize("form", ["parquet", "arrow", "csv", "jsonl"])
def test_classes_and_their_persons_are_counted(tmp_path, without, form):
    policy = hm.Policy.from_toml(CLASSES.replace("FORMAT", form))
    persons = tmp_path / "persons.parquet"
    hm.protect(PEOPLE, policy).write(tmp_path / "out", persons=persons)
    without()
    found = hm.verify(tmp_path / "out", persons=persons)
    assert found.holds
    assert all(claim.holds for claim in found.claims)


@pytest.mark.parametrize("form", ["parquet", "arrow", "csv", "jsonl"])
def test_masked_rows_are_counted(tmp_path, without, form):
    hm.mask(PEOPLE, hm.Policy.from_toml(MASKED.replace("FORMAT", form))).write(tmp_path / "out")
    without()
    assert hm.verify(tmp_path / "out").holds


def test_parquet_is_read(tmp_path, without):
    release = hm.protect(PEOPLE.drop("whose"), quasi_identifiers=["age", "city"], k=2)
    release.write(tmp_path / "out")
    before = hm.read_release(tmp_path / "out")
    without()
    assert hm.read_release(tmp_path / "out").equals(before)


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_other_tables_name_the_extra(tmp_path, without, name):
    PEOPLE.write_csv(tmp_path / "rows.csv")
    PEOPLE.write_parquet(tmp_path / "rows.parquet")
    without()
    with pytest.raises(MissingDependencyError) as refused:
        hm.describe(tmp_path / name)
    assert refused.value.hint == (
        "Install the extra that has it: pip install 'halfmask[describe]'."
    )
