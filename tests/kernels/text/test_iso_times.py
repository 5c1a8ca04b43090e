"""Times in text are read as the standard library reads them, and written back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from functools import partial

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from halfmask.kernels.text.iso_times import (
    LONGEST,
    NO_ZONE,
    NOT_A_TIME,
    ZONED,
    parse_times,
    write_times,
)

clock = partial(datetime, tzinfo=None)
EPOCH = clock(1970, 1, 1)
CLOCKS = st.datetimes(min_value=clock(1, 1, 3), max_value=clock(9999, 12, 29))
OFFSETS = st.integers(-23 * 60, 23 * 60).map(lambda n: timezone(timedelta(minutes=n)))


def _parsed(*texts):
    data = [text.encode() for text in texts]
    lengths = np.array([len(it) for it in data], np.int64)
    ends = np.cumsum(lengths)
    micros, found = np.empty(len(data), np.int64), np.empty(len(data), np.uint8)
    all_bytes = np.frombuffer(b"".join(data) + bytes(8), np.uint8)
    parse_times(all_bytes, ends - lengths, ends, micros, found)
    return list(zip(micros.tolist(), found.tolist(), strict=True))


def _written(micros, ahead, form, present=None):
    n = len(micros)
    out = np.zeros(n * LONGEST, np.uint8)
    starts, stops = np.empty(n, np.int64), np.empty(n, np.int64)
    shown = np.ones(n, bool) if present is None else np.array(present)
    write_times(np.array(micros), np.array(ahead), shown, form, out, starts, stops)
    return [bytes(out[a:b]).decode() for a, b in zip(starts, stops, strict=True)]


def _micros(time):
    return (time - EPOCH) // timedelta(microseconds=1)


@settings(max_examples=200)
@given(CLOCKS, st.sampled_from(["T", " ", "t"]))
def test_a_time_without_zone_is_read_as_datetime_reads_it(time, between):
    """Date and time of day, whatever stands between."""
    text = time.isoformat().replace("T", between)

    assert _parsed(text) == [(_micros(time), NO_ZONE)]


@pytest.mark.slow
@settings(max_examples=200)
@given(CLOCKS, OFFSETS)
def test_an_offset_is_taken_off(time, zone):
    """A time with an offset is one of UTC."""
    told = time.replace(tzinfo=zone)
    utc = _micros(told.astimezone(UTC).replace(tzinfo=None))
    short = told.strftime("%z")

    assert _parsed(told.isoformat(), time.isoformat() + short) == [(utc, ZONED)] * 2


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("20140904T225755Z", "2014-09-04T22:57:55+00:00"),
        ("2014-09-04T22:57Z", "2014-09-04T22:57:00+00:00"),
        ("20140904T2257z", "2014-09-04T22:57:00+00:00"),
        ("2014-09-04T22:57:55,5+02", "2014-09-04T20:57:55.500000+00:00"),
        ("2014-09-04T22:57:55.123456789Z", "2014-09-04T22:57:55.123456+00:00"),
        ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00+00:00"),
        ("2014-09-04T22:57:55-00:30", "2014-09-04T23:27:55+00:00"),
    ],
)
def test_other_forms(text, same):
    """Basic forms, short ones, commas, nanoseconds and leap seconds are read."""
    utc = datetime.fromisoformat(same).replace(tzinfo=None)

    assert _parsed(text) == [(_micros(utc), ZONED)]


def test_a_date_is_its_midnight():
    """A date alone is a time of an unknown clock."""
    assert _parsed("1969-12-31", "20000229") == [
        (_micros(clock(1969, 12, 31)), NO_ZONE),
        (_micros(clock(2000, 2, 29)), NO_ZONE),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "", "2", "2014", "2014-09", "2014-13-01", "2014-00-01", "2014-02-29", "1900-02-29",
        "2014-09-31", "0000-01-01", "2014-0904", "201409-04", "2014-09-04T", "2014-09-04T2",
        "2014-09-04T24:00:00", "2014-09-04T22:60", "2014-09-04T22:57:61", "2014-09-04T22:57:",
        "2014-09-04T22:57:55.", "2014-09-04T22:57:55+", "2014-09-04T22:57:55+2",
        "2014-09-04T22:57:55+24:00", "2014-09-04T22:57:55+02:60", "2014-09-04T22:57:55Zulu",
        "2014-09-04T22:57:55 Z", " 2014-09-04", "2014-09-04x", "2014-W36-4", "-014-09-04",
        "2014-09-04T22:57:55+02:0", "\uff12014-09-04", "2014-09-04T-1:00",
    ],
)  # fmt: skip
def test_what_is_no_time(text):
    """Anything else is none, wherever it ends."""
    assert _parsed(text, "2014-09-04")[0] == (0, NOT_A_TIME)


@given(st.binary(max_size=40))
def test_any_bytes_are_read_within_their_bounds(data):
    """Whatever it is, only its own bytes are read: bytes around it change nothing."""
    found = []
    for fill in (b"0", b"Z"):
        around = np.frombuffer(fill * 12 + data + fill * 12, np.uint8)
        micros, kind = np.empty(1, np.int64), np.empty(1, np.uint8)
        parse_times(around, np.array([12]), np.array([12 + len(data)]), micros, kind)
        found.append((micros[0], kind[0]))

    assert found[0] == found[1]


@pytest.mark.slow
@settings(max_examples=200)
@given(CLOCKS)
def test_what_is_written_is_read_again(time):
    """Microseconds, milliseconds or none are written as they are needed."""
    micros = _micros(time)
    [text] = _written([micros], [0], 1)
    whole = time.isoformat(timespec="auto")
    expected = whole[:-3] if time.microsecond and time.microsecond % 1000 == 0 else whole

    assert text == expected
    assert _parsed(text) == [(micros, NO_ZONE)]


def test_forms_of_writing():
    """A date, a clock, and a clock with what it is before UTC."""
    micros = _micros(clock(2014, 9, 4, 22, 57, 55))
    half = 19_800_000_000

    assert _written([micros] * 2, [half] * 2, 0, [True, False]) == ["2014-09-04", ""]
    assert _written([micros], [half], 2) == ["2014-09-04T22:57:55+05:30"]
    assert _written([micros], [-half - 1_000_000], 2) == ["2014-09-04T22:57:55-05:30:01"]
    assert _written([micros], [0], 2) == ["2014-09-04T22:57:55Z"]
