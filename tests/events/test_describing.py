"""A sample of events is described without a value of it, and the proposal runs on it."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask._errors import DataError, ParameterError
from halfmask.events import EventPolicy, Transform
from halfmask.events.description import describe_events
from halfmask.vault import Secret

CANARY = "CANARY"


def lines(events):
    """Return events as lines."""
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def described(events, **more):
    """Describe events given as objects."""
    return describe_events(lines(events), **more)


def shop(count, *, seed=7):
    """Return orders of a shop whose every value is a canary, or drawn among numbers."""
    draw = random.Random(seed)
    return [
        {
            "id": f"{CANARY}-{number}",
            "at": f"2014-09-{1 + number % 28:02}T22:{number % 60:02}:00Z",
            "user": f"{CANARY}-user-{draw.randint(0, count // 10)}",
            "session_id": f"{CANARY}-s{number // 3}",
            "tenant": f"{CANARY}-t{number % 2}",
            "mail": f"{CANARY}{number}@example.org",
            "paid": draw.random() < 0.5,
            "via": [f"{CANARY} web", f"{CANARY} shop"][number % 2],
            "note": f"{CANARY} wrote to somebody about a thing that I won't tell you, {number}",
            "lines": [
                {"sku": f"{CANARY}-{draw.randint(0, 400)}", "amount": draw.randint(1, 90)}
                for _ in range(draw.randint(1, 5))
            ],
            "stock": {f"{CANARY}-sku-{draw.randint(0, 900)}": draw.randint(0, 9) for _ in "ab"},
        }
        for number in range(count)
    ]


@pytest.mark.slow
def test_each_field_gets_what_it_is():
    """Kinds, roles and rules of a shop's orders."""
    found = described(shop(400))

    said = {it.path: (it.kind, it.rule and it.rule["do"]) for it in found.fields}
    assert said == {
        "id": ("identifier", None),
        "at": ("time", "coarsen-time"),
        "user": ("identifier", "token"),
        "session_id": ("identifier", "token"),
        "tenant": ("category", "sequence"),
        "mail": ("identifier", None),
        "paid": ("boolean", "keep"),
        "via": ("category", "keep"),
        "note": ("free-text", None),
        "lines": ("nested", None),
        "lines[]": ("nested", None),
        "lines[].sku": ("identifier", "sequence"),
        "lines[].amount": ("number", "round"),
        "stock": ("nested", None),
        "stock.*": ("number", "round"),
    }
    stream = {"time": "at", "entity": "user", "session": "session_id", "tenant": "tenant"}
    assert found.stream == stream


@pytest.mark.slow
def test_no_value_stands_in_the_proposal():
    """Neither in the policy, nor its comments, nor in what programs read, nor in repr."""
    found = described(shop(400))

    told = [found.policy_toml(release="r"), json.dumps(found.to_dict()), repr(found), str(found)]
    told += [repr(it) for it in found.fields]
    assert [text for text in told if CANARY in text] == []


@pytest.mark.slow
def test_names_of_maps_are_values():
    """They become a star, and are hashed in what is written."""
    events = shop(400)
    found = described(events)
    policy = found.policy(release="r")

    assert found["stock.*"].rule == {"do": "round", "significant": 2, "names": "hash"}
    assert found["stock"].names > 200
    out = Transform(policy, secret=Secret.from_bytes(bytes(32))).apply(lines(events))
    assert CANARY.encode() not in out.replace(b"CANARY web", b"").replace(b"CANARY shop", b"")


@pytest.mark.parametrize(
    "name",
    ["ann@example.org", "192.168.0.1", "20140904", "2014-09-04", "0123456789abcdef"],
    ids=["mail", "address", "digits", "day", "hexadecimal"],
)
def test_a_single_name_that_looks_like_a_value_is_one(name):
    """However few there are, wherever they stand."""
    found = described([{"a": {"b": [{name: 1}]}, "n": i} for i in range(30)])

    assert name not in found.policy_toml(release="r")
    assert "a.b[].*" in [it.path for it in found.fields]


