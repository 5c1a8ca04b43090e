"""One calendar: the clock of a zone, against that of the standard library."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.data import day_of, local_times, moved_by_days, next_unit_start, unit_start

ZONES = [
    "UTC",
    "Europe/Berlin",
    "America/Sao_Paulo",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "America/Toronto",
]


def zoned(moments, zone):
    utc = pl.Series("t", moments, dtype=pl.Datetime("us")).dt.replace_time_zone("UTC")
    return utc.dt.convert_time_zone(zone)


@pytest.mark.slow
@given(
    moments=st.lists(
        st.datetimes(dt.datetime(1850, 1, 1), dt.datetime(2030, 1, 1)),  # noqa: DTZ001 # UTC
        min_size=1,
        max_size=20,
    ),
    zone=st.sampled_from(ZONES),
    unit=st.sampled_from(["day", "week", "month", "quarter", "year"]),
)
def test_each_time_lies_in_one_unit_of_its_clock(moments, zone, unit):
    times = zoned(moments, zone)
    starts = unit_start(times, unit)
    ends = next_unit_start(starts, unit)

    clocks = [it.replace(tzinfo=dt.UTC).astimezone(ZoneInfo(zone)) for it in moments]
    assert day_of(times).to_list() == [it.date() for it in clocks]
    assert ((starts <= times) & (times < ends)).all()
    # The moment before an end has another day than the end, and the end starts its own unit.
    before = ends - dt.timedelta(microseconds=1)
    assert (unit_start(before, unit) == starts).all()
    assert (unit_start(ends, unit) == ends).all()


def test_a_day_whose_midnight_is_skipped_starts_with_its_first_moment():
    """In Toronto on 31 March 1919, clocks went from half past eleven to half past midnight."""
    times = pl.datetime_range(
        dt.datetime(1919, 3, 31, 4, 0),  # noqa: DTZ001 # UTC
        dt.datetime(1919, 3, 31, 8, 0),  # noqa: DTZ001 # UTC
        "10m",
        eager=True,
    ).dt.replace_time_zone("UTC")
    times = times.dt.convert_time_zone("America/Toronto")

    starts = unit_start(times, "day").unique().sort()

    assert [str(it.time()) for it in starts] == ["00:00:00", "00:30:00"]
    assert (unit_start(times, "day") <= times).all()


@pytest.mark.slow
@given(
    moments=st.lists(
        st.datetimes(dt.datetime(2000, 1, 1), dt.datetime(2030, 1, 1)),  # noqa: DTZ001 # UTC
        min_size=1,
        max_size=20,
    ),
    days=st.integers(-400, 400),
    zone=st.sampled_from(ZONES),
    unit=st.sampled_from(["ms", "us", "ns"]),
)
def test_times_keep_the_time_of_their_clock(moments, days, zone, unit):
    times = zoned(moments, zone).cast(pl.Datetime(unit, zone))
    found = moved_by_days(times, pl.Series([days] * len(times)))

    assert found.dtype == times.dtype
    for before, after in zip(times, found, strict=True):
        wanted = before.replace(tzinfo=None) + dt.timedelta(days=days)
        there = wanted.replace(tzinfo=ZoneInfo(zone)).astimezone(dt.UTC)
        # A time that the clock skips comes later, by what is skipped: as fold=0 of PEP 495 has it.
        assert after.astimezone(dt.UTC) == there


@pytest.mark.parametrize(
    ("zone", "clock", "utc"),
    [
        ("Europe/Berlin", "2021-01-01 00:00", "2020-12-31 23:00"),
        ("Europe/Berlin", "2024-03-31 02:30", "2024-03-31 01:30"),  # skipped
        ("Europe/Berlin", "2024-10-27 02:30", "2024-10-27 00:30"),  # twice
        ("Pacific/Apia", "2011-12-30 05:00", "2011-12-30 15:00"),  # a day without clock
    ],
)
def test_a_time_without_a_zone_is_one_of_the_clock(zone, clock, utc):
    found = local_times(pl.Series([clock]).str.to_datetime(), pl.Datetime("us", zone))

    assert found.dt.convert_time_zone("UTC")[0] == dt.datetime.fromisoformat(f"{utc}+00:00")
