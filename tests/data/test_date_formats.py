"""Dates that aren't written by ISO 8601 are read as they are said to be written."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest

from halfmask._errors import ColumnNotFoundError, ColumnWarning, ParameterError, SchemaError
from halfmask.data import ReadOptions, open_table, write_table
from halfmask.description import describe

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


@pytest.mark.parametrize("format_", ["%d.%m", "x", "%Q", "%Y", "%d.%m.%Y %H", "%d.%m.%Y %Z", 5])
def test_a_format_that_spells_no_whole_date_is_refused(format_):
    with pytest.raises(ParameterError, match="'born'"):
        ReadOptions(date_formats={"born": format_})


def read(texts, format_, **options):
    table = pl.DataFrame({"born": texts})
    return open_table(table, options=ReadOptions(date_formats={"born": format_}, **options)).read()[
        "born"
    ]


def test_years_of_two_digits_are_of_the_declared_hundred_years():
    """31-12-48 as a date of birth is 1948; strptime's own rule makes it 2048."""
    found = read(["31-12-48", "01-01-29", "29-02-00"], "%d-%m-%y", first_years={"born": 1930})

    assert found.to_list() == [dt.date(1948, 12, 31), dt.date(2029, 1, 1), dt.date(2000, 2, 29)]


def test_a_leap_day_that_the_century_does_not_have_is_no_date():
    with pytest.raises(SchemaError, match="1 of 1 cells"):
        read(["29-02-00"], "%d-%m-%y", first_years={"born": 1850})


@pytest.mark.parametrize(
    ("formats", "years"),
    [("%d-%m-%y", None), ("%d-%m-%Y", 1930), ("%d-%m-%y", "1930"), ("%d-%m-%y", 30)],
)
def test_two_digits_need_a_century_and_four_have_one(formats, years):
    with pytest.raises(ParameterError, match="'born'"):
        ReadOptions(
            date_formats={"born": formats}, first_years={} if years is None else {"born": years}
        )


@pytest.mark.parametrize(
    ("text", "format_"),
    [
        ("31.12.48", "%d.%m.%Y"),
        ("1021990", "%Y%m%d"),
        ("1111990", "%Y%m%d"),
        ("2020-01-01 10:00:60", "%Y-%m-%d %H:%M:%S"),
        ("2020-01-01 10:00:00.1234567", "%Y-%m-%d %H:%M:%S%.f"),
    ],
)
def test_what_would_become_another_time_is_not_read(text, format_):
    """polars takes 48 for the year 48, cuts digits where it can, and lets second 60 pass."""
    with pytest.raises(SchemaError, match="1 of 1 cells"):
        read([text], format_)


@pytest.mark.parametrize(
    ("text", "format_", "day"),
    [
        ("01021990", "%d%m%Y", dt.date(1990, 2, 1)),
        ("1021990", "%d%m%Y", dt.date(1990, 2, 1)),
        ("3 January 1990", "%d %B %Y", dt.date(1990, 1, 3)),
        ("Jan 3, 1990", "%b %d, %Y", dt.date(1990, 1, 3)),
        (" 3.1.1990 ", "%d.%m.%Y", dt.date(1990, 1, 3)),
    ],
)
def test_dates_in_words_and_in_digits(text, format_, day):
    assert read([text], format_).to_list() == [day]


@pytest.mark.parametrize("numbers", [[1021990, 31121985], [1021990.0, 31121985.0]])
def test_dates_in_a_column_of_numbers_are_read_by_their_digits(numbers):
    """A number is no count of days: 31121985 days after 1970 would be another date."""
    found = read(numbers, "%d%m%Y")

    assert found.to_list() == [dt.date(1990, 2, 1), dt.date(1985, 12, 31)]


def test_times_of_the_afternoon_and_with_an_offset():
    afternoon = read(["1/31/2024 7:05 PM", "12/1/2024 12:00 am"], "%m/%d/%Y %I:%M %p")
    away = read(["01/Jan/2020:00:30:00 +0200"], "%d/%b/%Y:%H:%M:%S %z")

    assert afternoon.dt.to_string("%Y-%m-%d %H:%M").to_list() == [
        "2024-01-31 19:05",
        "2024-12-01 00:00",
    ]
    assert away.to_list() == [dt.datetime(2019, 12, 31, 22, 30, tzinfo=dt.UTC)]


