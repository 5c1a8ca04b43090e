"""Two real streams, what a policy makes of them, and what an attack needs of both."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from halfmask.assess.attacks import EventsTarget
from halfmask.events import EventPolicy, Transform
from halfmask.vault import Secret

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
#: This share of the people is kept out of each release: the control.
HELD_OUT = 0.2
_AT_ONCE = 2000
Rule = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """Events as they come, people who are released, and people outside.

    Attributes
    ----------
    events, controls
        JSON objects.
    roles
        Of an `EventsTarget`.
    """

    name: str
    events: Sequence[Mapping[str, Any]]
    controls: Sequence[Mapping[str, Any]]
    roles: Mapping[str, Any]

    def released(self, rules: Sequence[Rule], *, word: str = "r", **more: Any) -> EventsTarget:  # noqa: ANN401 # roles
        """Return what a policy makes of the events, as a target."""
        return EventsTarget.of_events(
            transformed(rules, self.events, word=word),
            self.events,
            control=self.controls,
            **{**self.roles, **more},
        )


def transformed(
    rules: Sequence[Rule], events: Sequence[Mapping[str, Any]], *, word: str
) -> list[dict[str, Any]]:
    """Run a policy over events, under a secret that is the same for all releases of a run."""
    policy = EventPolicy(**{"halfmask-events": 1, "release": word, "stream": {}, "rule": rules})
    transform = Transform(policy, secret=Secret.from_bytes(bytes(range(32))))
    found: list[dict[str, Any]] = []
    for start in range(0, len(events), _AT_ONCE):
        lines = [json.dumps(event) for event in events[start : start + _AT_ONCE]]
        told = transform.apply("\n".join(lines).encode() + b"\n").splitlines()
        if len(told) != len(lines):
            raise ValueError("A policy of this benchmark must leave a line of each event.")
        found += [json.loads(line) for line in told]
    return found


def held_back(target: EventsTarget, columns: Sequence[str], k: int) -> EventsTarget:
    """Drop released rows that are like those of fewer than k people in the columns named.

    Each person keeps one row of those that are alike: k people of whom one has nearly all rows
    aren't k to choose from. Rows of nobody stay where k people are.
    """
    owners, cell = target.owner_of_row, list(columns)
    rows = target.released.with_columns(
        _who=target.original[target.entity][owners], _owner=pl.Series(owners)
    )
    first = pl.struct(*cell, "_who").is_first_distinct() | pl.col("_who").is_null()
    kept = rows.filter(first).filter(pl.col("_who").drop_nulls().n_unique().over(cell) >= k)
    return replace(target, released=kept.drop("_who", "_owner"), owners=kept["_owner"].to_numpy())


def wikipedia(seed: int) -> Stream | None:
    """Return 39,244 edits of one day."""
    path = DATA / "wikiticker-2015-09-12-sampled.json.gz"
    if not path.is_file():
        return None
    names = ("time", "user", "page", "channel", "namespace", "delta")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        events = [{name: event[name] for name in names} for event in map(json.loads, lines)]
    roles = {
        "entity": "user", "time": "time", "items": ("page", "channel", "namespace"),
        "numbers": ("delta",),
    }  # fmt: skip
    return _split("Wikipedia", events, lambda event: event["user"], roles, seed)


def retail(seed: int) -> Stream | None:
    """Return 25,900 orders of a year."""
    path = DATA / "online_retail.csv.gz"
    if not path.is_file():
        return None
    orders: dict[str, dict[str, Any]] = {}
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            order = orders.setdefault(
                row["InvoiceNo"],
                {
                    "time": row["InvoiceDate"].replace(" ", "T"),
                    "customer": {"id": row["CustomerID"] or None},
                    "products": [],
                },
            )
            order["products"].append(
                {
                    "id": row["StockCode"],
                    "quantity": int(row["Quantity"]),
                    "price": float(row["UnitPrice"]),
                }
            )
    roles = {
        "entity": "customer.id", "time": "time", "items": ("products[].id",),
        "numbers": ("products[].quantity", "products[].price"),
    }  # fmt: skip
    return _split("Retail", list(orders.values()), lambda it: it["customer"]["id"], roles, seed)


def _split(
    name: str,
    events: list[dict[str, Any]],
    whose: Any,  # noqa: ANN401 # a function of an event
    roles: dict[str, Any],
    seed: int,
) -> Stream:
    people = sorted({whose(event) for event in events} - {None})
    out = np.random.default_rng(seed).permutation(len(people))[: int(HELD_OUT * len(people))]
    controls = {people[place] for place in out}
    return Stream(
        name=name,
        events=[event for event in events if whose(event) not in controls],
        controls=[event for event in events if whose(event) in controls],
        roles=roles,
    )
