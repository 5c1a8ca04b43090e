"""Real streams: pseudonyms alone are undone, in seconds."""

from __future__ import annotations

import gzip
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from halfmask.assess.attacks import EventsTarget, attack
from halfmask.assess.attacks.events import (
    IntervalFingerprint,
    JoinedReleases,
    KnownEvents,
    TrajectoryUniqueness,
)

pytestmark = pytest.mark.real_data


def split(rows, entity):
    """Return rows of four people in five, and of the others."""
    people = rows[entity].drop_nulls().unique().sort()
    out = people.sample(fraction=0.2, seed=1)
    strange = rows[entity].is_in(out.implode()).fill_null(value=False)
    return rows.filter(~strange), rows.filter(strange)


@pytest.fixture(scope="module")
def wikipedia(shared_data):
    """A day of edits, under pseudonyms."""
    path = shared_data / "wikiticker-2015-09-12-sampled.json.gz"
    rows = pl.read_ndjson(gzip.decompress(path.read_bytes()))
    assert rows.height == 39_244
    kept, strange = split(rows.select("time", "user", "page", "channel", "delta"), "user")
    return EventsTarget(
        released=kept, original=kept, entity="user", time="time", items=("page", "channel"),
        numbers=("delta",), control=strange,
    ).unprotected()  # fmt: skip


@pytest.fixture(scope="module")
def retail(shared_data):
    """A year of orders, each with its lines, under pseudonyms."""
    rows = pl.read_csv(shared_data / "online_retail.csv.gz", infer_schema_length=100_000)
    assert rows["InvoiceNo"].n_unique() == 25_900
    kept, strange = split(rows, "CustomerID")
    return EventsTarget(
        released=kept, original=kept, entity="CustomerID", event="InvoiceNo", time="InvoiceDate",
        items=("StockCode",), numbers=("Quantity", "UnitPrice"), control=strange,
    ).unprotected()  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wikipedia", "retail"])
def test_two_known_events_find_who_wrote_or_bought(name, request):
    target = request.getfixturevalue(name)
    outcomes = KnownEvents(known=(2,), n_attacks=300).run(target, random_state=0)
    assert [outcome.success.value > 0.95 for outcome in outcomes] == [True] * 4
    assert all(outcome.control.value < 0.03 for outcome in outcomes)


@pytest.mark.slow
def test_four_points_are_unique_even_by_the_day(retail):
    outcomes = TrajectoryUniqueness(points=(4,), n_traces=500).run(retail, random_state=0)
    assert outcomes[0].success.value > 0.98
    assert outcomes[0].details["at steps of 86400 s"] > 0.9


@pytest.mark.slow
def test_shifted_orders_are_linked_by_their_intervals(retail):
    rng = np.random.default_rng(0)
    number = retail.released["pseudonym"].fill_null(0).to_numpy()
    days = rng.integers(-30, 31, number.max() + 1)[number]
    when = pl.col("InvoiceDate").str.to_datetime() + pl.duration(days=pl.lit(pl.Series(days)))
    shifted = replace(retail, released=retail.released.with_columns(when), time_bounds=None)
    report = attack(shifted, unprotected=retail, attacks=[IntervalFingerprint(intervals=(2,))])
    assert report.findings[0].verdict == "broken"


def test_releases_under_two_keys_are_joined_by_pages_that_were_kept(wikipedia):
    n = wikipedia.original.height
    one, other = np.arange(0, n, 2), np.arange(1, n, 2)
    found = wikipedia.released[other].with_columns(pl.col("pseudonym") + 1_000_000)
    twice = replace(
        wikipedia, released=wikipedia.released[one], owners=one, later=(found, other),
        time_bounds=None,
    )  # fmt: skip
    outcome = JoinedReleases(n_attacks=300).run(twice, random_state=0)[0]
    assert outcome.details["pseudonyms"] < 0.01
    assert outcome.details["items of page"] > 0.2


@pytest.mark.slow
def test_what_nobody_alone_has_resists(wikipedia):
    """One edit of each person, hour and channel, where at least 20 people are: 1/k holds."""
    hour = pl.col("time").str.slice(0, 13) + ":00:00Z"
    rows = wikipedia.original.with_columns(hour, place=pl.int_range(pl.len()))
    rows = rows.unique(["time", "channel", "user"], keep="first", maintain_order=True)
    kept = rows.filter(pl.col("user").n_unique().over("time", "channel") >= 20)
    target = replace(
        wikipedia, released=kept.select("time", "channel"), owners=kept["place"].to_numpy(),
        pseudonym="", time_bounds=(-3600.0, 0.0),
    )  # fmt: skip
    report = attack(
        target, unprotected=wikipedia, attacks=[KnownEvents(known=(2,), fewest=300)],
        tolerance=0.1, min_control_effect=0.1,
    )  # fmt: skip
    assert {finding.verdict for finding in report.findings} == {"resisted"}