def test_an_event_may_itself_be_a_map():
    """Then all its names are a star."""
    found = described([{f"{CANARY}{i}": i, f"{CANARY}{i + 1}": 2} for i in range(300)])

    assert [it.path for it in found.fields] == ["*"]
    assert CANARY not in found.policy_toml(release="r")


def test_arrays_in_maps_are_written_under_hashed_names():
    """Their elements have no names of their own."""
    events = [{"m": {f"2014-09-{i:02}": [i, 2 * i]}} for i in range(1, 30)]
    policy = described(events).policy(release="r")

    out = Transform(policy, secret=Secret.from_bytes(bytes(32))).apply(lines(events))
    found = [json.loads(line)["m"] for line in out.splitlines()]
    assert [list(it.values()) for it in found] == [[[i, 2 * i]] for i in range(1, 30)]
    assert "2014" not in out.decode()


def test_a_map_of_thousands_of_names_is_left_out():
    """A run doesn't follow so many; nothing of it leaves, and events aren't refused for it."""
    found = described([{"ok": True, "m": {f"u{i}-{j}": 1 for j in range(3)}} for i in range(2000)])

    assert found["m.*"].rule is None
    assert found["ok"].rule is None or found["ok"].rule["do"] == "keep"


@pytest.mark.slow
def test_records_keep_their_names():
    """Fields that most objects have are fields, however many there are."""
    events = [{"a": {f"field{i}": i for i in range(100)}} for _ in range(50)]

    assert "a.field99" in [it.path for it in described(events).fields]


@pytest.mark.slow
@pytest.mark.parametrize("zone", ["Z", "", "+02:00"], ids=["utc", "none", "offset"])
def test_times_are_coarsened_to_where_there_is_company(zone):
    """The grid follows the density; texts without a zone get one, said to be looked at."""
    dense = [{"time": f"2014-09-04T{i % 24:02}:{i % 60:02}:00{zone}"} for i in range(2400)]
    sparse = [{"time": f"20{i % 90 + 10}-09-04T10:00:00{zone}"} for i in range(90)]

    assert described(dense)["time"].rule["every"] == "1 hour"
    rule = described(sparse)["time"].rule
    assert rule["every"] == "1 month"
    assert ("zoneless" in rule) == (zone == "")
    assert described(dense).zone_lacking == (zone == "")
    # Days and hours of the place where it happened, and hours of several places with their zone.
    own = {"zone": "own", "write": "offset"} if zone == "+02:00" else {"zone": "UTC"}
    assert described(dense)["time"].rule.items() >= own.items()
    assert rule["zone"] == own["zone"]
    assert "write" not in rule


@pytest.mark.parametrize(
    ("start", "unit"),
    [
        (1_409_871_475, "seconds"),
        (1_409_871_475_000, "milliseconds"),
        (1_409_871_475_000_000, "microseconds"),
    ],
)
def test_times_may_be_numbers(start, unit):
    """Since 1970, in what their size says, where the name speaks of a time."""
    found = described([{"timestamp": start + i, "n": start + i} for i in range(100)])

    assert found["timestamp"].rule["unit"] == unit
    assert found["n"].kind != "time"


@pytest.mark.slow
def test_what_a_rule_cannot_do_is_left_out():
    """Times that aren't ISO 8601, amounts as texts, several types: no rule that fails."""
    events = [
        {
            "when": "04.09.2014",
            "amount": f"{i}.50",
            "mixed": i if i % 2 else "text",
            "huge": 10**30 + i,
            "nothing": None,
        }
        for i in range(60)
    ]
    found = described(events)

    assert all(it.rule is None for it in found.fields)
    policy = found.policy(release="r")
    out = Transform(policy, secret=Secret.from_bytes(bytes(32)))
    assert out.apply(lines(events)) == b"{}\n" * 60


