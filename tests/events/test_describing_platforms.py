"""What is proposed for events of well-known platforms: their time, their entity, no key."""

from __future__ import annotations

import json
import random

import pytest

from events.platform_shapes import (  # type: ignore[import-not-found] # beside, not in a package
    PEOPLE,
    SHAPES,
    moment,
)
from halfmask.events.description import describe_events


@pytest.mark.mostly_slow
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_the_time_and_the_entity_of_a_platform_are_found(shape):
    """Not the version of an API, a user's agent, or what events are done to."""
    found = describe_events(shape.lines()).stream

    assert (found["time"], found["entity"]) == (shape.time, shape.entity)


MAPS = {
    "counts": lambda some: {"votes": dict.fromkeys(some, 1)},
    "objects": lambda some: {"members": {it: {"role": "r", "n": 1} for it in some}},
    "lists": lambda some: {"shared": {it: ["read"] for it in some}},
    "beneath": lambda some: {"a": {"b": {"by_user": {it: len(it) / 3 for it in some}}}},
    "in a list": lambda some: {"rooms": [{"seats": {it: True}} for it in some]},
    "of nothing": lambda some: {"votes": dict.fromkeys(some)},
    "with gaps": lambda some: {"votes": {it: n or None for n, it in enumerate(some)}},
    "of several types": lambda some: {"x": {it: (1, "a", [2])[n] for n, it in enumerate(some)}},
}


@pytest.mark.mostly_slow
@pytest.mark.parametrize("map_of", MAPS.values(), ids=MAPS)
@pytest.mark.parametrize("known", [True, False], ids=["values elsewhere", "in the map alone"])
def test_keys_of_a_map_that_are_values_are_not_shown(map_of, known):
    """Forty people, each in one of twenty events: no key is rare, and none stands anywhere."""
    rng = random.Random(3)
    events = []
    for i in range(300):
        event = {"ts": moment(i), **map_of(rng.sample(PEOPLE, rng.randrange(1, 4)))}
        events.append(event | ({"user": rng.choice(PEOPLE)} if known else {}))

    found = describe_events("\n".join(map(json.dumps, events)).encode())

    shown = found.policy_toml(release="r") + json.dumps(found.to_dict())
    assert [it for it in PEOPLE if it in shown] == []


def test_a_small_map_of_values_that_are_met_elsewhere_is_one():
    """Four people are too few to count by; but they are users of other events."""
    rng = random.Random(3)
    events = [
        {"user": rng.choice(PEOPLE[:4]), "votes": dict.fromkeys(rng.sample(PEOPLE[:4], 2), i)}
        for i in range(60)
    ]

    found = describe_events("\n".join(map(json.dumps, events)).encode())

    assert {it.path for it in found.fields} == {"user", "votes", "votes.*"}


def test_fields_that_some_kinds_of_events_have_stay_fields():
    """A record of other fields for each kind of event is sparse, too, but isn't alike."""
    kinds = [{f"text{i}": "a", f"number{i}": i, f"list{i}": [i]} for i in range(5)]
    events = [{"payload": kinds[i % 5], "n": i} for i in range(200)]

    found = describe_events("\n".join(map(json.dumps, events)).encode())

    assert "payload.number3" in {it.path for it in found.fields}


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("birthDate", [f"19{10 + i}-01-01" for i in range(60)]),
        ("user_agent", [f"agent {i % 20}" for i in range(60)]),
        ("repo", [{"name": f"repo-{i % 20}"} for i in range(60)]),
        ("account_type", ["a", "b"] * 30),
    ],
    ids=["birth", "agent", "repository", "type"],
)
def test_what_is_no_time_and_no_person_is_not_taken_for_one(field, values):
    """Also where there is nothing else: none is better than a wrong one."""
    events = [{field: value, "n": i} for i, value in enumerate(values)]

    assert describe_events("\n".join(map(json.dumps, events)).encode()).stream == {}
