"""What leaves fulfils each guarantee, by a plain count of the original events."""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.cell_oracle import panes_of  # type: ignore[import-not-found] # beside it
from halfmask._errors import DataError, PolicyError
from halfmask.events import EventPolicy, Transform
from halfmask.events.stages._holding import Holding
from halfmask.vault import Secret
from halfmask.verifier.events import verify_events

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
    """Return what the verifier says."""
    return verify_events(found.splitlines(), stage.claims())


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
    counts: dict[object, int] = defaultdict(int)
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


@pytest.mark.slow
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
    assert verdict.claims[0].counted == "entities"


@pytest.mark.slow
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


@pytest.mark.slow
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


GROUPS = (
    'hierarchies = { town = { groups = { south = ["Rome"], north = ["Oslo", "Kiev", "Bergen"] } } }'
)


def leaving(text, *events, session="visit"):
    """Return what leaves of events at one time, as objects, and what the verifier says."""
    lines = [
        json.dumps({"time": "2024-05-01T00:00:00Z", "id": number, "cart": [], **event}).encode()
        + b"\n"
        for number, event in enumerate(events)
    ]
    found, stage = run(policy_of(*text, session=session), lines)
    assert verdict_of(found, stage).holds
    return [json.loads(line) for line in found.splitlines()], stage


def test_sessions_that_fail_become_coarser_and_no_others():
    """Oslo and Kiev are one each: north; Rome is two: it stays; an age of nobody else goes."""
    guarantee = f'kind = "session-k"\npaths = ["town", "age"]\nk = 2\nfails = "field"\n{GROUPS}'
    shown = [("Rome", 20), ("Rome", 20), ("Oslo", 21), ("Kiev", 21), ("Kiev", 22), ("Oslo", 23)]
    events = [
        {"who": f"p{number}", "visit": number, "town": town, "age": age}
        for number, (town, age) in enumerate(shown)
    ]

    found, stage = leaving([guarantee], *events)

    assert [(it.get("town"), it.get("age")) for it in found] == [
        ("Rome", 20), ("Rome", 20), ("north", 21), ("north", 21), ("north", None), ("north", None),
    ]  # fmt: skip
    assert stage.summary()["values-left-out"] == 2


def test_values_of_few_become_coarser_wherever_they_are():
    """Kiev and Bergen are of one person each: north; Oslo stays; what nothing covers goes."""
    guarantee = f'kind = "distinct"\npaths = ["town"]\nk = 2\nfails = "field"\n{GROUPS}'
    towns = ["Oslo", "Oslo", "Kiev", "Nome", "Rome", "Rome", "Bergen", "Kiev"]
    people = ["a", "b", "c", "c", "a", "b", "d", "c"]
    events = [{"who": who, "town": town} for who, town in zip(people, towns, strict=True)]

    found, _ = leaving([guarantee], *events)

    assert [it.get("town") for it in found] == [
        "Oslo", "Oslo", "north", None, "Rome", "Rome", "north", "north",
    ]  # fmt: skip


def test_several_guarantees_hold_together():
    """What the second leaves out makes the first fail again: it is looked at again."""
    sessions = 'kind = "session-k"\npaths = ["town"]\nk = 2\nfails = "session"'
    values = 'kind = "distinct"\npaths = ["age"]\nk = 2\nfails = "event"'
    events = [
        {"who": "a", "visit": 1, "town": "Rome", "age": 20},
        {"who": "b", "visit": 2, "town": "Rome", "age": 99},
        {"who": "c", "visit": 3, "town": "Oslo", "age": 20},
        {"who": "d", "visit": 4, "town": "Oslo", "age": 20},
    ]

    found, _ = leaving([sessions, values], *events)

    assert [it["id"] for it in found] == [2, 3]


def test_an_element_goes_with_what_is_in_it_and_a_field_alone():
    """An item of one person: its element is left out, or only its name."""
    events = [
        {"who": "a", "visit": 1, "cart": [{"item": "p", "n": 1}, {"item": "q", "n": 2}]},
        {"who": "b", "visit": 2, "cart": [{"item": "p", "n": 3}]},
    ]
    text = 'kind = "k-m"\npaths = ["cart[].item"]\nk = 2\nm = 2\nfails = "{}"'

    elements, _ = leaving([text.format("element")], *events)
    fields, _ = leaving([text.format("field")], *events)

    assert [it["cart"] for it in elements] == [[{"item": "p", "n": 1}], [{"item": "p", "n": 3}]]
    assert [it["cart"] for it in fields] == [
        [{"item": "p", "n": 1}, {"n": 2}],
        [{"item": "p", "n": 3}],
    ]


