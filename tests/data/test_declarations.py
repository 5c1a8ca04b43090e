"""Cells made what the caller says of them, and none lost on the way."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest

from halfmask._errors import ColumnNotFoundError, ColumnWarning, ParameterError, SchemaError
from halfmask.data import ReadOptions, open_table, write_table
from halfmask.data._declarations import (
    Coerced,
    Declaration,
    as_declared,
    check_declared,
    mark_missing,
)


def test_marked_texts_and_numbers_are_missing():
    """Numbers that a marker spells: it had no effect on them, and nobody was told."""
    frame = pl.DataFrame({"a": ["?", "x", None, " ?"], "n": [1, 2, 3, 4]})

    found = mark_missing(frame, ("?", "1"))

    assert found["a"].to_list() == [None, "x", None, " ?"]
    assert found["n"].to_list() == [None, 2, 3, 4]


at = dt.datetime.fromisoformat
MIDNIGHT, LATER = at("9999-12-31"), at("9999-12-31T00:00:01")


@pytest.mark.parametrize(
    ("cells", "dtype", "markers", "kept"),
    [
        ([MIDNIGHT.date(), dt.date(2000, 1, 1)], pl.Date(), ["9999-12-31"], [1]),
        ([MIDNIGHT.date(), dt.date(2000, 1, 1)], pl.Date(), ["2000-01-01T00:00:00"], [0]),
        ([MIDNIGHT.date()], pl.Date(), ["9999-12-31 00:00:01", "9999", "99991231", "-8"], [0]),
        ([MIDNIGHT, LATER], pl.Datetime("us"), ["9999-12-31"], [1]),
        ([MIDNIGHT, LATER], pl.Datetime("ms"), ["9999-12-31 00:00:01"], [0]),
        ([MIDNIGHT, LATER], pl.Datetime("ms"), ["9999-12-31 00:00:00.000001"], [0, 1]),
        ([MIDNIGHT, LATER], pl.Datetime("us"), ["9999-12-31T00:00:00Z"], [0, 1]),
        ([at("1970-01-01"), at("2000-01-01")], pl.Datetime("ns"),
         ["9999-12-31", "1970-01-01"], [1]),
        ([dt.time(0), dt.time(1, 2, 3, 4)], pl.Time(), ["00:00:00", "1"], [1]),
        ([dt.time(0), dt.time(1, 2, 3, 4)], pl.Time(), ["01:02:03.000004"], [0]),
        ([True, False, None], pl.Boolean(), ["false", "0"], [0, 2]),
    ],
)  # fmt: skip
def test_dates_times_and_truth_values_are_missing_where_a_marker_spells_them(
    cells, dtype, markers, kept
):
    frame = pl.DataFrame({"a": pl.Series(cells, dtype=dtype)})
    found = open_table(frame, options=ReadOptions(missing=markers)).read()
    assert found["a"].to_list() == [it if i in kept else None for i, it in enumerate(frame["a"])]
    assert found.schema == frame.schema


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_a_time_with_a_zone_is_compared_as_its_clock_shows_it(zone):
    frame = pl.DataFrame({"a": [at("1900-01-01"), at("2000-01-01")]})
    frame = frame.with_columns(pl.col("a").dt.replace_time_zone(zone))
    found = open_table(frame, options=ReadOptions(missing=("1900-01-01",))).read()["a"]
    assert found.to_list() == [None, frame["a"][1]]
    assert found.dtype == frame["a"].dtype


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_marked_day_is_missing_among_times_of_every_file(tmp_path, ending):
    frame = pl.DataFrame({"a": [MIDNIGHT, at("2000-01-01T12:00")], "n": [1, 2]})
    write_table(frame, tmp_path / f"t.{ending}")
    source = open_table(tmp_path / f"t.{ending}", options=ReadOptions(missing=("9999-12-31",)))
    assert source.read()["a"].to_list() == [None, frame["a"][1]]


@pytest.mark.parametrize("markers", [None, ()])
def test_without_markers_nothing_changes(markers):
    frame = pl.DataFrame({"a": ["", "x"]})

    assert mark_missing(frame, markers) is frame


def test_a_declared_type_is_taken_by_every_cell():
    frame = pl.DataFrame({"a": ["007", None], "b": [1.0, 2.0], "c": ["x", "y"]})

    said = Declaration(dtype=pl.Int64())
    found = as_declared(frame, {"a": said, "b": said, "gone": said}, Coerced(()))

    assert found.schema == {"a": pl.Int64(), "b": pl.Int64(), "c": pl.String()}
    assert found["a"].to_list() == [7, None]


@pytest.mark.parametrize(
    ("cells", "dtype", "lost"),
    [
        (["1", "CANARY", "2.5"], pl.Int64(), 2),
        ([1.5, 2.0, -0.5], pl.Int64(), 2),
        ([300, 1], pl.UInt8(), 1),
        (["2020-02-30"], pl.Date(), 1),
        ([20200101, 0], pl.Date(), 2),
        ([1.7e9], pl.Datetime("us"), 1),
        ([dt.date(2020, 1, 1)], pl.Int64(), 1),
        ([dt.datetime(2020, 1, 1, 10), dt.datetime(2020, 1, 1)], pl.Date(), 1),  # noqa: DTZ001
        ([dt.datetime(2020, 1, 1)], pl.Datetime("us", "UTC"), 1),  # noqa: DTZ001
        ([2**53 + 1, 1], pl.Float64(), 1),
        ([2, 1], pl.Boolean(), 1),
        (["12345678901234567", "1e400", "inf"], pl.Float64(), 2),
        (["2020-01-01T10:00:00Z"], pl.Datetime("us"), 1),
        (["2020-01-01T10:00:00"], pl.Datetime("us", "UTC"), 1),
    ],
)
def test_a_cell_that_does_not_fit_is_counted_and_not_named(cells, dtype, lost):
    frame = pl.DataFrame({"age": cells})

    with pytest.raises(SchemaError, match=f"'age' is declared to be .* and {lost} of") as error:
        as_declared(frame, {"age": Declaration(dtype=dtype)}, Coerced(()))
    assert "CANARY" not in str(error.value)


def test_a_type_for_a_column_that_is_not_there_is_refused():
    check_declared({"age": "integer"}, ["age", "sex"])
    with pytest.raises(ColumnNotFoundError, match="'age' for 'agee'"):
        check_declared({"agee": "integer"}, ["age", "sex"])


@pytest.mark.parametrize("format_", ["csv", "parquet", "jsonl", "frame"])
def test_cells_that_do_not_fit_are_missing_where_that_is_declared(format_, tmp_path):
    """They are counted once, before a row is read, and markers are told from mistakes."""
    table = pl.DataFrame({"age": ["41", "NA", "CANARY", None], "born": ["1.2.1980"] * 3 + ["x"]})
    file = tmp_path / f"t.{format_}"
    if format_ != "frame":
        write_table(table, file, format=format_)
    options = ReadOptions(
        dtypes={"age": "integer"}, date_formats={"born": "%d.%m.%Y"}, coerce=("age", "born")
    )

    with pytest.warns(ColumnWarning) as caught:
        source = open_table(table if format_ == "frame" else file, options=options)

    said = [str(each.message) for each in caught]
    assert [each.partition(" don't")[0] for each in said] == [
        "Column 'age': 2 of 3 cells",
        "Column 'born': 1 of 4 cells",
    ]
    assert "(1 are markers such as NA)" in said[0]
    assert "CANARY" not in "".join(said)
    day = dt.date(1980, 2, 1)
    assert source.read().rows() == [(41, day), (None, day), (None, day), (None, None)]


@pytest.mark.parametrize("options", [{"coerce": "age"}, {"coerce": ("age",)}])
def test_only_columns_of_which_something_is_said_are_coerced(options):
    with pytest.raises(ParameterError, match="coerce"):
        ReadOptions(**options)
