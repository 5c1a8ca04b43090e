"""Windows are what the zone's clock says, by zoneinfo; each closes once no time lies in it."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask.events.block._times import Zone
from halfmask.events.policy._sections import Duration
from halfmask.events.stages._grid import Grid

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICRO = timedelta(microseconds=1)
#: Zones, and days on which their clocks change: by an hour, by half of one, at and over midnight.
CHANGES = [
    ("Europe/Berlin", datetime(2014, 3, 30, tzinfo=UTC)),
    ("Europe/Berlin", datetime(2014, 10, 26, tzinfo=UTC)),
    ("America/Havana", datetime(2013, 11, 3, tzinfo=UTC)),
    ("America/Sao_Paulo", datetime(2018, 11, 4, tzinfo=UTC)),
    ("America/Sao_Paulo", datetime(2019, 2, 17, tzinfo=UTC)),
    ("America/St_Johns", datetime(2010, 11, 7, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2021, 4, 3, tzinfo=UTC)),
    ("Pacific/Apia", datetime(2011, 12, 30, tzinfo=UTC)),
]
#: How long, and what of a clock's time it is.
LONG = {
    "1 day": lambda clock: clock.date(),
    "1 week": lambda clock: clock.isocalendar()[:2],
    "1 month": lambda clock: (clock.year, clock.month),
    "6 hours": lambda clock: (clock.date(), clock.hour // 6),
    "1 year": lambda clock: clock.year,
}


def micros(moments):
    """Return times as the grid has them."""
    return np.array([(moment - EPOCH) // MICRO for moment in moments], np.int64)


@settings(max_examples=40, deadline=None)
@given(
    change=st.sampled_from(CHANGES),
    every=st.sampled_from(sorted(LONG)),
    minutes=st.lists(st.integers(-4_000, 4_000), min_size=1, max_size=40),
)
def test_long_windows_are_what_the_clock_shows(change, every, minutes):
    """Two times are in one window exactly if the clock shows the same day, week, month, year."""
    zone, day = change
    moments = [day + timedelta(minutes=each) for each in minutes]
    shown = [LONG[every](moment.astimezone(ZoneInfo(zone))) for moment in moments]

    keys = Grid(Duration.parse(every), zone=Zone(zone)).keys(micros(moments)).tolist()

    windows = defaultdict(set)
    for key, what in zip(keys, shown, strict=True):
        windows[key].add(what)
    assert all(len(what) == 1 for what in windows.values())
    assert len(windows) == len(set(shown))


@pytest.mark.parametrize(("zone", "day"), CHANGES)
@pytest.mark.parametrize("every", ["1 day", "6 hours", "1 hour", "15 minutes"])
def test_a_window_ends_where_no_time_is_left_in_it(zone, day, every):
    """Minute by minute around the change: none is at or behind the end, one is just before."""
    grid = Grid(Duration.parse(every), zone=Zone(zone))
    times = micros([day + timedelta(minutes=each) for each in range(-2_000, 3_500)])

    keys = grid.keys(times)
    ends = grid.ends(keys)

    assert (times < ends).all()
    for key in np.unique(keys)[1:-1]:
        last = times[keys == key].max()
        here = ends[keys == key][0]
        # By its offset an hour may be over before its end, where clocks change within.
        assert last < here
        assert every in {"1 hour", "15 minutes"} or here == last + 60_000_000


def test_the_hour_that_occurs_twice_is_two_windows():
    """By the clock both begin at two; the offset tells them apart."""
    grid = Grid(Duration.parse("1 hour"), zone=Zone("Europe/Berlin"))
    times = micros(
        [datetime(2014, 10, 26, 0, 30, tzinfo=UTC), datetime(2014, 10, 26, 1, 30, tzinfo=UTC)]
    )

    keys = grid.keys(times).tolist()

    assert [grid.written(key) for key in keys] == [
        "2014-10-26T02:00:00+02:00",
        "2014-10-26T02:00:00+01:00",
    ]


@pytest.mark.parametrize(
    ("every", "written"),
    [("1 day", "2014-03-30"), ("1 month", "2014-03-01"), ("12 hours", "2014-03-30T12:00:00"),
     ("1 week", "2014-03-24"), ("1 hour", "2014-03-30T14:00:00+02:00")],
)  # fmt: skip
def test_windows_are_written_by_the_clock(every, written):
    """Dates where windows are whole days."""
    grid = Grid(Duration.parse(every), zone=Zone("Europe/Berlin"))
    key = grid.keys(micros([datetime(2014, 3, 30, 12, 34, tzinfo=UTC)]))

    assert written == grid.written(int(key[0]))
