"""Cells are exactly those of a plain loop, whatever the blocks, the clock, and what is late."""

from __future__ import annotations

import itertools
import json
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from events.cell_oracle import expected_lines
from halfmask.events import EventPolicy, Transform
from halfmask.events._aggregation import Aggregation
from halfmask.vault import Secret

SECRET = Secret.from_bytes(bytes(32))
POLICY = """
halfmask-events = 1
release = "sales"

[stream]
time = "time"
entity = "customer"

[[rule]]
path = "country"
do = "keep"

[window]
every = "1 day"
zone = "{zone}"
lateness = "{lateness} minutes"
late = "{late}"

[[aggregate]]
window = "day"
by = {{ country = "country" }}
count = "orders"
least-events = {events}
least-entities = {entities}
totals = {totals}
"""
MEASURES = """
[[aggregate.measure]]
name = "customers"
do = "distinct"
path = "customer"
of = "original"
[[aggregate.measure]]
name = "units"
do = "sum"
path = "products[].quantity"
of = "original"
"""
MONEY = "".join(
    f'[[aggregate.measure]]\nname = "{name}"\ndo = "{do}"\npath = "products[].price"\n'
    f'of = "original"\n{more}'
    for name, do, more in (
        ("paid", "sum", ""),
        ("cheapest", "min", ""),
        ("dearest", "max", ""),
        ("mean", "mean", "decimals = 2\n"),
    )
)


def policy_of(**options):
    """Return a policy of daily sales."""
    said = {"zone": "Europe/London", "lateness": 0, "late": "drop", "events": 1, "entities": 1}
    text = POLICY + MEASURES + MONEY
    return EventPolicy.from_toml(text.format(**{**said, "totals": "false"} | options))


def written(policy, lines, *, cuts=(), resumed=False):
    """Return what a stage writes of lines in blocks that end at some lines."""
    transform = Transform(policy, secret=SECRET)
    stage = Aggregation(policy)
    out = []
    for start, stop in itertools.pairwise([0, *sorted(cuts), len(lines)]):
        block = transform.scan(b"".join(lines[start:stop]))
        out.append(stage.take(transform.change(block), block))
        if resumed:
            state = stage.state()
            stage = Aggregation(policy)
            stage.restore(state)
            assert state == stage.state()
    return b"".join([*out, stage.finish()]), stage


def line_of(moment, event):
    """Return an event as JSON, its prices as they were written."""
    products = ",".join(
        "{" + ",".join(f'"{name}":{value}' for name, value in product.items()) + "}"
        for product in event["products"]
    )
    rest = {name: value for name, value in event.items() if name != "products"}
    head = json.dumps({"time": moment.isoformat(), **rest}, ensure_ascii=False)[:-1]
    return f'{head},"products":[{products}]}}\n'.encode()


PRODUCTS = st.fixed_dictionaries(
    {},
    optional={
        "quantity": st.integers(-5, 50),
        "price": st.sampled_from(
            ["0.1", "2.55", "7.99", "-1.5", "1", "99999999999999.9999", "0.2"]
        ),
    },
)
EVENTS = st.tuples(
    st.integers(-1_500, 6_000),
    st.fixed_dictionaries(
        {"products": st.lists(PRODUCTS, max_size=3)},
        optional={
            "country": st.sampled_from(["France", "Spain", "Éire", "UK"]),
            "customer": st.sampled_from(["a", "b", "c", "d", "e", None]),
        },
    ),
)
#: Clocks go back at 01:00 UTC of this day.
START = datetime(2011, 10, 29, 12, tzinfo=UTC)


@settings(max_examples=60, deadline=None)
@given(
    data=st.data(), events=st.lists(EVENTS, max_size=40), late=st.sampled_from(["drop", "update"])
)
def test_cells_are_those_of_a_plain_loop(data, events, late):
    """Days of 24 and 25 hours; times go back; sums of money are exact; few are held back."""
    late = data.draw(st.sampled_from(["drop", "update"]))
    lateness = data.draw(st.sampled_from([0, 30, 700]))
    least = data.draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    totals = data.draw(st.booleans())
    zone = data.draw(st.sampled_from(["Europe/London", "UTC", "America/Havana"]))
    timed = [(START + timedelta(minutes=minutes), event) for minutes, event in events]
    cuts = data.draw(st.lists(st.integers(0, len(timed)), max_size=4))
    policy = policy_of(
        zone=zone, lateness=lateness, late=late, events=least[0], entities=least[1],
        totals=str(totals).lower(),
    )  # fmt: skip

    lines = [line_of(*it) for it in timed]
    found, stage = written(policy, lines, cuts=cuts, resumed=data.draw(st.booleans()))

    expected = expected_lines(
        timed, zone=zone, lateness=timedelta(minutes=lateness), late=late,
        least_events=least[0], least_entities=least[1], totals=totals,
    )  # fmt: skip
    assert expected == found.decode().splitlines()
    assert stage.summary().get("late", 0) == 0 or late == "drop"
