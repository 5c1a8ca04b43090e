"""What leaves fulfils each guarantee, by a plain count of the original events."""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from events.cell_oracle import panes_of
from halfmask.events import EventPolicy, Transform
from halfmask.events._holding import Holding
from halfmask.events.verifier import verify_events
from halfmask.vault import Secret

SECRET = Secret.from_bytes(bytes(32))
POLICY = """
halfmask-events = 1
release = "clicks"

[stream]
time = "time"
entity = "who"
{session}

[[rule]]
path = "id"
do = "keep"
[[rule]]
path = "who"
do = "token"
[[rule]]
path = "visit"
do = "keep"
[[rule]]
path = "town"
do = "keep"
[[rule]]
path = "age"
do = "keep"
[[rule]]
path = "cart[].item"
do = "keep"
[[rule]]
path = "cart[].n"
do = "keep"

[window]
every = "1 day"
zone = "UTC"
lateness = "{lateness} minutes"
late = "{late}"
most = {most}
"""


def policy_of(*guarantees, session="visit", **options):
    """Return a policy with guarantees, each a TOML text."""
    said = {"lateness": 0, "late": "drop", "most": 1_000} | options
    said["session"] = f'session = "{session}"' if session else ""
    return EventPolicy.from_toml(
        POLICY.format(**said) + "".join(f"[[guarantee]]\n{text}\n" for text in guarantees)
    )


def run(policy, lines, *, cuts=(), resumed=False):
    """Return the lines that leave, and the stage."""
    transform = Transform(policy, secret=SECRET)
    stage = Holding(policy)
    out = []
    for start, stop in itertools.pairwise([0, *sorted(cuts), len(lines)]):
        block = transform.scan(b"".join(lines[start:stop]))
        out.append(stage.take(transform.change(block), block))
        if resumed:
            state = stage.state()
            stage = Holding(policy)
            stage.restore(state)
            assert state == stage.state()
    return b"".join([*out, stage.finish()]), stage


def verdict_of(found, stage):
    """Return what the verifier says, of claims that were JSON in between."""
    return verify_events(found.splitlines(), json.loads(json.dumps(stage.claims())))


EVENT = st.fixed_dictionaries(
    {"cart": st.lists(st.fixed_dictionaries({"n": st.integers(1, 3)}, optional={
        "item": st.sampled_from("pqrstu")}), max_size=4)},
    optional={
        "who": st.sampled_from(["ann", "bob", "cid", "dan", "eve", None]),
        "visit": st.integers(1, 8),
        "town": st.sampled_from(["Rome", "Oslo", "Kiev"]),
        "age": st.integers(20, 23),
    },
)  # fmt: skip
START = datetime(2024, 5, 1, 12, tzinfo=UTC)
TIMED = st.lists(st.tuples(st.integers(0, 2_500), EVENT), max_size=40)


def stream_of(drawn):
    """Return drawn events with times and numbers, and their lines."""
    events = [
        (START + timedelta(minutes=minutes), {"id": number, **event})
        for number, (minutes, event) in enumerate(drawn)
    ]
    return events, [
        json.dumps({"time": moment.isoformat(), **event}).encode() + b"\n"
        for moment, event in events
    ]


