"""What a transform promises: nothing unnamed leaves, blocks don't matter, states go on."""

from __future__ import annotations

import json
from itertools import pairwise

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from events.running import lines_of, run, transform_of  # type: ignore[import-not-found] # beside, not in a package
from halfmask._errors import DataError, KeyMismatchError, ParameterError
from halfmask.events import SecretTable
from halfmask.vault import Secret

CANARY = "CaNaRy-7f3a"
TABLES = {
    "shelf": SecretTable.from_toml("""
halfmask-table = 1
kind = "recode-many"
[[values."Google Nexus 5"]]
set = { name = "Luxury phone" }
times = { quantity = 1 }
[[values."Google Nexus 5"]]
set = { name = "post card" }
times = { quantity = 3 }
"""),
    "codes": SecretTable(kind="recode", values={"1": 5, "a": "x"}),
    "factors": SecretTable(kind="scale", values={"a": 3}),
}
STREAM = {"entity": "who", "session": "s", "zone": "UTC"}
#: One rule of each action, at every level.
ALL = [
    {"path": "who", "do": "token"},
    {"path": "t", "do": "coarsen-time", "every": "1 day", "zone": "UTC", "jitter": "1 minute"},
    {"path": "u", "do": "shift", "within": "30 days", "zone": "UTC"},
    {"path": "n", "do": "noise", "how": "add", "law": "laplace", "scale": 2.0, "per": "event",
     "decimals": 2},
    {"path": "items[].id", "do": "sequence", "scope": "session", "open": 2},
    {"path": "items[].n", "do": "recode", "table": "codes"},
    {"path": "items[].tags[]", "do": "hash", "bits": 16},
    {"path": "items[].more[].n", "do": "noise", "how": "multiply", "law": "uniform", "scale": 0.5,
     "per": "event", "decimals": 3},
    {"path": "items[].more[].k", "do": "sequence", "scope": "stream",
     "when": {"path": "items[].id", "not": "b"}},
    {"path": "items[].more[].k", "do": "keep"},
]  # fmt: skip


def _or_canary(strategy):
    return st.one_of(strategy, st.sampled_from([None, CANARY, {CANARY: CANARY}, [CANARY], 1.5]))


NUMBERS = st.integers(0, 3)
MORE = st.fixed_dictionaries({}, optional={"n": _or_canary(NUMBERS), "k": NUMBERS, CANARY: NUMBERS})
ITEMS = st.fixed_dictionaries(
    {},
    optional={
        "id": st.sampled_from("abc"),
        "n": _or_canary(NUMBERS),
        "tags": _or_canary(st.lists(st.sampled_from("xy"), max_size=3)),
        "more": _or_canary(st.lists(MORE, max_size=3)),
        CANARY: _or_canary(NUMBERS),
    },
)
EVENTS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "who": st.sampled_from(["ann", "bob"]),
            "s": st.sampled_from("pqr"),
            "t": _or_canary(st.just("2014-09-04T22:57:55")),
            "u": _or_canary(st.just("2014-09-04")),
            "n": _or_canary(NUMBERS),
            "items": _or_canary(st.lists(ITEMS, max_size=4)),
            CANARY: _or_canary(NUMBERS),
            "other": st.just({CANARY: [{CANARY: CANARY}]}),
        },
    ),
    max_size=12,
)


def _all():
    return transform_of(ALL, stream=STREAM, tables=TABLES)


@pytest.mark.slow
@settings(max_examples=40)
@given(EVENTS)
def test_nothing_unnamed_leaves(events):
    """No canary, in keys, values, other types or beneath scalars, is ever in the output."""
    found = _all().apply(lines_of(events)).decode()

    assert CANARY not in found
    assert found.count("\n") == len(events)
    for line in found.splitlines():
        kept = json.loads(line)
        assert set(kept) <= {"who", "t", "u", "n", "items"}
        for item in kept.get("items") or ():
            assert set(item) <= {"id", "n", "tags", "more"}


