"""Columns that get more room keep what they have, and find the new room empty."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from halfmask.events.block._buffers import Buffers
from halfmask.events.block._columns import NEVER, Columns

NODES = 4
ROOMS = st.lists(st.sampled_from([NEVER, 0, 1, 5]), min_size=NODES, max_size=NODES)
#: Which nodes get how many slots more, from time to time.
GROWTH = st.lists(
    st.dictionaries(st.integers(0, NODES - 1), st.integers(1, 40_000), max_size=NODES), max_size=6
)


def used_before():
    """Return buffers whose memory is full of what somebody left."""
    buffers = Buffers()
    lease = buffers.lease()
    for power in range(16, 23):
        for _ in range(3):
            lease.array(1 << power, np.uint8)[:] = 255
    lease.release()
    return buffers


def contents(columns):
    """Return the kinds, starts and stops of each node, all of its room."""
    noted = np.where(columns.room == NEVER, 0, columns.room).tolist()
    spans = [slice(base, base + room) for base, room in zip(columns.base, noted, strict=True)]
    arrays = (columns.kinds, columns.starts, columns.stops)
    return [[array[span].tolist() for array in arrays] for span in spans]


@given(rooms=ROOMS, growth=GROWTH, seed=st.integers(0, 99))
def test_what_was_noted_stays_and_new_slots_are_missing(rooms, growth, seed):
    random, lease = np.random.default_rng(seed), used_before().lease()
    room = np.array(rooms)
    columns = Columns.of(room, lease)
    assert not columns.kinds[: columns.used].any()
    for wider in growth:
        for span in range(NODES):
            held = 0 if room[span] == NEVER else room[span]
            here = slice(columns.base[span], columns.base[span] + held)
            columns.kinds[here] = random.integers(1, 8, held)
            columns.starts[here], columns.stops[here] = random.integers(0, 99, (2, held))
        before, old = contents(columns), np.where(room == NEVER, 0, room)
        room = room.copy()
        for node, more in wider.items():
            room[node] = (0 if room[node] == NEVER else room[node]) + more

        columns.widen(room, lease)

        for node, found in enumerate(contents(columns)):
            count = old[node]
            assert [each[:count] for each in found] == before[node]
            assert not any(found[0][count:])
        ends = sorted(
            (int(base), int(base + size))
            for base, size in zip(columns.base, np.where(room == NEVER, 0, room), strict=True)
            if size
        )
        assert all(one[1] <= other[0] for one, other in pairwise(ends))
        assert not ends or ends[-1][1] <= columns.used <= len(columns.kinds)
