"""Cells are exactly those of a plain loop, whatever the blocks, the clock, and what is late."""

from __future__ import annotations

import itertools
import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.cell_oracle import expected_lines  # type: ignore[import-not-found] # beside it
from halfmask._errors import DataError, PolicyError
from halfmask.events import EventPolicy, Transform
from halfmask.events.stages._aggregation import Aggregation
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
median = {median}

[[aggregate]]
window = "day"
by = {{ country = "country" }}
count = "orders"
min-events = {events}
min-entities = {entities}
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
    said["median"] = 1
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
    # Many of them at midnight, to the minute.
    st.integers(-1_500, 6_000) | st.integers(-2, 8).map(lambda half: 720 * half),
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


@pytest.mark.slow
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
    median = data.draw(st.sampled_from([1, 3, 7]))
    zone = data.draw(st.sampled_from(["Europe/London", "UTC", "America/Havana"]))
    timed = [(START + timedelta(minutes=minutes), event) for minutes, event in events]
    cuts = data.draw(st.lists(st.integers(0, len(timed)), max_size=4))
    policy = policy_of(
        zone=zone, lateness=lateness, late=late, median=median,
        events=least[0], entities=least[1], totals=str(totals).lower(),
    )  # fmt: skip

    lines = [line_of(*it) for it in timed]
    found, stage = written(policy, lines, cuts=cuts, resumed=data.draw(st.booleans()))

    expected = expected_lines(
        timed, zone=zone, lateness=timedelta(minutes=lateness), late=late, median=median,
        least_events=least[0], least_entities=least[1], totals=totals,
    )  # fmt: skip
    assert expected == found.decode().splitlines()
    assert stage.summary().get("late", 0) == 0 or late == "drop"


def cells_of(text, *events):
    """Return the cells of events at one time, as objects, and the stage."""
    policy = EventPolicy.from_toml(text)
    lines = [
        json.dumps({"time": "2024-05-01T00:00:00Z", **event}).encode() + b"\n" for event in events
    ]
    found, stage = written(policy, lines)
    return [json.loads(line) for line in found.splitlines()], stage


PRODUCTS_POLICY = """
halfmask-events = 1
release = "sales"
[stream]
time = "time"
entity = "customer"
[[rule]]
path = "lines[].product"
do = "keep"
[[rule]]
path = "lines[].price"
do = "round"
step = 5
[window]
every = "1 month"
zone = "UTC"
[[aggregate]]
window = "month"
by = {{ product = "lines[].product" }}
count = "orders"
min-entities = 2
[[aggregate.measure]]
name = "pieces"
do = "count"
path = "lines[].price"
of = "original"
[[aggregate.measure]]
name = "kinds"
do = "distinct"
path = "lines[].price"
of = "released"
[[aggregate.measure]]
name = "paid"
do = "sum"
path = "lines[].price"
of = "{of}"
{unit}
"""


def test_elements_have_cells_of_their_own():
    """An order of two phones is one order, two pieces; a product of one customer isn't written."""
    sold = [
        {"customer": "a", "lines": [{"product": "phone", "price": 11}] * 2},
        {"customer": "b", "lines": [{"product": "phone", "price": 14.5}, {"product": "pen"}]},
        {"customer": "b", "lines": [{"product": "pen", "price": 1}]},
        {"customer": "c", "lines": []},
    ]
    text = PRODUCTS_POLICY.format(of="original", unit="")

    found, stage = cells_of(text, *sold)

    assert found == [
        {
            "month": "2024-05-01", "product": "phone",
            "orders": 2, "pieces": 3, "kinds": 2, "paid": 36.5,
        }
    ]  # fmt: skip
    assert (stage.summary()["cells-written"], stage.summary()["cells-held"]) == (1, 1)


def test_released_numbers_are_those_after_the_rules():
    """11 and 14.5 were rounded to fives."""
    sold = [{"customer": who, "lines": [{"product": "p", "price": price}]} for who, price in
            [("a", 11), ("b", 14.5), ("c", "no number"), ("d", None)]]  # fmt: skip

    found, stage = cells_of(PRODUCTS_POLICY.format(of="released", unit=""), *sold)

    assert found[0]["paid"] == 25
    assert stage.summary()["unread-numbers"] == 0


def test_prices_with_a_unit_are_numbers_and_others_are_counted():
    """What isn't a number isn't in the sum, and that is said."""
    sold = [{"customer": who, "lines": [{"product": "p", "price": price}]} for who, price in
            [("a", "7.99 EUR"), ("b", "0.01 EUR"), ("c", "1 USD"), ("d", 2)]]  # fmt: skip

    found, stage = cells_of(PRODUCTS_POLICY.format(of="original", unit='unit = " EUR"'), *sold)

    assert found[0]["paid"] == 10
    assert stage.summary()["unread-numbers"] == 1


def test_events_without_a_time_are_in_no_window():
    """They are counted, and the clock stays where it was."""
    policy = policy_of()
    lines = [
        b'{"country":"UK","customer":"a","products":[]}\n',
        b'{"time":"soon","country":"UK","customer":"a","products":[]}\n',
        b'{"time":"2024-05-01T00:00:00Z","country":"UK","customer":"a","products":[]}\n',
    ]

    found, stage = written(policy, lines, cuts=[1, 2], resumed=True)

    assert json.loads(found)["orders"] == 1
    assert stage.summary()["no-time"] == 2


