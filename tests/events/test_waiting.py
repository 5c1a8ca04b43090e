"""Events that wait lose nothing: parts, joined, packed and unpacked, are what they were."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask._errors import DataError
from halfmask.events import OutputShape, PathTree, scan_block, write_block
from halfmask.events.stages._held import Held, names_of

PATHS = ["a", "b[].c", "b[].d[].e", "f.g", "h[]"]
SHAPE = OutputShape(
    {"a": None, "b[]": "B", "b[].c": None, "b[].d[].e": "E", "f.g": None, "h[]": None}
)
VALUE = st.none() | st.booleans() | st.integers(-9, 9) | st.text('aé"\\\n', max_size=3)
EVENT = st.fixed_dictionaries(
    {},
    optional={
        "a": VALUE,
        "b": st.lists(
            st.fixed_dictionaries(
                {},
                optional={
                    "c": VALUE,
                    "d": st.lists(st.fixed_dictionaries({}, optional={"e": VALUE}), max_size=2),
                },
            ),
            max_size=3,
        ),
        "f": st.fixed_dictionaries({"g": VALUE}),
        "h": st.lists(VALUE, max_size=3),
    },
)


def held(events):
    """Return events as a stage holds them, by what is met of the paths."""
    lines = b"".join(json.dumps(event).encode() + b"\n" for event in events)
    block = scan_block(lines, PathTree(PATHS))
    columns = {path: block.values(path) for path in PATHS}
    return Held(names=names_of(SHAPE), columns=columns, events=block.levels[""])


def written(it):
    """Return lines."""
    return write_block(OutputShape(it.names), it.columns, events=it.events)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(events=st.lists(EVENT, max_size=8), data=st.data())
def test_parts_joined_are_what_they_were(events, data):
    """In any number of parts, each through bytes."""
    whole = written(held(events))
    cuts = data.draw(st.lists(st.integers(0, len(events)), max_size=3))
    ends = [0, *sorted(cuts), len(events)]

    parts = [Held.unpacked(held(events[start:stop]).packed()) for start, stop in pairwise(ends)]
    joined = Held.joined(parts)

    assert whole == written(joined)
    assert joined.packed() == Held.unpacked(joined.packed()).packed()


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(events=st.lists(EVENT, max_size=8), data=st.data())
def test_a_part_has_the_events_and_elements_that_stay(events, data):
    """As a plain loop leaves them out; what is in an element goes with it."""
    it = held(events)
    stays = data.draw(st.lists(st.booleans(), min_size=len(events), max_size=len(events)))
    elements = sum(len(event.get("b", [])) for event in events)
    inner = data.draw(st.lists(st.booleans(), min_size=elements, max_size=elements))

    found = it.narrowed({"": np.array(stays, np.bool_), "b[]": np.array(inner, np.bool_)})

    keep = iter(inner)
    plain = [
        {**event, "b": [each for each in event["b"] if next(keep)]} if "b" in event else event
        for event in events
    ]
    expected = [event for event, stay in zip(plain, stays, strict=True) if stay]
    assert written(held(expected)) == written(found)


def test_parts_without_an_array_are_joined_with_those_that_have_it():
    """What only one part met is lacking in the others."""
    one, other = held([{"a": 1}]), held([{"b": [{"c": 2}]}])
    columns = {path: it for path, it in one.columns.items() if path == "a"}
    small = Held(names={"a": "a"}, columns=columns, events=one.events)

    joined = Held.joined([small, other])

    assert written(joined) == b'{"a":1}\n{"B":[{"c":2}]}\n'


@pytest.mark.parametrize("data", [b"", b"\0" * 8, b"nothing", held([{"a": 1}]).packed()[:-1]])
def test_damaged_bytes_are_refused(data):
    """They say so."""
    with pytest.raises(DataError, match="damaged"):
        Held.unpacked(data)