@pytest.mark.slow
@settings(max_examples=40)
@given(EVENTS, st.lists(st.integers(0, 12), max_size=3), st.booleans())
def test_blocks_and_breaks_dont_matter(events, cuts, broken):
    """Wherever blocks end, and whether a new transform goes on: the same bytes and counts."""
    whole, parted = _all(), _all()
    expected = whole.apply(lines_of(events))
    ends = sorted({0, len(events), *(min(cut, len(events)) for cut in cuts)})
    found = b""
    for start, stop in pairwise(ends):
        found += parted.apply(lines_of(events[start:stop]))
        if broken:
            state = parted.state()
            parted = _all()
            parted.restore(state)

    assert found == expected
    assert parted.tally == whole.tally
    assert json.loads(parted.state()) == json.loads(whole.state()) or not events


def test_one_becomes_many():
    """A sale of two phones is one of two phones and six post cards; other sales go."""
    event = {
        "products": [
            {"name": "Google Nexus 5", "quantity": 2, "tags": ["new", "red"]},
            {"name": CANARY, "quantity": 7, "tags": []},
            {"name": "Google Nexus 5", "quantity": "2"},
        ]
    }
    rules = [
        {"path": "products[]", "name": "sold", "do": "recode-many", "table": "shelf",
         "by": "products[].name"},
        {"path": "products[].name", "do": "keep", "name": "what"},
        {"path": "products[].quantity", "do": "keep"},
        {"path": "products[].tags[]", "do": "keep"},
    ]  # fmt: skip

    found, failures = run(rules, [event, {}, {"products": []}], tables=TABLES)
    stayed, _ = run([{**rules[0], "other": "stay"}, *rules[2:]], [event], tables=TABLES)

    assert found[1:] == [{}, {"sold": []}]
    assert found[0]["sold"] == [
        {"what": "Luxury phone", "quantity": 2, "tags": ["new", "red"]},
        {"what": "post card", "quantity": 6, "tags": ["new", "red"]},
        {"what": "Luxury phone"},
        {"what": "post card"},
    ]
    assert failures == {"not-in-table": 1, "wrong-type": 2}
    assert [it.get("quantity") for it in stayed[0]["sold"]] == [2, 6, 7, None, None]


def test_elements_are_left_out_by_a_condition():
    """And what is numbered then is what stays; nested arrays go with their elements."""
    event = {"a": [{"k": "x", "b": [{"n": 1}, {"n": 2}]}, {"k": "y", "b": [{"n": 3}, {"n": 4}]}]}
    rules = [
        {"path": "a[]", "do": "erase", "when": {"path": "a[].k", "is": "x"}},
        {"path": "a[].b[]", "do": "erase", "when": {"path": "a[].b[].n", "above": 3}},
        {"path": "a[].b[].n", "do": "keep"},
        {"path": "a[].k", "do": "sequence", "scope": "event"},
    ]

    assert run(rules, [event, {"a": []}])[0] == [{"a": [{"b": [{"n": 3}], "k": 1}]}, {"a": []}]


@pytest.mark.parametrize(
    ("when", "holds"),
    [
        ({"is": "a"}, ["a"]),
        ({"is": 1}, [1, 1.0]),
        ({"is": True}, [True]),
        ({"in": ["a", 2.5, False]}, ["a", False, 2.5]),
        ({"not": "a"}, [1, 1.0, True, False, None, ..., 2.5, "1", {}, []]),
        ({"not": ["a", 1]}, [True, False, None, ..., 2.5, "1", {}, []]),
        ({"exists": True}, ["a", 1, 1.0, True, False, 2.5, "1", {}, []]),
        ({"exists": False}, [None, ...]),
        ({"above": 1}, [2.5]),
        ({"below": 2.5}, [1, 1.0]),
        ({"above": 0.5, "below": 2}, [1, 1.0]),
        ({"above": 0, "not": 1}, [2.5]),
    ],
)
def test_conditions(when, holds):
    """Each kind of condition, for each kind of value, there or not."""
    values = ["a", 1, 1.0, True, False, None, ..., 2.5, "1", {}, []]
    events = [{"v": 1} if value is ... else {"k": value, "v": 1} for value in values]

    found, _ = run([{"path": "v", "do": "keep", "when": {"path": "k", **when}}], events)

    got = [value for value, event in zip(values, found, strict=True) if event]
    assert list(map(_marked, got)) == sorted(map(_marked, holds), key=[*map(_marked, values)].index)


