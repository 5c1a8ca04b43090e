"""The way back from a copy: the policy, the vault and the copy's own references."""

from __future__ import annotations

import json

import polars as pl
import pytest
from tests.databases.copying import make

from halfmask.cli import main
from halfmask.vault import KeyFile, Vault

SHOP = """
create table people (code text primary key, phone text, name text);
create table orders (id integer primary key, buyer text references people (code));
insert into people values ('AB1234', '030 1234567', 'Ann'), ('CD5678', '030 7654321', 'Bo');
insert into orders values (1, 'CD5678'), (2, null), (3, 'AB1234');
"""
SEALED = '{ mask = { name = "reversible-token", scope = "vault" } }'
POLICY = f"""
halfmask-database = 1
[tables.people.columns]
code = {SEALED}
phone = {{ mask = {{ name = "format-preserving", scope = "vault", domain = "phone" }} }}
name = {{ mask = {{ name = "token" }} }}
[tables.orders.columns]
id = "keep"
buyer = "reference"
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "shop.db", SHOP)
    (tmp_path / "policy.toml").write_text(POLICY)
    Vault.create(tmp_path / "vault", lock=KeyFile.create(tmp_path / "lock.key"))
    lock = ["--vault", "vault", "--vault-key-file", "lock.key"]
    words = ["protect", "sqlite:///shop.db", "policy.toml", "sqlite:///masked.db", *lock]
    assert main(words) == 0
    return tmp_path


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        ("people", {"code": ["AB1234", "CD5678"], "phone": ["030 1234567", "030 7654321"]}),
        ("orders", {"buyer": ["AB1234", "CD5678", None]}),
    ],
)
def test_linked_and_other_columns_come_back(place, table, columns):
    url = f"sqlite:///masked.db?table={table}"
    words = ["reverse", "policy.toml", url, "back.parquet", "--vault", "vault", "--key-file"]
    assert main([*words, "lock.key"]) == 0

    stated = json.loads((place / "masked.report" / "manifest.json").read_text())["details"]["masks"]
    linked = {it["parameters"]["domain"] for it in stated if it["linked"]}
    assert linked == {"people.code"}
    back = pl.read_parquet("back.parquet")
    for name, values in columns.items():
        assert sorted(back[name].to_list(), key=str) == values