def test_a_zone_beside_none_is_not_the_same_time():
    moments = ["2020-01-01T10:00:00Z", "2020-01-01T10:00:00", "2020-01-01 12:00+02:00"]

    def typed(dtype):
        return open_table(
            pl.DataFrame({"seen": moments}),
            options=ReadOptions(dtypes={"seen": dtype}, coerce=("seen",)),
        ).read()["seen"]

    with pytest.warns(ColumnWarning, match="'seen': 1 of 3 cells"):
        utc = typed("datetime_utc")
    with pytest.warns(ColumnWarning, match="'seen': 2 of 3 cells"):
        local = typed("datetime")

    ten = dt.datetime(2020, 1, 1, 10, tzinfo=dt.UTC)
    assert utc.to_list() == [ten, None, ten]
    assert local.to_list() == [None, ten.replace(tzinfo=None), None]


@pytest.mark.parametrize("formats", [{}, {"seen": "%Y-%m-%d %H:%M%z"}])
def test_a_declared_zone_says_whose_clock_counts(formats):
    """Half past midnight in Berlin is a day of UTC before; the moments stay."""
    table = pl.DataFrame({"seen": ["2021-01-01 00:30+01:00", "2021-07-01 00:30+02:00"]})
    options = ReadOptions(dtypes={"seen": "datetime_Europe/Berlin"}, date_formats=formats)

    found = open_table(table, options=options).read()["seen"]

    assert found.dtype == pl.Datetime("us", "Europe/Berlin")
    assert found.dt.date().to_list() == [dt.date(2021, 1, 1), dt.date(2021, 7, 1)]
    assert found[0] == dt.datetime(2020, 12, 31, 23, 30, tzinfo=dt.UTC)


@pytest.mark.parametrize("zone", ["Europe/Berlyn", "", "/etc/passwd", "CET\0"])
def test_a_zone_that_is_not_known_is_refused(zone):
    with pytest.raises(ParameterError, match="'seen' names a time zone that isn't known"):
        ReadOptions(dtypes={"seen": f"datetime_{zone}"})


@pytest.mark.slow
@pytest.mark.parametrize(
    "format_",
    ["%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%d.%m.%Y %H:%M", "%d-%m-%Y", "%Y/%m/%d", "%d-%b-%Y",
     "%d %B %Y", "%B %d, %Y", "%d%m%Y", "%Y%m%d", "%m/%d/%Y %I:%M %p", "%d-%m-%y", "%m/%d/%y",
     "%d/%b/%Y:%H:%M:%S %z"],
)  # fmt: skip
def test_what_describe_finds_can_be_read(format_):
    moments = [
        dt.datetime(1961 + i % 40, 1 + i % 12, 1 + i % 28, i % 24, i % 60, tzinfo=dt.UTC)
        for i in range(60)
    ]
    table = pl.DataFrame({"born": pl.Series(moments).dt.strftime(format_)})

    form = describe(table)["born"].form

    assert form is not None
    assert (form.date_format, form.unread) == (format_, 0)
    years = {} if form.first_year is None else {"born": form.first_year}
    options = ReadOptions(date_formats={"born": format_}, first_years=years)
    found = open_table(table, options=options).read()["born"]
    assert found.dt.date().to_list() == [moment.date() for moment in moments]


@pytest.mark.parametrize("word", ["date", "datetime", "datetime_utc"])
def test_iso_needs_no_format(word):
    texts = {"date": "2020-01-02", "datetime": "2020-01-02T10:00", "datetime_utc": "2020-01-02T10Z"}
    texts["datetime_utc"] = "2020-01-02T10:00:00.5+05:30"
    form = describe(pl.DataFrame({"seen": [texts[word]] * 5}))["seen"].form

    assert form is not None
    assert (form.dtype, form.date_format) == (word, None)