def groups_of(events, lateness, late, most):
    """Return the events that leave together, in the order in which they do, by a plain loop."""
    of, _ = panes_of(events, "UTC", timedelta(minutes=lateness), late)
    groups = defaultdict(list)
    counts = defaultdict(int)
    for pane, (_, event) in zip(of, events, strict=True):
        if pane is not None:
            groups[pane, counts[pane] // most].append(event)
            counts[pane] += 1
    return list(groups.values())


def units_of(group):
    """Return the events of each session; one without is alone."""
    units = defaultdict(list)
    for event in group:
        visit = event.get("visit")
        units[("alone", event["id"]) if visit is None else visit].append(event)
    return list(units.values())


def owner_of(unit):
    """Return whom a session is about."""
    return next((event["who"] for event in unit if event.get("who") is not None), None)


def people(units):
    """Return how many people some sessions are about."""
    return len({owner_of(unit) for unit in units} - {None})


WINDOWS = st.fixed_dictionaries(
    {
        "lateness": st.sampled_from([0, 600]),
        "late": st.sampled_from(["drop", "update"]),
        "most": st.sampled_from([3, 10, 1_000]),
    }
)


@settings(max_examples=40, deadline=None)
@given(drawn=TIMED, windows=WINDOWS, k=st.integers(2, 3), data=st.data())
def test_sessions_leave_if_enough_show_the_same(drawn, windows, k, data):
    """Exactly those, by a plain count; whatever the blocks; and the verifier agrees."""
    events, lines = stream_of(drawn)
    policy = policy_of(
        f'kind = "session-k"\npaths = ["town", "age"]\nk = {k}\nfails = "session"', **windows
    )
    cuts = data.draw(st.lists(st.integers(0, len(lines)), max_size=4))
    found, stage = run(policy, lines, cuts=cuts, resumed=data.draw(st.booleans()))

    expected = set()
    for group in groups_of(events, **windows):
        units = units_of(group)
        classes = defaultdict(list)
        for unit in units:
            classes[frozenset((e.get("town"), e.get("age")) for e in unit)].append(unit)
        expected |= {
            event["id"]
            for same in classes.values()
            if people(same) >= k
            for unit in same
            for event in unit
        }
    got = [json.loads(line)["id"] for line in found.splitlines()]
    assert sorted(expected) == sorted(got)
    assert found == run(policy, lines)[0]
    verdict = verdict_of(found, stage)
    assert verdict.holds
    assert verdict.checks[0].counted == "entities"


@settings(max_examples=40, deadline=None)
@given(drawn=TIMED, k=st.integers(2, 3), fails=st.sampled_from(["field", "event", "element"]))
def test_values_of_few_entities_are_left_out(drawn, k, fails):
    """Exactly those, where what is left out doesn't change what else is known."""
    events, lines = stream_of(drawn)
    policy = policy_of(f'kind = "distinct"\npaths = ["town"]\nk = {k}\nfails = "{fails}"')
    found, stage = run(policy, lines)

    expected = {}
    for group in groups_of(events, 0, "drop", 1_000):
        towns = defaultdict(list)
        for event in group:
            towns[event.get("town")].append([event])
        for town, those in towns.items():
            few = town is not None and people(those) < k
            for unit in those:
                if not few or fails == "field":
                    expected[unit[0]["id"]] = None if few else town
    got = {(it := json.loads(line))["id"]: it.get("town") for line in found.splitlines()}
    assert expected == got
    assert verdict_of(found, stage).holds


def sets_of(units, m):
    """Return the units that show each set of at most m items."""
    shown = defaultdict(list)
    for unit in units:
        items = sorted({it["item"] for e in unit for it in e["cart"] if "item" in it})
        for size in range(1, m + 1):
            for found in itertools.combinations(items, size):
                shown[found].append(unit)
    return shown


@settings(max_examples=60, deadline=None)
@given(
    drawn=TIMED,
    windows=WINDOWS,
    k=st.integers(2, 3),
    m=st.integers(1, 3),
    fails=st.sampled_from(["field", "element", "event", "session"]),
    data=st.data(),
)
def test_each_small_set_that_leaves_is_of_enough_people(drawn, windows, k, m, fails, data):
    """By a plain count of what left; and where nothing failed, everything leaves as it came."""
    events, lines = stream_of(drawn)
    policy = policy_of(
        f'kind = "k-m"\npaths = ["cart[].item"]\nk = {k}\nm = {m}\nfails = "{fails}"', **windows
    )
    cuts = data.draw(st.lists(st.integers(0, len(lines)), max_size=3))
    found, stage = run(policy, lines, cuts=cuts, resumed=data.draw(st.booleans()))

    left = {(it := json.loads(line))["id"]: it for line in found.splitlines()}
    for group in groups_of(events, **windows):
        before = units_of(group)
        whole = all(people(those) >= k for those in sets_of(before, m).values())
        after = [
            [{**event, "cart": left[event["id"]]["cart"]} for event in unit if event["id"] in left]
            for unit in before
        ]
        if whole:
            assert [e["cart"] for unit in before for e in unit] == [
                e["cart"] for unit in after for e in unit
            ]
        sizes = {len(unit) for unit in after} if fails == "session" else set()
        assert sizes <= {0, *(len(unit) for unit in before)}
        owners = [owner_of(unit) for unit in before]
        for those in sets_of(after, m).values():
            who = {owners[after.index(unit)] for unit in those if unit in after} - {None}
            assert len(who) >= k
    assert found == run(policy, lines)[0]
    assert verdict_of(found, stage).holds