def _marked(value):
    return type(value).__name__, repr(value)


def test_the_first_rule_that_holds_does_the_work():
    """Conditions of several keys all hold; by type; without any that holds a value is dropped."""
    rules = [
        {"path": "v:string", "do": "mask", "first": 1,
         "when": [{"path": "k", "is": "a"}, {"path": "m", "exists": True}]},
        {"path": "v:number", "do": "round", "decimals": 0},
        {"path": "v", "do": "hash", "bits": 8, "when": {"path": "k", "is": "b"}},
    ]  # fmt: skip
    events = [
        {"v": "ab", "k": "a", "m": 1}, {"v": 1.5, "k": "a"}, {"v": "ab", "k": "a"},
        {"v": True, "k": "b"},
    ]  # fmt: skip

    found, failures = run(rules, events)

    assert found[:3] == [{"v": "a*"}, {"v": 2}, {}]
    assert len(found[3]["v"]) == 2
    assert failures == {}


def test_what_cant_be_done_holds_an_event_back_or_stops():
    """As the rule says; the message has the rule, the line and the reason, not the value."""
    rule = {"path": "v", "do": "round", "decimals": 0}
    events = [{"v": 1}, {"v": CANARY}, {"v": 2}]

    held = transform_of([{**rule, "otherwise": "refuse-event"}])
    found = held.apply(lines_of(events))
    stops = transform_of([{**rule, "otherwise": "stop"}])
    with pytest.raises(DataError) as caught:
        stops.apply(lines_of(events))

    assert found == b'{"v":1}\n{"v":2}\n'
    assert (held.tally.written, held.tally.held, held.tally.events) == (2, 1, 3)
    assert "Rule 1 of the policy can't do its work in line 2: wrong-type." in str(caught.value)
    assert CANARY not in str(caught.value)


def test_stars_and_names_of_fields():
    """Fields that stars find keep their names or get keyed ones; a name that is taken is left."""
    event = {"meta": {"ann": 1, "bob": {"x": 2}, "date": 5}, "time": 3, "date": 4}
    stars = {"path": "meta.**", "do": "keep"}

    kept, _ = run([{**stars, "names": "keep"}], [event])
    [hashed], _ = run([{**stars, "names": "hash"}], [event])
    [other], _ = run([{**stars, "names": "hash"}], [event], release="next")
    taken, _ = run(
        [{"path": "time", "name": "date", "do": "keep"},
         {"path": "*:integer", "do": "keep", "names": "keep"}], [event],
    )  # fmt: skip

    assert kept == [{"meta": event["meta"]}]
    assert "ann" not in json.dumps(hashed)
    assert sorted(map(repr, hashed["meta"].values()))[:2] == ["1", "5"]
    assert not set(hashed["meta"]) & set(other["meta"])
    assert taken == [{"date": 3}]


@pytest.mark.parametrize(
    "first", [{"path": "**:integer", "do": "keep"}, {"path": "*.y", "do": "keep"}]
)
def test_a_name_that_one_rule_hashes_is_shown_by_no_other(first):
    rules = [{**first, "names": "keep"}, {"path": "**:string", "do": "token", "names": "hash"}]
    events = [
        {CANARY: {"y": 1}},
        {CANARY: {"z": "text", "y": 2}},
        {CANARY: "text", "y": 3},
        {"n": [{CANARY: "text"}, {CANARY: 4}]},
    ]
    together = transform_of(rules).apply(lines_of(events))
    apart = transform_of(rules)
    assert CANARY.encode() not in together
    assert b"".join(apart.apply(lines_of([event])) for event in events) == together


def test_names_that_a_first_rule_keeps_whole_stay_before_one_that_hashes_all_others():
    rules = [
        {"path": "meta.*", "do": "keep", "names": "keep"},
        {"path": "**", "do": "keep", "names": "hash"},
    ]
    (event,), _ = run(rules, [{"meta": {"a": 1, "b": {"c": 2}}, "d": 3}])
    assert event["meta"]["a"] == 1
    assert list(event["meta"]["b"].values()) == [2]
    assert not {"c", "d"} & {*event, *event["meta"]["b"]}


