"""What was read, counted and shown must be what is there."""

from __future__ import annotations

import os

import polars as pl
import pytest

from halfmask import DataError, Policy, protect, verify

POLICY = """
halfmask = 1
[columns.age]
role = "quasi_identifier"
kind = "numeric"
[columns.pay]
role = "insensitive"
kind = "numeric"
[[guarantees]]
model = "k-anonymity"
k = 3
"""


def _people():
    return pl.DataFrame({"age": [20 + i % 7 for i in range(40)], "pay": range(40)})


def test_a_table_that_changes_between_reading_and_writing_is_an_error(tmp_path):
    path = tmp_path / "people.csv"
    _people().write_csv(path)
    release = protect(path, Policy.from_toml(POLICY))
    before = path.stat()
    _people().reverse().write_csv(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))

    with pytest.raises(DataError, match="changed"):
        release.write(tmp_path / "out")

    assert not (tmp_path / "out").exists()


def test_a_report_that_says_something_else_is_found(tmp_path):
    protect(_people(), Policy.from_toml(POLICY)).write(tmp_path / "out")
    assert verify(tmp_path / "out").holds

    (tmp_path / "out" / "report.html").write_text("<h1>k = 1000</h1>")

    found = verify(tmp_path / "out")
    assert not found.holds
    assert found.problems == ("The report isn't the one that was written.",)


def test_a_report_that_is_gone_is_found(tmp_path):
    protect(_people(), Policy.from_toml(POLICY)).write(tmp_path / "out")

    (tmp_path / "out" / "report.html").unlink()

    assert not verify(tmp_path / "out").holds
