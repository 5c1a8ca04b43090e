"""Coarsened dates start their unit, by Python's calendar."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import DataError, ParameterError, SchemaError
from halfmask.masks import CoarsenedDates
from masks.masking import masked  # type: ignore[import-not-found] # beside, not in a package


def start(date, to):
    """Return the start of the unit of a date, or of a date and time."""
    if isinstance(date, dt.datetime):
        if to == "hour":
            return date.replace(minute=0, second=0, microsecond=0)
        day = dt.datetime.combine(start(date.date(), to), dt.time(), date.tzinfo)
        return day.replace(fold=0)
    if to == "week":
        return date - dt.timedelta(days=date.weekday())
    month = {"year": 1, "quarter": (date.month - 1) // 3 * 3 + 1}.get(to, date.month)
    return date if to == "day" else date.replace(month=month, day=1)


@pytest.mark.slow
@given(
    dates=st.lists(st.none() | st.dates(dt.date(1, 1, 10)), max_size=30),
    to=st.sampled_from(["year", "quarter", "month", "week"]),
)
def test_dates_start_their_unit(dates, to):
    """From the year 1 on, before and after 1970."""
    found = masked(CoarsenedDates(to=to), pl.Series("born", dates, dtype=pl.Date))

    assert found.to_list() == [None if it is None else start(it, to) for it in dates]


@pytest.mark.slow
@given(
    times=st.lists(st.none() | st.datetimes(dt.datetime(1700, 1, 1)), max_size=30),  # noqa: DTZ001 # local
    to=st.sampled_from(["year", "quarter", "month", "week", "day", "hour"]),
    unit=st.sampled_from(["us", "ms"]),
)
def test_times_start_their_unit(times, to, unit):
    """Of either precision, which stays."""
    column = pl.Series("seen", times, dtype=pl.Datetime("us")).cast(pl.Datetime(unit))

    found = masked(CoarsenedDates(to=to), column)

    assert found.to_list() == [None if it is None else start(it, to) for it in column]


def test_the_clock_is_that_of_the_zone():
    """Half past midnight in Berlin is the day before in UTC; summer time is another offset."""
    zone = ZoneInfo("Europe/Berlin")
    times = [dt.datetime(2024, month, 1, 0, 30, tzinfo=zone) for month in (1, 7)]
    column = pl.Series("seen", times, dtype=pl.Datetime("us", "Europe/Berlin"))

    for to in ("year", "month", "day", "hour"):
        found = masked(CoarsenedDates(to=to), column)
        assert found.to_list() == [start(it, to) for it in times]


@pytest.mark.parametrize(
    ("zone", "day", "first"),
    [
        ("Asia/Beirut", dt.datetime(2022, 3, 27), 1),  # noqa: DTZ001 # had no midnight
        ("America/Havana", dt.datetime(2022, 11, 6), 0),  # noqa: DTZ001 # had two
        ("Europe/Berlin", dt.datetime(2022, 11, 6), 0),  # noqa: DTZ001 # had one
    ],
)
def test_a_day_has_one_start_whatever_the_clock(zone, day, first):
    """Each minute of the day becomes its first moment."""
    moments = pl.datetime_range(
        day - dt.timedelta(hours=3), day + dt.timedelta(hours=30), "10m", eager=True
    ).dt.replace_time_zone("UTC")
    column = moments.dt.convert_time_zone(zone).alias("seen")
    column = column.filter(column.dt.date() == day.date())

    found = masked(CoarsenedDates(to="day"), column)

    assert found.unique().to_list() == [day.replace(hour=first, tzinfo=ZoneInfo(zone))]
    assert found[0] == column.min()


def test_a_start_that_the_type_has_no_room_for_is_refused():
    """Nanoseconds begin in September 1677."""
    column = pl.Series("seen", [dt.datetime(1677, 10, 1)]).cast(pl.Datetime("ns"))  # noqa: DTZ001 # local

    with pytest.raises(DataError, match="'seen' has dates whose year starts before") as refused:
        masked(CoarsenedDates(to="year"), column)
    assert "1677" not in str(refused.value)


@pytest.mark.parametrize(
    ("dtype", "to"), [(pl.Date(), "day"), (pl.Date(), "hour"), (pl.String(), "year")]
)
def test_other_columns_and_units_are_refused(dtype, to):
    """A date has no hours; texts have no calendar."""
    with pytest.raises(SchemaError, match="'born'"):
        CoarsenedDates(to=to).written("born", dtype)


def test_there_are_no_other_units():
    """By name."""
    with pytest.raises(ParameterError, match="'to'"):
        CoarsenedDates(to="decade")  # type: ignore[arg-type] # the fault
