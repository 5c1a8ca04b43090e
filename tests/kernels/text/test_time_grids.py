"""Grids of times and clocks that go back, against `datetime`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.events.block._times import EARLIEST, LATEST
from halfmask.kernels.text.iso_times import LONGEST
from halfmask.kernels.text.time_grids import (
    ANY,
    BEFORE,
    DOWN,
    NEAREST,
    STEPS_BACK,
    UP,
    coarsen_times,
    count_back,
)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICRO = timedelta(microseconds=1)
HOUR = 3_600_000_000
TIMES = st.datetimes(datetime.fromisoformat("0001-02-01"), datetime.fromisoformat("9999-11-30"))
HOURS = st.integers(-12, 14)
TEXTS = st.lists(
    st.tuples(TIMES, HOURS | st.none()) | st.sampled_from(["", "x", "2010-13-01", "2010-01-01T24"]),
    max_size=12,
)


def read(texts, behind):
    """Return the time of each text, as datetime has it; None if it is none."""
    for text in texts:
        if isinstance(text, str):
            yield None
            continue
        time, hours = text
        zone = timezone(timedelta(hours=behind if hours is None else hours))
        yield time.replace(tzinfo=zone)


def written(texts):
    """Return texts as a column of tokens."""
    words = []
    for text in texts:
        if isinstance(text, str):
            words.append(text)
        else:
            time, hours = text
            zone = None if hours is None else timezone(timedelta(hours=hours))
            words.append(time.replace(tzinfo=zone).isoformat())
    stops = np.cumsum([len(word) for word in words], dtype=np.int64)
    starts = stops - np.array([len(word) for word in words], np.int64)
    return np.frombuffer(bytearray("".join(words), "ascii"), np.uint8), starts, stops


@given(TEXTS, HOURS, HOURS, st.sampled_from([1, 60, 3600, 86_400, 7 * 86_400]), st.data())
def test_points_of_a_grid_are_those_of_datetime(texts, behind, ahead, seconds, draw):
    to = draw.draw(st.sampled_from([DOWN, NEAREST, UP]))
    form = draw.draw(st.sampled_from([0, 1, 2]))
    zoneless = draw.draw(st.sampled_from([0, 1]))
    data, starts, stops = written(texts)
    count = len(texts)
    out, became = np.empty(LONGEST * count, np.uint8), np.empty(count, np.uint8)
    begins, ends = np.empty(count, np.int64), np.empty(count, np.int64)
    left = np.empty(count, np.bool_)

    others = coarsen_times(
        data, np.full(count, 6, np.uint8), starts, stops, zoneless, behind * HOUR, ahead * HOUR,
        EARLIEST, LATEST, seconds * 1_000_000, 0, to, form, out, became, begins, ends, left,
    )  # fmt: skip

    assert others == np.count_nonzero(left)
    for at, (text, read_) in enumerate(zip(texts, read(texts, behind), strict=True)):
        time = read_ if zoneless or text[1:2] != (None,) else None
        assert left[at] == (time is None)
        assert became[at] == (0 if time is None else 6)
        if time is None:
            continue
        clock = (time - EPOCH) // MICRO + ahead * HOUR
        every = seconds * 1_000_000
        point = clock // every * every
        if (to == UP and clock > point) or (to == NEAREST and 2 * (clock - point) >= every):
            point += every
        shown = (EPOCH + point * MICRO).replace(tzinfo=timezone(timedelta(hours=ahead)))
        said = shown.replace(tzinfo=None).isoformat() if form else shown.date().isoformat()
        if form == 2:
            said = shown.isoformat().replace("+00:00", "Z")
        assert out[begins[at] : ends[at]].tobytes().decode() == said


@pytest.mark.parametrize("kind", [0, 1, 2, 4, 5, 7, 8])
def test_what_is_no_text_is_left_to_others(kind):
    data, starts, stops = written(["2010-01-01T08:26:00"])
    out, became = np.empty(LONGEST, np.uint8), np.empty(1, np.uint8)
    begins, ends, left = np.empty(1, np.int64), np.empty(1, np.int64), np.empty(1, np.bool_)

    others = coarsen_times(
        data, np.array([kind], np.uint8), starts, stops, 1, 0, 0,
        EARLIEST, LATEST, HOUR, 0, DOWN, 1, out, became, begins, ends, left,
    )  # fmt: skip

    assert (others, became.tolist()) == (int(kind > 1), [kind if kind == 1 else 0])


@pytest.mark.slow
@given(st.lists(TEXTS, max_size=4), HOURS, st.sampled_from([0, 1]))
def test_steps_back_are_counted_whatever_the_blocks(blocks, behind, zoneless):
    known = np.zeros(3, np.int64)

    for texts in blocks:
        data, starts, stops = written(texts)
        kinds = np.full(len(texts), 6, np.uint8)
        count_back(data, kinds, starts, stops, zoneless, behind * HOUR, EARLIEST, LATEST, known)

    told = [
        time
        for texts in blocks
        for text, time in zip(texts, read(texts, behind), strict=True)
        if time is not None and (zoneless or text[1] is not None)
    ]
    back = sum(later < earlier for earlier, later in pairwise(told))
    assert known[STEPS_BACK] == back
    assert known[ANY] == bool(told)
    assert not told or known[BEFORE] == (told[-1] - EPOCH) // MICRO
