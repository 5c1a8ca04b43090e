"""Dates that aren't written by ISO 8601 are read as they are said to be written."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest

from halfmask._errors import ColumnNotFoundError, ParameterError, SchemaError
from halfmask.data import ReadOptions, describe, open_table, write_table

DAYS = [dt.date(1965, 5, 4), None, dt.date(2004, 12, 31)]
TABLE = pl.DataFrame({"born": ["04.05.1965", None, "31.12.2004"], "note": ["04.05.1965", "a", "b"]})
OPTIONS = ReadOptions(date_formats={"born": "%d.%m.%Y"})


@pytest.mark.parametrize("format_", ["csv", "parquet", "arrow", "jsonl", "frame"])
def test_they_are_dates_in_every_format(tmp_path, format_):
    file = tmp_path / f"t.{format_}"
    if format_ != "frame":
        write_table(TABLE, file, format=format_)

    source = open_table(TABLE if format_ == "frame" else file, options=OPTIONS)

    assert source.dtypes == {"born": pl.Date, "note": pl.String}
    assert source.read()["born"].to_list() == DAYS
    assert source.read()["note"].to_list() == TABLE["note"].to_list()


def test_an_hour_makes_them_points_in_time():
    table = pl.DataFrame({"seen": ["1/31/2024 7:05", "12/1/2024 23:59"]})

    read = open_table(table, options=ReadOptions(date_formats={"seen": "%m/%d/%Y %H:%M"})).read()

    assert read["seen"].dt.to_string("%Y-%m-%d %H:%M").to_list() == [
        "2024-01-31 07:05",
        "2024-12-01 23:59",
    ]


def test_a_cell_that_does_not_fit_is_counted_and_not_quoted(tmp_path):
    write_table(TABLE.with_columns(born=pl.Series(["04.05.1965", "CANARY", "31.13.2004"])),
                tmp_path / "t.csv")  # fmt: skip

    with pytest.raises(SchemaError, match=r"'born' .* 2 of 3 cells") as caught:
        open_table(tmp_path / "t.csv", options=OPTIONS)

    assert "CANARY" not in str(caught.value)


def test_a_column_that_is_not_there_is_an_error():
    with pytest.raises(ColumnNotFoundError):
        open_table(TABLE, options=ReadOptions(date_formats={"birth": "%d.%m.%Y"}))


@pytest.mark.parametrize("format_", ["%d.%m", "x", "%Q", "%Y", 5])
def test_a_format_that_spells_no_whole_date_is_refused(format_):
    with pytest.raises(ParameterError, match="'born'"):
        ReadOptions(date_formats={"born": format_})


@pytest.mark.parametrize(
    "format_",
    ["%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S%.f", "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y",
     "%d.%m.%Y %H:%M", "%d-%m-%Y", "%Y/%m/%d", "%d-%b-%Y"],
)  # fmt: skip
def test_what_describe_finds_can_be_read(format_):
    moments = [dt.datetime(2001, 1 + i % 12, 1 + i % 28, i % 24, i % 60) for i in range(60)]  # noqa: DTZ001 - tables hold local times
    table = pl.DataFrame({"born": pl.Series(moments).dt.strftime(format_)})

    found = describe(table)["born"].date_format

    assert found == format_
    options = ReadOptions(date_formats={"born": format_})
    assert (
        open_table(table, options=options).read()["born"].dt.strftime(format_).equals(table["born"])
    )
