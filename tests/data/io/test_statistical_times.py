"""Dates and times of SPSS, Stata and SAS, by the calendar of the standard library."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest

from halfmask._errors import DataError, SchemaError
from halfmask.data import open_table

pyreadstat = pytest.importorskip("pyreadstat")

DAY = 86_400.0
SPSS = (dt.date(2020, 3, 5) - dt.date(1582, 10, 14)).days * DAY
SAS = (dt.date(2020, 3, 5) - dt.date(1960, 1, 1)).days
NOON = dt.datetime(2020, 3, 5, 12, 0, 0, 500_000)  # noqa: DTZ001 # a statistical file has no zones
WRITE = {"sav": "write_sav", "dta": "write_dta", "xpt": "write_xport"}


def read(tmp_path, end, format_, *numbers):
    path = str(tmp_path / f"a.{end}")
    frame = pl.DataFrame({"seen": [*numbers, None]}, schema={"seen": pl.Float64})
    getattr(pyreadstat, WRITE[end])(frame, path, variable_format={"seen": format_})
    return open_table(path).read()["seen"]


@pytest.mark.parametrize(
    ("end", "format_", "number", "wanted"),
    [
        *(("sav", it, SPSS, NOON.date()) for it in ("DATE11", "MOYR8", "QYR8", "WKYR8", "JDATE7")),
        ("sav", "DATE11", SPSS + DAY / 2 + 0.5, NOON),
        ("sav", "DATETIME22.2", SPSS + DAY / 2 + 0.5, NOON),
        ("sav", "DATETIME20", SPSS, dt.datetime(2020, 3, 5)),  # noqa: DTZ001 # as above
        ("sav", "TIME11.2", 3.25, dt.time(0, 0, 3, 250_000)),
        ("sav", "TIME8", 86_400.0, dt.timedelta(days=1)),
        ("sav", "TIME11.2", 100_000.5, dt.timedelta(seconds=100_000.5)),
        ("sav", "TIME8", -1.0, dt.timedelta(seconds=-1)),
        ("sav", "DTIME11", 3.0, dt.timedelta(seconds=3)),
        ("sav", "MTIME8.2", 90.5, dt.time(0, 1, 30, 500_000)),
        ("dta", "%tdCCYY-NN-DD", float(SAS), NOON.date()),
        ("dta", "%tcHH:MM:SS", (SAS + 0.5) * DAY * 1000 + 500, NOON),
        ("dta", "%tm", 60 * 12 + 2.0, dt.date(2020, 3, 1)),
        ("dta", "%tq", -1.0, dt.date(1959, 10, 1)),
        ("dta", "%th", 121.0, dt.date(2020, 7, 1)),
        ("dta", "%tw", 60 * 52 + 1.0, dt.date(2020, 1, 8)),
        ("xpt", "DATE9", float(SAS), NOON.date()),
        ("xpt", "MONYY7", float(SAS), NOON.date()),
        ("xpt", "DTDATE9", (SAS + 0.5) * DAY + 0.5, NOON),
        ("xpt", "TIME8", 100_000.0, dt.timedelta(seconds=100_000)),
    ],
)
def test_numbers_are_the_times_that_their_format_says(tmp_path, end, format_, number, wanted):
    found = read(tmp_path, end, format_, number)

    assert found.to_list() == [wanted, None]
    assert type(found[0]) is type(wanted)


def test_one_type_holds_all_rows(tmp_path):
    """One day with a time, or one time beyond a day, changes the type and no other cell."""
    assert read(tmp_path, "sav", "DATE11", SPSS, SPSS + 1)[0] == dt.datetime(2020, 3, 5)  # noqa: DTZ001
    assert read(tmp_path, "sav", "TIME8", 3.0, 90_000.0)[0] == dt.timedelta(seconds=3)


@pytest.mark.parametrize(("end", "format_"), [("sav", "DATETIME20"), ("dta", "%tm")])
def test_numbers_that_are_no_times_are_refused(tmp_path, end, format_):
    with pytest.raises(DataError, match="'seen' has 1 "):
        read(tmp_path, end, format_, 1e300, 3.0)


@pytest.mark.parametrize("format_", ["%tC", "%tbnyse"])
def test_what_counts_leap_seconds_or_business_days_is_refused(tmp_path, format_):
    with pytest.raises(SchemaError, match="'seen' has a display format"):
        read(tmp_path, "dta", format_, 3.0)
