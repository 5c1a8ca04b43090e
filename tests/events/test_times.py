"""What is done to times, held against datetime and zoneinfo."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from events.running import one, run  # type: ignore[import-not-found] # beside, not in a package
from halfmask import PolicyError
from halfmask.events import SecretTable
from halfmask.events.block._times import Zone

ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe"]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TIMES = st.datetimes(
    min_value=datetime(1920, 1, 1),  # noqa: DTZ001 # zones are given below
    max_value=datetime(2100, 1, 1),  # noqa: DTZ001 # as above
    timezones=st.just(UTC),
)
EVERY = {
    "1 minute": timedelta(minutes=1),
    "15 minutes": timedelta(minutes=15),
    "6 hours": timedelta(hours=6),
    "1 day": timedelta(days=1),
}


def _micros(time):
    return (time - EPOCH) // timedelta(microseconds=1)


@settings(max_examples=100)
@given(st.lists(TIMES, min_size=1, max_size=8), st.sampled_from(ZONES))
def test_zones_are_those_of_zoneinfo(times, name):
    """How far a clock is before UTC, and back again where the clock isn't put back."""
    utc = np.array([_micros(it) for it in times])
    info = ZoneInfo(name)
    expected = [it.astimezone(info).utcoffset() // timedelta(microseconds=1) for it in times]
    zone = Zone(name)

    ahead = zone.ahead(utc)
    back, there = zone.utc(utc + ahead)

    assert ahead.tolist() == expected
    assert there.all()
    for time, found in zip(times, back.tolist(), strict=True):
        clock = time.astimezone(info).replace(fold=0)
        assert found == _micros(clock.astimezone(UTC))


@pytest.mark.parametrize("name", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"])
def test_every_half_hour_around_changes(name):
    """Also in the nights in which clocks are changed, to the minute; skipped times are known."""
    info, zone = ZoneInfo(name), Zone(name)
    for start in (datetime(2024, month, 1, tzinfo=UTC) for month in (3, 4, 10, 11)):
        times = [start + timedelta(minutes=10 * i) for i in range(31 * 144)]
        clocks = np.array([_micros(it) for it in times])
        utc, there = zone.utc(clocks)
        naive = [it.replace(tzinfo=info) for it in times]
        shown = [it.astimezone(UTC).astimezone(info).replace(tzinfo=None) for it in naive]
        exists = [a == b.replace(tzinfo=None) for a, b in zip(shown, times, strict=True)]

        assert there.tolist() == exists
        expected = [_micros(it.astimezone(UTC)) for it in naive]
        assert utc[there].tolist() == [t for t, e in zip(expected, exists, strict=True) if e]


@settings(max_examples=30)
@given(st.lists(TIMES, min_size=1, max_size=8), st.sampled_from(ZONES), st.sampled_from([*EVERY]))
def test_grids(times, name, every):
    """The cell's start on the zone's clock, counted from midnight of 1970-01-01."""
    action = {"do": "coarsen-time", "every": every, "zone": name}
    found, failures = one(action, [it.isoformat() for it in times])
    start = datetime(1970, 1, 1)  # noqa: DTZ001 # a clock
    expected = []
    for time in times:
        clock = time.astimezone(ZoneInfo(name)).replace(tzinfo=None)
        expected.append((start + (clock - start) // EVERY[every] * EVERY[every]).isoformat())

    assert found == expected
    assert failures == {}


def test_weeks_months_quarters_and_years():
    """Weeks begin on Monday, months and years on their first day."""
    times = ["2014-09-04T22:57:55Z", "1969-12-31T23:00:00Z", "2016-02-29"]
    expected = {
        "1 week": ["2014-09-01", "1969-12-29", "2016-02-29"],
        "1 month": ["2014-09-01", "1969-12-01", "2016-02-01"],
        "1 quarter": ["2014-07-01", "1969-10-01", "2016-01-01"],
        "1 year": ["2014-01-01", "1969-01-01", "2016-01-01"],
    }
    for every, days in expected.items():
        action = {"do": "coarsen-time", "every": every, "zone": "UTC", "zoneless": "UTC"}

        assert one({**action, "write": "date"}, times)[0] == days


def test_what_is_written():
    """By the zone's clock, with its offset, as a date, or as a number; down, up or nearest."""
    action = {"do": "coarsen-time", "every": "1 hour", "zone": "Europe/Berlin"}
    time = ["2014-09-04T22:47:55Z"]

    assert one(action, time)[0] == ["2014-09-05T00:00:00"]
    assert one({**action, "to": "up"}, time)[0] == ["2014-09-05T01:00:00"]
    assert one({**action, "to": "nearest", "write": "offset"}, time)[0] == [
        "2014-09-05T01:00:00+02:00"
    ]
    assert one({**action, "write": "date"}, time)[0] == ["2014-09-05"]
    assert one({**action, "write": "seconds"}, time)[0] == [1_409_868_000]
    assert one({**action, "write": "milliseconds"}, time)[0] == [1_409_868_000_000]
    assert one({**action, "write": "microseconds"}, time)[0] == [1_409_868_000_000_000]


def test_numbers_are_times_where_that_is_said():
    """Seconds, milliseconds and microseconds since 1970; without a unit they are dropped."""
    action = {"do": "coarsen-time", "every": "1 second", "zone": "UTC"}
    expected = ["2014-09-04T22:57:55"]

    assert one({**action, "unit": "seconds"}, [1_409_871_475.987])[0] == expected
    assert one({**action, "unit": "milliseconds"}, [1_409_871_475_987])[0] == expected
    assert one({**action, "unit": "microseconds"}, [1_409_871_475_987_654])[0] == expected
    assert one(action, [1_409_871_475]) == ([...], {"wrong-type": 1})
    assert one({**action, "unit": "seconds"}, [10**17, -(10**17)])[1] == {"out-of-range": 2}


def test_what_is_no_time_is_counted():
    """Other texts and types, times without zone, skipped ones, and years beyond."""
    action = {"do": "coarsen-time", "every": "1 day", "zone": "UTC"}
    values = ["yesterday", "", "2014-09-04", 5, True, {}, [], None, "0001-01-01T00:00:00Z"]

    assert one(action, values) == (
        [..., ..., ..., ..., ..., ..., ..., None, ...],
        {"not-a-time": 2, "no-zone": 1, "wrong-type": 4, "out-of-range": 1},
    )
    berlin = {**action, "zoneless": "Europe/Berlin"}
    assert one(berlin, ["2014-03-30T02:30:00", "2014-03-30T03:30:00"]) == (
        [..., "2014-03-30T00:00:00"],
        {"no-such-time": 1},
    )


def test_jitter_is_within_the_cell_and_independent_of_the_time():
    """Repeats of one time are spread over its cell evenly: their mean is the cell's middle."""
    action = {"do": "coarsen-time", "every": "1 hour", "zone": "UTC", "jitter": "1 second"}
    found, _ = one({**action, "write": "seconds"}, ["2014-09-04T22:03:00Z"] * 4_000)
    start = _micros(datetime(2014, 9, 4, 22, tzinfo=UTC)) // 1_000_000
    within = [it - start for it in found]

    assert (min(within) >= 0, max(within) < 3600) == (True, True)
    assert abs(sum(within) / len(within) - 1799.5) < 5 * 1039 / 4_000**0.5
    assert len(set(within)) > 1_500


def test_a_shift_is_an_entitys_own():
    """All times of one are shifted alike, within the window; those of others by others."""
    rule = {"path": "t", "do": "shift", "within": "30 days", "by": "who", "zone": "UTC"}
    times = ["2014-09-04T22:57:55Z", "2014-12-24T18:00:00.5Z"]
    events = [{"who": who, "t": time} for who in range(400) for time in times]

    found, failures = run([rule], events)
    clocks = [datetime.fromisoformat(it).replace(tzinfo=None) for it in times]
    moved = [datetime.fromisoformat(it["t"]) - clocks[i % 2] for i, it in enumerate(found)]

    assert failures == {}
    assert moved[::2] == moved[1::2]
    assert {it.seconds for it in moved} == {0}
    assert min(it.days for it in moved) >= -30
    assert max(it.days for it in moved) <= 30
    assert len(set(moved)) > 50


def test_a_day_is_a_day_of_the_clock():
    """Shifted over the end of summer time, midnight stays midnight."""
    table = SecretTable(kind="shift", values={"a": "10 days"})
    rule = {"path": "t", "do": "shift", "table": "s", "by": "who", "zone": "Europe/Berlin"}
    events = [{"who": "a", "t": "2014-10-20"}, {"who": "b", "t": "2014-10-20"}, {"t": "2014-10-20"}]

    found, failures = run([{**rule, "zoneless": "Europe/Berlin"}], events, tables={"s": table})

    assert found == [{"t": "2014-10-30T00:00:00"}, {}, {}]
    assert failures == {"not-in-table": 1, "no-entity": 1}


def test_two_fields_of_an_entity_are_shifted_alike():
    """Birth and visit: the age is kept; another domain shifts by another."""
    rule = {"do": "shift", "within": "3000 days", "by": "who", "zone": "UTC", "write": "date"}
    rules = [
        {**rule, "path": "a"},
        {**rule, "path": "b"},
        {**rule, "path": "c", "domain": "elsewhere"},
    ]
    [found], _ = run(rules, [{"who": 7, **dict.fromkeys("abc", "2014-09-04T00:00:00Z")}])

    assert found["a"] == found["b"] != found["c"]


#: Of a night in Berlin, New York and Kathmandu, and a text that doesn't say where.
NIGHT = [
    "2024-03-01T00:30:00+01:00",
    "2024-03-01T00:30:00-0500",
    "20240301T0030+0545",
    "2024-03-01 00:30:00Z",
    "2024-03-01T00:30",
    "2024-02-29T23:59:59.5+01",
]


def test_a_day_is_that_of_the_clock_that_a_text_was_written_by():
    """In UTC the first one, of half past midnight, is of the day before."""
    found, failures = one(
        {"do": "coarsen-time", "every": "1 day", "zone": "own", "write": "date"}, NIGHT
    )
    assert found == ["2024-03-01"] * 5 + ["2024-02-29"]
    assert not failures
    in_utc, _ = one(
        {"do": "coarsen-time", "every": "1 day", "zone": "UTC", "write": "date"}, NIGHT[:1]
    )
    assert in_utc == ["2024-02-29"]


def test_hours_of_own_clocks_are_written_with_their_offsets():
    """Texts that don't say theirs have none to write, unless the policy says whose they are."""
    rule = {"do": "coarsen-time", "every": "1 hour", "zone": "own", "write": "offset"}
    found, failures = one(rule, NIGHT)
    assert found == [
        "2024-03-01T00:00:00+01:00",
        "2024-03-01T00:00:00-05:00",
        "2024-03-01T00:00:00+05:45",
        "2024-03-01T00:00:00Z",
        ...,
        "2024-02-29T23:00:00+01:00",
    ]
    assert failures == {"no-zone": 1}
    found, failures = one(rule | {"zoneless": "Asia/Tokyo"}, NIGHT)
    assert found[4] == "2024-03-01T00:00:00+09:00"
    assert not failures


def test_own_clocks_go_through_several_actions_and_shifts():
    shift = {"do": "shift", "within": "1 day", "by": "who", "zone": "own"}
    day = {"do": "coarsen-time", "every": "1 day", "zone": "own"}
    events = [{"v": NIGHT[0], "who": "a"}, {"v": "2024-03-01T12:30:00Z", "who": "a"}]
    (first, second), _ = run([{"path": "v", **shift, "then": [day]}], events)
    assert first == second
    assert first["v"].endswith("T00:00:00")


@pytest.mark.slow
@settings(max_examples=100)
@given(st.lists(TIMES, min_size=1, max_size=8), st.integers(-23 * 60, 23 * 60))
def test_own_clocks_are_those_of_datetime(times, minutes):
    zone = timezone(timedelta(minutes=minutes))
    texts = [it.astimezone(zone).isoformat() for it in times]
    day = {"do": "coarsen-time", "every": "1 day", "zone": "own", "write": "offset"}
    found, _ = one(day, texts)
    told = [it.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0) for it in times]
    assert [datetime.fromisoformat(it) for it in found] == told
    assert [it[:10] for it in found] == [text[:10] for text in texts]


@pytest.mark.parametrize("do", ["coarsen-time", "shift"])
def test_own_clocks_arent_written_as_numbers(do):
    rule = {"do": do, "every": "1 day"} if do == "coarsen-time" else {"do": do, "within": "9 days"}
    with pytest.raises(PolicyError, match="own"):
        one({**rule, "zone": "own", "write": "seconds"}, NIGHT)