@pytest.mark.slow
def test_a_stray_time_makes_the_rule_go():
    """What reads as a date and is none makes the rule fail, so it isn't proposed."""
    events = [{"time": f"2014-09-{i % 28 + 1:02}T10:00:00Z"} for i in range(400)]
    events[7]["time"] = "soon"

    found = described(events)

    assert found["time"].rule is None
    assert "not-a-time" in found["time"].reasons[-1]
    assert not found["time"].certain


def test_rare_values_are_not_kept():
    """A category stays only where each value has company, of events and of entities."""
    common = [{"user": f"u{i % 40}", "via": "ab"[i % 2]} for i in range(400)]
    rare = [*common, {"user": "u1", "via": "c"}]
    of_one = [{"user": f"u{i % 40}", "via": "x" if i % 40 == 3 else "y"} for i in range(800)]

    assert described(common)["via"].rule == {"do": "keep"}
    assert described(rare)["via"].rule is None
    assert described(of_one)["via"].rule is None


def test_it_tells_what_singles_out():
    """Sets of paths, elements of arrays taken together, and values of one entity alone."""
    draw = random.Random(1)
    events = [
        {
            "user": f"u{i % 50}",
            "a": draw.randint(0, 30),
            "b": draw.randint(0, 30),
            "basket": [draw.randint(0, 20) for _ in range(6)],
            "own": i % 50,
        }
        for i in range(1000)
    ]
    found = described(events)

    sets = {it.columns: it.share_unique for it in found.singling_out}
    assert sets["basket[]",] > 0.9
    assert sets["a", "b"] > 0.2
    assert ("own",) not in sets
    assert found["own"].one_entity == 1.0
    assert found["a"].one_entity == 0.0
    assert found.share_unique > 0.9


@pytest.mark.slow
def test_the_guarantee_that_it_suggests_is_one():
    """What stands in comments can be uncommented."""
    events = [
        {"time": "2014-09-04T10:00:00Z", "user": f"u{i % 40}", "via": "ab"[i % 2]}
        for i in range(400)
    ]
    text = described(events).policy_toml(release="r")

    head, tail = text.split("# [window]\n")
    uncommented = "[window]\n" + "\n".join(
        line.removeprefix("# ") for line in tail.splitlines() if line.startswith("# ")
    )
    policy = EventPolicy.from_toml(head + uncommented)
    assert policy.guarantees[0].paths == ("via",)


def test_lines_that_are_no_events_are_counted():
    """By reason; what is left is described."""
    data = b'{"n": 1}\nno\n[1]\n\n{"n": 2}\n{"n": "\xff"}\n{"n": 3, "n": 4}\n'
    found = describe_events(data)

    assert (found.lines, found.events) == (7, 3)
    assert found.refused == {"not-an-object": 1, "not-json": 1, "not-utf8": 1}


@pytest.mark.parametrize("data", [b"", b"\n\n", b"no\n"], ids=["empty", "blank", "none"])
def test_there_must_be_an_event(data):
    """Nothing to describe is an error."""
    with pytest.raises(DataError, match="no event"):
        describe_events(data)


@pytest.mark.slow
def test_so_many_are_looked_at():
    """The first ones; pieces come as they come."""
    events = shop(300)
    found = describe_events([lines(events[:100]), lines(events[100:])], max_events=150)

    assert (found.events, found.whole) == (150, False)
    assert describe_events(lines(events[:150])).to_dict()["fields"] == found.to_dict()["fields"]
    with pytest.raises(ParameterError):
        describe_events(lines(events), max_events=0)


def test_names_that_are_odd_stay_names():
    """Names with quotes, line ends and control characters can't break out of a comment."""
    name = 'a"b\n[[rule]]\x1b[2J\x7f\u2028'
    events = [{name: i % 2 == 0, f"{name}2": "text " * 60} for i in range(60)]
    text = described(events).policy_toml(release="r")

    policy = EventPolicy.from_toml(text)
    assert [rule.place.steps for rule in policy.rules] == [(name,)]
    assert "\x1b" not in text
    assert len(tomllib.loads(text)["rule"]) == 1