def test_bad_lines_are_counted():
    """By reason; the good ones around them are written."""
    transform = transform_of([{"path": "v", "do": "keep"}])
    found = transform.apply(b'{"v":1}\n{"v":\n[1]\n\xff\n{"v":1,"v":2}\n{"v":3}\n')

    assert found == b'{"v":1}\n{"v":3}\n'
    assert sum(transform.tally.bad.values()) == 4
    assert (transform.tally.lines, transform.tally.events) == (6, 2)


def test_states_of_others_are_refused():
    """Of another policy, secret or version, or no state at all."""
    rule = {"path": "v", "do": "sequence", "scope": "stream"}
    transform = transform_of([rule])
    transform.apply(b'{"v":"x"}')
    state = transform.state()
    damaged = [b"", b"{}", b"[]", state[:-3], state.replace(b'"version":3', b'"version":4')]

    for wrong in (transform_of([rule], secret=Secret.fresh()), transform_of([rule], release="x")):
        with pytest.raises(KeyMismatchError):
            wrong.restore(state)
    for data in damaged:
        with pytest.raises(DataError):
            transform_of([rule]).restore(data)


def test_tables_that_arent_there_are_said_by_name():
    """A missing one, one of another kind, and fields that no rule writes; never an entry."""
    recode = [{"path": "v", "do": "recode", "table": "codes"}]
    many = [
        {"path": "a[]", "do": "recode-many", "table": "shelf", "by": "a[].name"},
        {"path": "a[].name", "do": "keep"},
    ]

    with pytest.raises(ParameterError, match="'codes', which wasn't given"):
        transform_of(recode)
    with pytest.raises(ParameterError, match="must be of kind 'recode'"):
        transform_of(recode, tables={"codes": TABLES["factors"]})
    with pytest.raises(ParameterError, match="'shelf' sets or multiplies fields") as caught:
        transform_of(many, tables=TABLES)
    assert "quantity" not in str(caught.value)


@pytest.mark.parametrize("otherwise", ["drop", "refuse-event", "stop"])
def test_what_two_stars_go_through_is_no_value(otherwise):
    """Objects and arrays on the way aren't of a wrong type: no event is refused for them."""
    event = {"payload": {"a": {"b": [{"c": 1}, {"c": [2, {}]}], "d": {}}, "e": "x", "f": None}}
    rule = {"path": "payload.**", "do": "keep", "names": "keep", "otherwise": otherwise}
    [found], failures = run([rule], [event])

    kept = {"payload": {"a": {"b": [{"c": 1}, {"c": [2, {}]}]}, "e": "x", "f": None}}
    assert found["payload"]["a"]["b"][0] == {"c": 1}
    assert found["payload"] | {"a": 0} == kept["payload"] | {"a": 0}
    assert failures == {}


@pytest.mark.parametrize("path", ["payload.**", "**", "**.x", "payload.*", "payload.**:object"])
def test_values_beneath_two_stars_are_still_refused(path):
    """And where an object stands in place of a value, or is asked for, it is of a wrong type."""
    inner = {"x": "text"} if path in {"payload.**", "**"} else {"x": {"deep": 1}}
    rule = {"path": path, "do": "round", "decimals": 0, "names": "keep"}
    transform = transform_of([{**rule, "otherwise": "refuse-event"}])
    transform.apply(lines_of([{"payload": inner}]))

    assert transform.tally.held == 1
    assert transform.tally.failures == {(1, "wrong-type"): 1}


def test_containers_fall_to_the_next_rule():
    """A later rule may be for what two stars go through."""
    rules = [
        {"path": "**", "do": "keep", "names": "keep"},
        {"path": "a:object", "do": "keep", "otherwise": "refuse-event"},
    ]
    transform = transform_of(rules)
    assert transform.apply(b'{"a":{"b":1}}') == b""
    assert transform.tally.held == 1
