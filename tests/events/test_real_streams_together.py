"""Real streams: orders become daily sales per country; edits leave if enough people made such."""

from __future__ import annotations

import csv
import gzip
import itertools
import json
from collections import defaultdict
from decimal import Decimal
from typing import Any

import pytest

from halfmask.events import EventPolicy, Transform, stage_of
from halfmask.vault import Secret
from halfmask.verifier import events

#: Its claims say more than `CheckedClaim`.
verify_events: Any = events.verify_events

pytestmark = pytest.mark.real_data

SECRET = Secret.from_bytes(bytes(32))
SALES = """
halfmask-events = 1
release = "daily-sales"
[stream]
time = "time"
entity = "customer"
zone = "Europe/London"
[[rule]]
path = "country"
do = "keep"
[window]
every = "1 day"
zone = "Europe/London"
[[aggregate]]
window = "day"
by = { country = "country" }
count = "orders"
min-entities = 5
[[aggregate.measure]]
name = "customers"
do = "distinct"
path = "customer"
of = "original"
[[aggregate.measure]]
name = "units"
do = "sum"
path = "lines[].quantity"
of = "original"
[[aggregate.measure]]
name = "dearest"
do = "max"
path = "lines[].price"
of = "original"
"""
EDITS = """
halfmask-events = 1
release = "edits"
[stream]
time = "time"
entity = "user"
session = "user"
[[rule]]
path = "user"
do = "token"
[[rule]]
path = "channel"
do = "keep"
[[rule]]
path = "namespace"
do = "keep"
[[rule]]
path = "isRobot"
do = "keep"
[window]
every = "6 hours"
zone = "UTC"
lateness = "5 minutes"
median = 101
[[guarantee]]
kind = "k-m"
paths = ["namespace"]
k = 5
m = 2
fails = "event"
[[guarantee]]
kind = "session-k"
paths = ["channel", "isRobot"]
k = 5
fails = "field"
"""


def run(policy, lines, *, size):
    """Return lines that leave, in blocks of so many, and the stage."""
    transform, stage = Transform(policy, secret=SECRET), stage_of(policy)
    out = []
    rest = iter(lines)
    while some := list(itertools.islice(rest, size)):
        block = transform.scan(b"".join(some))
        out.append(stage.take(transform.change(block), block))
    return b"".join([*out, stage.finish()]).splitlines(), stage


def orders(path):
    """Return the invoices of the shop as events, in the order of the file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for number, lines in itertools.groupby(csv.DictReader(file), lambda it: it["InvoiceNo"]):
            rows = list(lines)
            yield {
                "invoice": number,
                "time": rows[0]["InvoiceDate"],
                "customer": rows[0]["CustomerID"] or None,
                "country": rows[0]["Country"],
                "lines": [{"quantity": row["Quantity"], "price": row["UnitPrice"]} for row in rows],
            }


def as_json(order):
    """Return an order as a line, its numbers as they were written."""
    lines = ",".join(
        f'{{"quantity":{it["quantity"]},"price":{it["price"]}}}' for it in order["lines"]
    )
    head = json.dumps({name: value for name, value in order.items() if name != "lines"})
    return f'{head[:-1]},"lines":[{lines}]}}\n'.encode()


@pytest.mark.slow
def test_orders_become_daily_sales_per_country(shared_data):
    """Every cell is that of a plain loop, and no cell of fewer than five customers is written."""
    found = list(orders(shared_data / "online_retail.csv.gz"))
    lines, stage = run(EventPolicy.from_toml(SALES), map(as_json, found), size=5_000)

    # The file is in the order of days, but times go back within them: none is late by a day.
    cells = defaultdict(list)
    for order in found:
        cells[order["time"][:10], order["country"]].append(order)
    expected = {}
    for key, group in cells.items():
        customers = {order["customer"] for order in group} - {None}
        if len(customers) >= 5:
            sold = [line for order in group for line in order["lines"]]
            expected[key] = (
                len(group),
                len(customers),
                sum(int(line["quantity"]) for line in sold),
                max(Decimal(line["price"]) for line in sold),
            )
    read = [json.loads(line, parse_float=Decimal) for line in lines]
    got = {
        (it["day"], it["country"]): (it["orders"], it["customers"], it["units"], it["dearest"])
        for it in read
    }
    assert len(found) >= 25_900
    assert stage.summary().get("late", 0) == 0
    assert expected == got
    assert len(expected) > 300
    assert verify_events(lines, stage.claims()).holds


@pytest.mark.slow
def test_edits_leave_where_enough_people_made_such(shared_data):
    """Sessions are recounted in entities; blocks don't matter; most of it is left."""
    with gzip.open(shared_data / "wikiticker-2015-09-12-sampled.json.gz") as file:
        edits = file.readlines()
    policy = EventPolicy.from_toml(EDITS)

    lines, stage = run(policy, edits, size=10_000)
    again, _ = run(policy, edits, size=3_333)

    verdict = verify_events(lines, stage.claims())
    assert lines == again
    assert verdict.holds
    assert [check.counted for check in verdict.claims] == ["entities", "entities"]
    assert [check.least for check in verdict.claims] == [5, 5]
    assert len(edits) == 39_244
    assert 30_000 < len(lines) < 39_244
