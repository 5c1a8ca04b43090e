"""Files of SPSS, Stata and SAS: values, labels, missing values, chunks."""

from __future__ import annotations

import datetime as dt
import sys

import polars as pl
import pytest

from halfmask._errors import DataError, MissingDependencyError
from halfmask.data import ReadOptions, open_table
from halfmask.data.io import _statistical

pyreadstat = pytest.importorskip("pyreadstat")

AT = dt.datetime(2020, 5, 17, 10, 30)  # noqa: DTZ001 - these files have no zones
FRAME = pl.DataFrame(
    {
        "sex": [2.0, 1.0, None, 2.0],
        "income": [100.5, 99.0, 3.0, 4.0],
        "n": [1, 2, 3, 4],
        "name": ["Ann", "", "Cem", "Dora"],
        "born": [dt.date(1990, 1, 1), None, dt.date(1991, 1, 1), dt.date(1992, 1, 1)],
        "at": [AT] * 4,
    }
)
LABELS = {"sex": {1: "female", 2: "male"}}
EXPECTED = {
    "income": [100.5, 99.0, 3.0, 4.0],
    "n": [1, 2, 3, 4],
    "name": ["Ann", None, "Cem", "Dora"],
    "born": FRAME["born"].to_list(),
}


@pytest.mark.parametrize(
    ("name", "write", "form"),
    [
        ("a.sav", pyreadstat.write_sav, "spss"),
        ("a.zsav", lambda *args: pyreadstat.write_sav(*args, compress=True), "spss"),
        ("a.dta", pyreadstat.write_dta, "stata"),
        ("a.xpt", pyreadstat.write_xport, "sas"),
    ],
)
def test_values_are_those_of_the_file(tmp_path, name, write, form):
    write(FRAME, str(tmp_path / name))

    source = open_table(tmp_path / name)

    found = source.read()
    assert (source.format, source.columns) == (form, tuple(FRAME.columns))
    assert {column: found[column].to_list() for column in EXPECTED} == EXPECTED
    assert found["at"].to_list() == [AT] * 4
    assert found["sex"].to_list() == [2, 1, None, 2]
    assert found.schema["n"] == found.schema["sex"] == pl.Int64


def test_a_file_is_read_under_any_name_and_from_any_batch_size(tmp_path):
    pyreadstat.write_sav(FRAME, str(tmp_path / "people"))

    batches = list(open_table(tmp_path / "people").batches(3, columns=["n"]))

    assert [batch["n"].to_list() for batch in batches] == [[1, 2, 3], [4]]


def test_labels_of_all_values_become_texts_in_the_order_of_their_codes(tmp_path):
    pyreadstat.write_sav(FRAME, str(tmp_path / "a.sav"), variable_value_labels=LABELS)

    source = open_table(tmp_path / "a.sav")

    assert source.read()["sex"].to_list() == ["male", "female", None, "male"]
    assert source.orders == {"sex": ("female", "male")}


@pytest.mark.parametrize(
    "labels",
    [
        {"income": {99: "refused"}},
        {"n": {1: "low", 2: "low", 3: "high", 4: "high"}},
    ],
)
def test_labels_of_some_values_or_shared_ones_leave_the_numbers(tmp_path, labels):
    pyreadstat.write_sav(FRAME, str(tmp_path / "a.sav"), variable_value_labels=labels)

    source = open_table(tmp_path / "a.sav")

    assert {name: source.read()[name].to_list() for name in EXPECTED} == EXPECTED
    assert source.orders == {}


def test_a_value_that_only_a_late_chunk_has_decides_for_all(tmp_path, monkeypatch):
    """The types, and whether a column is labelled, follow from all rows."""
    monkeypatch.setattr(_statistical, "_CHUNK_CELLS", 2)
    frame = pl.DataFrame({"a": [1.0, 2.0, 3.5], "b": [1.0, 1.0, 2.0], "c": [None, None, "x"]})
    pyreadstat.write_sav(frame, str(tmp_path / "a.sav"), variable_value_labels={"b": {1: "one"}})

    assert open_table(tmp_path / "a.sav").read().to_dict(as_series=False) == {
        "a": [1.0, 2.0, 3.5],
        "b": [1, 1, 2],
        "c": [None, None, "x"],
    }


def test_values_declared_missing_are_missing(tmp_path):
    pyreadstat.write_sav(FRAME, str(tmp_path / "a.sav"), missing_ranges={"n": [4]})

    assert open_table(tmp_path / "a.sav").read()["n"].to_list() == [1, 2, 3, None]


def test_declared_types_apply(tmp_path):
    pyreadstat.write_sav(FRAME, str(tmp_path / "a.sav"))

    options = ReadOptions(dtypes={"n": "string"}, missing=("Ann",))
    found = open_table(tmp_path / "a.sav", options=options).read()

    assert found["n"].to_list() == ["1", "2", "3", "4"]
    assert found["name"].to_list()[0] is None


def test_a_damaged_file_is_refused(tmp_path):
    path = tmp_path / "a.sav"
    pyreadstat.write_sav(FRAME, str(path))
    path.write_bytes(path.read_bytes()[:300])

    with pytest.raises(DataError, match="can't be read as spss"):
        open_table(path)


def test_a_folder_of_such_files_is_refused(tmp_path):
    for name in ("a.sav", "b.sav"):
        pyreadstat.write_sav(FRAME, str(tmp_path / name))

    with pytest.raises(DataError, match="a folder of 2 files"):
        open_table(tmp_path)


def test_the_extra_is_named_where_it_is_absent(tmp_path, monkeypatch):
    pyreadstat.write_sav(FRAME, str(tmp_path / "a.sav"))
    monkeypatch.setattr(
        "halfmask._foreign.find_spec", lambda name: None if name == "pyreadstat" else sys
    )

    with pytest.raises(MissingDependencyError, match="needs pyreadstat"):
        open_table(tmp_path / "a.sav")
