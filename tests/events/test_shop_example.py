"""The policies that the project ships for invented orders do what their comments say."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from halfmask.events import EventPolicy, run_events, stage_of
from halfmask.events.stages._holding import Holding
from halfmask.events.streams import open_sink, open_source
from halfmask.vault import KeyFile, Vault
from halfmask.verifier import events

#: Its claims say more than `CheckedClaim`.
verify_events: Any = events.verify_events

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "events"


@pytest.fixture
def orders(tmp_path):
    """Some invented orders: their file, and what it says."""
    command = [sys.executable, EXAMPLE / "make_orders.py", "1500", "--out", tmp_path / "in.jsonl"]
    subprocess.run(command, check=True)
    lines = (tmp_path / "in.jsonl").read_text().splitlines()
    return tmp_path / "in.jsonl", [json.loads(line) for line in lines]


def released(name, path, tmp_path):
    vault = Vault.create(tmp_path / "vault", lock=KeyFile.create(tmp_path / "key"))
    policy = EventPolicy.load(EXAMPLE / name)
    run_events(policy, open_source(path), open_sink(tmp_path / "out.jsonl"), vault=vault)
    text = (tmp_path / "out.jsonl").read_text()
    return text, [json.loads(line) for line in text.splitlines()]


def test_orders_are_the_same_for_the_same_seed():
    command = [sys.executable, str(EXAMPLE / "make_orders.py"), "50", "--seed"]
    first, second, other = (
        subprocess.run([*command, seed], check=True, capture_output=True).stdout
        for seed in ("7", "7", "8")
    )

    assert first == second
    assert first != other


@pytest.mark.slow
def test_the_shop_shows_no_person_and_no_rare_visit(orders, tmp_path):
    """Nothing personal leaves, and each day's pairs of goods are in the visits of five people."""
    path, said = orders

    text, found = released("shop.toml", path, tmp_path)

    personal = {order["shipping"][name] for order in said for name in ("to", "email", "line1")}
    personal |= {order[name] for order in said for name in ("id", "session", "tenant")}
    assert [each for each in personal if each in text] == []
    visits: dict[tuple[str, str], set[int]] = defaultdict(set)
    shown: dict[tuple[str, int, int], set[str]] = defaultdict(set)
    for event in found:
        goods = {each["ref"] for each in event.get("group", ()) if "ref" in each}
        visits[event["day"], event["visit"]] |= goods
    for (day, visit), goods in visits.items():
        for one in goods:
            for other in goods:
                shown[day, one, other].add(visit)  # a visit is one person's
    assert shown
    assert min(map(len, shown.values())) >= 5


def test_daily_sales_are_those_of_a_plain_count(orders, tmp_path):
    path, said = orders

    _, found = released("daily.toml", path, tmp_path)

    people: dict[tuple[str, str], set[str]] = defaultdict(set)
    pieces: dict[tuple[str, str], int] = defaultdict(int)
    count: dict[tuple[str, str], int] = defaultdict(int)
    for order in said:
        key = order["time"][:10], order["shipping"]["country"]
        people[key].add(order["shipping"]["email"])
        pieces[key] += sum(each["quantity"] for each in order["products"])
        count[key] += 1
    expected = {
        key: {"orders": count[key], "pieces": pieces[key]}
        for key in people
        if len(people[key]) >= 5
    }
    sums = {
        (each["day"], each["country"]): {"orders": each["orders"], "pieces": each["pieces"]}
        for each in found
    }
    assert sums == expected
    assert len(expected) < len(people)


@pytest.mark.slow
def test_who_gets_the_shop_counts_its_visits(orders, tmp_path):
    """A hash of 64 bits tells visits apart, so guarantees can be recounted in them."""
    path, _ = orders
    policy = EventPolicy.load(EXAMPLE / "shop.toml")
    stage = stage_of(policy)
    assert isinstance(stage, Holding)
    vault = Vault.create(tmp_path / "vault", lock=KeyFile.create(tmp_path / "key"))
    out = tmp_path / "out.jsonl"
    run_events(policy, open_source(path), open_sink(out), vault=vault, stage=stage)

    verdict = verify_events(out.read_bytes().splitlines(), stage.claims())

    assert verdict.holds
    assert [check.counted for check in verdict.claims] == ["sessions", "sessions"]
    assert all(check.least is not None and check.least >= 5 for check in verdict.claims)
