"""The order of the source becomes, literally, what the source says, given its secret tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from halfmask.events import EventPolicy, SecretTable, Transform
from halfmask.vault import KeyFile, Secret, Vault

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "events"
SAID = {
    "date": "2014-09-04T23:02:00",
    "group": [{"ref": 1, "delta": 1}, {"ref": 2, "delta": 11}],
}


@pytest.fixture
def policy():
    """The policy that the project ships."""
    return EventPolicy.load(EXAMPLE / "policy.toml")


@pytest.fixture
def tables(policy):
    """Its secret tables."""
    return {name: SecretTable.load(EXAMPLE / "tables" / f"{name}.toml") for name in policy.tables()}


def test_the_order_becomes_what_the_source_says(policy, tables):
    """Neither a field more nor one less, in this order."""
    order = (EXAMPLE / "order.jsonl").read_bytes()

    found = Transform(policy, secret=Secret.fresh(), tables=tables).apply(order)

    assert json.dumps(SAID, separators=(",", ":")) + "\n" == found.decode()


def test_the_tables_come_from_a_vault(policy, tables, tmp_path):
    """Sealed by their names, they do the same."""
    vault = Vault.create(tmp_path / "vault", lock=KeyFile.create(tmp_path / "key"))
    for name, table in tables.items():
        table.seal(vault, name)
    again = {name: SecretTable.unseal(vault, name) for name in policy.tables()}
    order = (EXAMPLE / "order.jsonl").read_bytes()

    found = Transform(policy, secret=vault.secret("events"), tables=again).apply(order)

    assert json.loads(found) == SAID
    assert tables == again


def test_nothing_of_the_order_is_left(policy, tables):
    """No text of the order and no name of its fields is in what is written."""
    order = json.loads((EXAMPLE / "order.jsonl").read_text())
    texts = {*order, *order["shipping"], *order["products"][0], *order["shipping"].values()}
    texts |= {str(it) for product in order["products"] for it in (product["id"], product["name"])}
    texts |= {order[name] for name in ("tenant", "id", "time", "status")}
    line = json.dumps(order).encode()

    found = Transform(policy, secret=Secret.fresh(), tables=tables).apply(line).decode()

    assert [text for text in texts if text in found] == []


def test_another_order_stays_away_from_what_isnt_in_the_table(policy, tables):
    """A quantity and a tenant that nobody thought of are dropped and counted."""
    order = json.loads((EXAMPLE / "order.jsonl").read_text())
    order["tenant"] = "somebody-else"
    order["products"][1]["quantity"] = 77_777

    transform = Transform(policy, secret=Secret.fresh(), tables=tables)
    found = json.loads(transform.apply(json.dumps(order).encode()))

    assert found == {"group": [{"ref": 1, "delta": 1}, {"ref": 2}]}
    assert dict(transform.tally.failures) == {(1, "not-in-table"): 1, (4, "not-in-table"): 1}