json_scalars = (
    st.none() | st.booleans() | st.integers(-(10**25), 10**25) | st.floats(allow_nan=False)
) | st.text(max_size=12)
names = st.text(min_size=1, max_size=6) | st.sampled_from(["id", "time", "user", "a.b", "name"])
json_values = st.recursive(
    json_scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.slow
@settings(max_examples=15)
@given(st.lists(st.dictionaries(names, json_values, max_size=5), min_size=1, max_size=12))
def test_whatever_comes_the_proposal_runs_without_failures(events):
    """Any events: the text is a policy, and its rules fail on nothing of the sample."""
    data = lines(events)
    try:
        found = describe_events(data)
    except DataError:
        return
    transform = Transform(
        EventPolicy.from_toml(found.policy_toml(release="r")), secret=Secret.from_bytes(bytes(32))
    )
    transform.apply(data)

    assert dict(transform.tally.failures) == {}
    assert transform.tally.bad.total() == sum(found.refused.values())


@pytest.mark.slow
@pytest.mark.real_data
def test_wikipedia_edits(shared_data):
    """20 fields: who, where and what is left out or tokens; 39,244 events of 10,531 users."""
    path = shared_data / "wikiticker-2015-09-12-sampled.json.gz"
    with gzip.open(path) as file:
        found = describe_events(file.read(), max_events=8_000)

    said = {it.path: (it.kind, it.rule and it.rule["do"]) for it in found.fields}
    left_out = ("cityName", "countryIsoCode", "countryName", "regionIsoCode", "regionName")
    assert {said[name] for name in left_out} == {("quasi-identifier", None)}
    flags = ("isAnonymous", "isMinor", "isNew", "isRobot", "isUnpatrolled")
    assert {said[name] for name in flags} == {("boolean", "keep")}
    assert said["time"] == ("time", "coarsen-time")
    assert said["user"] == ("identifier", "token")
    assert said["comment"] == ("free-text", None)
    assert {said[name][1] for name in ("page", "channel", "namespace", "metroCode")} == {None}
    assert {said[name] for name in ("delta", "added", "deleted")} == {("number", "round")}
    assert found.stream == {"time": "time", "entity": "user"}
    assert found.share_unique > 0.99


def retail_orders(path, most):
    """Return the first invoices of Online Retail as nested orders."""
    found: dict[str, dict[str, Any]] = {}
    with gzip.open(path) as file:
        for row in csv.DictReader(io.TextIOWrapper(file, "utf-8")):
            if row["InvoiceNo"] not in found and len(found) == most:
                break
            order = found.setdefault(
                row["InvoiceNo"],
                {
                    "invoice": row["InvoiceNo"],
                    "time": row["InvoiceDate"].replace(" ", "T"),
                    "country": row["Country"],
                    "lines": [],
                },
            )
            if row["CustomerID"]:
                order["customer"] = row["CustomerID"].removesuffix(".0")
            line = {"code": row["StockCode"], "description": row["Description"] or None}
            amount = {"quantity": int(row["Quantity"]), "price": float(row["UnitPrice"])}
            order["lines"].append(line | amount)
    return list(found.values())


@pytest.mark.slow
@pytest.mark.real_data
def test_online_retail_orders(shared_data):
    """Nested orders: invoice and description dropped, stock codes numbered within the order."""
    found = described(retail_orders(shared_data / "online_retail.csv.gz", 2_000))

    said = {it.path: (it.kind, it.rule and it.rule["do"]) for it in found.fields}
    assert said == {
        "invoice": ("identifier", None),
        "time": ("time", "coarsen-time"),
        "country": ("quasi-identifier", None),
        "customer": ("identifier", "token"),
        "lines": ("nested", None),
        "lines[]": ("nested", None),
        "lines[].code": ("identifier", "sequence"),
        "lines[].description": ("free-text", None),
        "lines[].quantity": ("number", "round"),
        "lines[].price": ("number", "round"),
    }
    assert found.zone_lacking
    assert ("lines[].code",) in [it.columns for it in found.singling_out]
