"""Run a policy over events in tests: Python objects in, Python objects out."""

from __future__ import annotations

import json

from halfmask.events import EventPolicy, Transform
from halfmask.vault import Secret

SECRET = Secret.from_bytes(bytes(range(32)))


def transform_of(rules, *, stream=None, tables=None, release="r", secret=SECRET, folder=None):
    """Return the transform of some rules, given as dictionaries."""
    policy = EventPolicy(
        **{"halfmask-events": 1, "release": release, "stream": stream or {}, "rule": rules}
    )
    return Transform(policy, secret=secret, tables=tables, folder=folder)


def lines_of(events):
    """Return events as lines."""
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def run(rules, events, **more):
    """Return what rules make of events, and the counts of what they couldn't do."""
    transform = transform_of(rules, **more)
    found = [json.loads(line) for line in transform.apply(lines_of(events)).splitlines()]
    return found, {reason: count for (_, reason), count in transform.tally.failures.items()}


def one(action, values, **more):
    """Return what an action makes of values, each in an event; ... where it wrote none."""
    rules = [{"path": "v", **action}]
    found, failures = run(rules, [{"v": value} for value in values], **more)
    return [event.get("v", ...) for event in found], failures