def test_a_few_times_far_ahead_do_not_close_windows():
    """With the median of five; with each event's own time all that follows is late."""
    hours = [0, 1, 5_000, 2, 3, 4_000, 4, 5, 6, 7]
    event = {"country": "UK", "customer": "a", "products": []}
    lines = [line_of(START + timedelta(hours=each), event) for each in hours]

    found, steady = written(policy_of(median=5), lines, cuts=[3, 4], resumed=True)
    _, hasty = written(policy_of(), lines)

    assert [json.loads(line)["orders"] for line in found.splitlines()] == [8, 1, 1]
    assert (steady.summary().get("late", 0), hasty.summary()["late"]) == (0, 7)


@pytest.mark.parametrize(("minutes", "late"), [(0, 1), (-1, 0)])
def test_a_window_is_over_when_the_time_is_just_its_end(minutes, late):
    """At midnight the day before is closed; a minute before midnight it isn't."""
    event = {"country": "UK", "customer": "a", "products": []}
    midnight = datetime(2011, 11, 5, tzinfo=UTC)
    times = [-60, minutes, -30]
    lines = [line_of(midnight + timedelta(minutes=each), event) for each in times]

    _, stage = written(policy_of(zone="UTC"), lines, cuts=[1, 2])

    assert late == stage.summary().get("late", 0)


def test_a_state_of_another_stage_is_refused():
    """Damaged, of another format, or of other sections."""
    policy = policy_of()
    line = line_of(START, {"country": "UK", "customer": "a", "products": []})
    transform, stage = Transform(policy, secret=SECRET), Aggregation(policy)
    block = transform.scan(line)
    stage.take(transform.change(block), block)
    state = stage.state()

    other = Aggregation(EventPolicy.from_toml(PRODUCTS_POLICY.format(of="released", unit="")))
    for bad in (b"", b"{}", state[:-1], state.replace(b"events cells", b"other")):
        with pytest.raises(DataError, match="damaged"):
            stage.restore(bad)
    with pytest.raises(DataError, match="damaged"):
        other.restore(state)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("min-events = 1\nmin-entities = 1\n", "", "min-events or min-entities"),
        ("min-events = 1", "min-events = 0", "must be at least 1. Got 0"),
        ('count = "orders"', 'count = "country"', "two fields have one name"),
        ('count = "orders"', 'count = "total"', "two fields have one name"),
        ('country = "country"', 'country = "town"', "no rule says what becomes of 'town'"),
        ('do = "mean"', 'do = "max"', "'decimals' goes with"),
        ("median = 1", "median = 2", "'median' must be an odd number"),
        ('do = "distinct"', 'do = "distinct"\nunit = "EUR"', "'unit' goes with"),
        ('entity = "customer"', "", "the path of the entity"),
        ('[[aggregate]]\nwindow = "day"', '[[aggregate]]\nwindow = "day"\nk = 2', "no key 'k'"),
    ],
)
def test_aggregates_that_can_not_be_are_refused(old, new, said):
    """With what is wrong, and where."""
    options = {"zone": "UTC", "lateness": 0, "late": "drop", "events": 1, "entities": 1}
    text = (POLICY + MEASURES + MONEY).format(**options, median=1, totals="false")
    assert old in text

    with pytest.raises(PolicyError) as told:
        EventPolicy.from_toml(text.replace(old, new, 1))

    assert said in str(told.value)


def test_cells_that_are_sums_of_each_other_are_refused():
    """By day and country, and by day alone: the difference is a cell that may be held back."""
    text = policy_of().to_toml() + '\n[[aggregate]]\nname = "all"\nmin-events = 5\n'

    with pytest.raises(PolicyError, match="need a 'name'"):
        EventPolicy.from_toml(text)
    with pytest.raises(PolicyError, match="sums of each other"):
        EventPolicy.from_toml(text.replace('window = "day"', 'window = "day"\nname = "each"'))


def test_a_policy_with_windows_says_itself_again():
    """As TOML, and with the same hash."""
    policy = policy_of(totals="true", late="update")

    again = EventPolicy.from_toml(policy.to_toml())

    assert policy == again
    assert policy.sha256 == again.sha256 != policy_of().sha256


def test_keys_of_0_1_are_read():
    """`least-events` and `least-entities` are `min-events` and `min-entities`; the hash stays."""
    old = OF_0_1.replace("min-", "least-")

    assert EventPolicy.from_toml(old) == EventPolicy.from_toml(OF_0_1)
    assert "min-entities = 2" in EventPolicy.from_toml(old).to_toml()
    # As 0.1 computed it: streams and manifests know a policy by it.
    assert EventPolicy.from_toml(OF_0_1).sha256 == (
        "bc3c0fe69e06f54e7bd6113747e298ef6c4e5987186e1b1e26a208544bce2096"
    )


def test_a_key_is_given_once():
    """By its old name or by its new one, not by both."""
    with pytest.raises(PolicyError, match="no key 'least-events'"):
        EventPolicy.from_toml(OF_0_1 + "least-events = 3\n")


OF_0_1 = """halfmask-events = 1
release = "daily"
[stream]
time = "time"
entity = "who"
[[rule]]
path = "time"
do = "keep"
[window]
every = "1 day"
zone = "UTC"
[[aggregate]]
count = "n"
min-events = 3
min-entities = 2
"""
