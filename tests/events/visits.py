"""A stream of visits for tests: a policy with state of every kind, and lines by a seed."""

from __future__ import annotations

import json
import random

from halfmask.events import EventPolicy, Transform

POLICY = EventPolicy.from_toml("""
halfmask-events = 1
release = "visits"

[stream]
time = "time"
session = "session"
zone = "UTC"

[[rule]]
path = "time"
do = "coarsen-time"
every = "1 minute"
zone = "UTC"
jitter = "1 second"

[[rule]]
path = "who"
do = "sequence"
scope = "stream"

[[rule]]
path = "page"
do = "sequence"
scope = "session"
open = 5

[[rule]]
path = "items[].id"
do = "token"

[[rule]]
path = "items[].n"
name = "count"
do = "keep"
""")


def visits(count, *, seed=0):
    """Lines of visits, each with what no rule names."""
    rng = random.Random(seed)
    lines = []
    for number in range(count):
        minute, second = divmod(number, 60)
        lines.append(
            json.dumps(
                {
                    "time": f"2024-01-01T{minute // 60 % 24:02}:{minute % 60:02}:{second:02}",
                    "who": f"user-{rng.randrange(1 + count // 3)}",
                    "session": rng.randrange(20),
                    "page": f"/p/{rng.randrange(50)}",
                    "items": [
                        {"id": f"i{rng.randrange(99)}", "n": rng.randrange(5)}
                        for _ in range(rng.randrange(4))
                    ],
                    "secret": "canary-5e1f",
                }
            ).encode()
            + b"\n"
        )
    return lines


def straight(data, vault, *, policy=POLICY):
    """What a transform makes of all lines at once."""
    return Transform(policy, secret=vault.secret("events")).apply(data)