def test_events_without_a_known_entity_do_not_count():
    """Null, nothing and objects are nobody; they leave where enough others do."""
    guarantee = 'kind = "distinct"\npaths = ["town"]\nk = 2\nfails = "event"'
    nobody = [{"who": None, "town": "Oslo"}, {"town": "Oslo"}, {"who": {"id": 1}, "town": "Oslo"}]
    some = [{"who": "a", "town": "Rome"}, {"who": "b", "town": "Rome"}, {"town": "Rome"}]

    found, _ = leaving([guarantee], *nobody, *some)

    assert [it["id"] for it in found] == [3, 4, 5]


def test_a_number_and_its_text_are_one_entity():
    """However it is written: 7, 7.0 and "7" are one person, who isn't two."""
    guarantee = 'kind = "distinct"\npaths = ["town"]\nk = 2\nfails = "event"'
    same = [{"who": who, "town": "Oslo"} for who in (7, 7.0, "7")]

    assert leaving([guarantee], *same)[0] == []


def test_fields_that_stars_find_wait_too():
    """Whatever the blocks: the order of fields is the policy's, then that of their names."""
    text = POLICY.format(session="", lateness=0, late="drop", most=100).replace(
        '[[rule]]\npath = "visit"\ndo = "keep"\n',
        '[[rule]]\npath = "more.*"\nnames = "keep"\ndo = "keep"\n',
    )
    guarantee = '[[guarantee]]\nkind = "distinct"\npaths = ["town"]\nk = 2\nfails = "event"\n'
    policy = EventPolicy.from_toml(text + guarantee)
    lines = [
        json.dumps(
            {"time": "2024-05-01T00:00:00Z", "id": at, "who": at, "town": "Rome", "more": more}
        ).encode()
        + b"\n"
        for at, more in enumerate([{"z": 1}, {"a": 2, "z": 3}, {}, {"m": [1]}, {"m": 4}])
    ]

    whole, _ = run(policy, lines)
    parts, _ = run(policy, lines, cuts=[1, 2, 3, 4], resumed=True)

    assert whole == parts
    assert [json.loads(line).get("more") for line in whole.splitlines()] == [
        {"z": 1}, {"a": 2, "z": 3}, None, None, {"m": 4},
    ]  # fmt: skip


def test_a_state_of_something_else_is_refused():
    """Damaged, of another stage, or of another number of guarantees."""
    policy = policy_of('kind = "distinct"\npaths = ["town"]\nk = 2\nfails = "event"')
    state = Holding(policy).state()

    for damaged in (b"", state[:-1], b"x" + state, state.replace(b"held", b"hold")):
        with pytest.raises(DataError, match="damaged"):
            Holding(policy).restore(damaged)


DISTINCT = 'kind = "distinct"\npaths = ["town"]\nk = 2\nfails = "event"'


@pytest.mark.parametrize(
    ("guarantee", "said"),
    [
        (DISTINCT.replace("k = 2", "k = 1"), "'k': must be at least 2. Got 1"),
        (DISTINCT.replace('"event"', '"nothing"'), "'fails': must be 'field', 'element'"),
        (DISTINCT + "\nm = 2", "'m' goes with kind = 'k-m'"),
        (DISTINCT.replace('["town"]', '["town", "age"]'), "must be one path"),
        (DISTINCT.replace('["town"]', '["nowhere"]'), "no rule says what becomes of 'nowhere'"),
        (DISTINCT.replace("distinct", "k-m"), "'m' goes with kind = 'k-m', which needs it"),
        (DISTINCT.replace("distinct", "session-k"), "must be 'field' or 'session'"),
        (
            'kind = "session-k"\npaths = ["town", "cart[].item"]\nk = 2\nfails = "field"',
            "fields of the event, or of one array's elements",
        ),
        (DISTINCT + "\nhierarchies = { age = { intervals = [10] } }", "isn't in 'paths'"),
    ],
)
def test_guarantees_that_can_not_be_are_refused(guarantee, said):
    """With what is wrong, and where."""
    with pytest.raises(PolicyError) as told:
        policy_of(guarantee)

    assert said in str(told.value)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('entity = "who"', "", "the path of the entity is needed"),
        ('time = "time"', "", "the path of the time is needed"),
        ('entity = "who"', 'entity = "cart[].n"', "must be a field of the event"),
        ('[window]\nevery = "1 day"\nzone = "UTC"', "", "[window] is lacking"),
        ('every = "1 day"', 'every = "0 days"', "longer than nothing"),
        ('lateness = "0 minutes"', 'lateness = "1 month"', "without months"),
    ],
)
def test_streams_that_lack_something_are_refused(old, new, said):
    """A guarantee needs to know when, and of whom."""
    text = policy_of(DISTINCT).to_toml()
    lines = POLICY.format(session="", lateness=0, late="drop", most=5)
    assert old in lines
    cut = lines.replace(old, new)
    cut = cut.split("lateness =")[0] if not new and "window" in old else cut

    with pytest.raises(PolicyError) as told:
        EventPolicy.from_toml(f"{cut}\n[[guarantee]]\n{DISTINCT}\n")

    assert said in str(told.value)
    assert EventPolicy.from_toml(text).to_toml() == text
