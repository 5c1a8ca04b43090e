"""One-pass k-anonymity of rows with a bounded delay: parts of a window, each row its own session.

The delay is CASTLE's (Cao, Carminati, Ferrari and Tan 2011): a row waits for at most so many rows.
"""

from __future__ import annotations

import itertools
import json
from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask.events import EventPolicy, Transform
from halfmask.events.stages._holding import Holding
from halfmask.vault import Secret
from halfmask.verifier.events import verify_events

SECRET = Secret.from_bytes(bytes(32))
POLICY = """
halfmask-events = 1
release = "patients"

[stream]
time = "time"
entity = "who"

[[rule]]
path = "number"
do = "keep"
[[rule]]
path = "who"
do = "token"
[[rule]]
path = "age"
do = "keep"
[[rule]]
path = "town"
do = "keep"

[window]
every = "1 day"
zone = "UTC"
most = {delay}

[[guarantee]]
kind = "session-k"
paths = ["age", "town"]
k = {k}
fails = "session"

[guarantee.hierarchies]
age = {{ intervals = [10, 50] }}
town = {{ groups = {{ Volga = ["Kazan", "Samara"], Ural = ["Perm", "Ufa"] }} }}
"""


def run(lines, *, k, delay, cuts=(), restarts=False):
    """Return the rows that leave after each block, and the stage."""
    policy = EventPolicy.from_toml(POLICY.format(k=k, delay=delay))
    transform, stage, out = Transform(policy, secret=SECRET), Holding(policy), []
    for start, stop in itertools.pairwise([0, *sorted(cuts), len(lines)]):
        block = transform.scan(b"".join(lines[start:stop]))
        out.append(stage.take(transform.change(block), block))
        if restarts:
            state, stage = stage.state(), Holding(policy)
            stage.restore(state)
    return [*out, stage.finish()], stage


def rows_of(found):
    return [json.loads(line) for line in found.splitlines()]


row = st.tuples(
    st.sampled_from(["Ann", "Bob", "Cid", "Dan", "Eve", "Fay"]),
    st.none() | st.integers(20, 69),
    st.none() | st.sampled_from(["Kazan", "Samara", "Perm", "Ufa"]),
)


def lines_of(rows):
    """Rows of one day, in order; a row without a value has no such field."""
    made = [
        {"time": f"2026-01-01T{n // 60:02}:{n % 60:02}:00Z", "number": n}
        | {name: value for name, value in zip(("who", "age", "town"), each, strict=True) if value}
        for n, each in enumerate(rows)
    ]
    return [json.dumps(each).encode() + b"\n" for each in made]


@settings(max_examples=12)
@given(rows=st.lists(row, max_size=40), k=st.integers(2, 3), delay=st.integers(3, 12))
def test_each_class_of_a_part_has_k_persons(rows, k, delay):
    """Counted in dictionaries: the rows that left together, by what they show."""
    (found, end), stage = run(lines_of(rows), k=k, delay=delay)

    released = rows_of(found + end)
    persons = defaultdict(set)
    for each in released:
        shown = each.get("age"), each.get("town")
        persons[each["number"] // delay, shown].add(rows[each["number"]][0])
    assert all(len(those) >= k for those in persons.values())
    verdict = verify_events((found + end).splitlines(), stage.claims())
    assert verdict.holds


@pytest.mark.slow
@settings(max_examples=6)
@given(
    rows=st.lists(row, min_size=1, max_size=30),
    delay=st.integers(2, 8),
    cuts=st.lists(st.integers(0, 30), max_size=2),
)
def test_blocks_and_restarts_change_nothing(rows, delay, cuts):
    lines = lines_of(rows)
    cuts = [cut for cut in cuts if cut <= len(lines)]
    whole, _ = run(lines, k=2, delay=delay)

    parts, _ = run(lines, k=2, delay=delay, cuts=cuts, restarts=True)

    assert b"".join(parts) == b"".join(whole)


def test_no_row_waits_for_more_rows_than_the_delay():
    """Row by row: a row leaves with the last row of its part at the latest."""
    rows = [("Ann", 30, "Ufa"), ("Bob", 30, "Ufa"), ("Cid", 30, "Ufa")] * 5
    lines = lines_of(rows)

    out, _ = run(lines, k=2, delay=3, cuts=range(1, len(lines)))

    for at, found in enumerate(out[:-1]):
        assert all(at - each["number"] < 3 for each in rows_of(found))
    assert sum(len(rows_of(found)) for found in out) == len(rows)
    assert not out[-1]


def test_too_few_at_the_end_are_suppressed():
    """Two whole parts of three, and one row of nobody else."""
    rows = [("Ann", 30, "Ufa"), ("Bob", 30, "Ufa"), ("Cid", 30, "Ufa")] * 2 + [("Dan", 30, "Ufa")]

    out, stage = run(lines_of(rows), k=3, delay=3)

    assert [each["number"] for each in rows_of(b"".join(out))] == [0, 1, 2, 3, 4, 5]
    assert stage.summary()["events-written"] == 6


def test_rows_of_one_person_are_one_person():
    rows = [("Ann", 30, "Ufa")] * 5 + [("Bob", 60, "Kazan")]

    out, _ = run(lines_of(rows), k=2, delay=6)

    assert {(each["age"], each["town"]) for each in rows_of(b"".join(out))} == {("*", "*")}


def test_values_become_ranges_and_nodes():
    rows = [("Ann", 31, "Ufa"), ("Bob", 38, "Perm"), ("Cid", 64, "Kazan"), ("Dan", 64, "Kazan")]

    out, _ = run(lines_of(rows), k=2, delay=4)

    shown = [(each["age"], each["town"]) for each in rows_of(b"".join(out))]
    assert shown == [("[30, 40)", "Ural")] * 2 + [(64, "Kazan")] * 2


def test_one_changed_row_fails():
    rows = [("Ann", 30, "Ufa"), ("Bob", 30, "Ufa"), ("Cid", 50, "Perm"), ("Dan", 50, "Perm")]
    out, stage = run(lines_of(rows), k=2, delay=4)
    lines = b"".join(out).splitlines()
    assert verify_events(lines, stage.claims()).holds

    lines[0] = lines[0].replace(b"Ufa", b"Kazan")

    assert not verify_events(lines, stage.claims()).holds
