"""Proposed policies: every column is named, keys join, and nothing else is copied."""

from __future__ import annotations

import tomllib

import pytest
from tests.databases.copying import CANARY, SHOP, copied, make, rows

from halfmask._errors import ParameterError
from halfmask.databases import propose_database_policy

TOKEN = {"mask": {"name": "token"}}


def test_keys_become_tokens_and_all_else_is_dropped(tmp_path):
    make(tmp_path / "shop.db", SHOP)

    text = propose_database_policy(f"sqlite:///{tmp_path}/shop.db")

    assert CANARY not in text
    assert tomllib.loads(text)["tables"] == {
        "people": {
            "columns": {"id": TOKEN, "email": TOKEN, "name": "drop", "boss": "reference"},
        },
        "orders": {"columns": {"id": TOKEN, "buyer": "reference", "price": "drop"}},
        "lines": {"columns": {"buyer": "reference", "item": TOKEN, "place": "drop"}},
        "towns": {"drop": True},
    }


def test_it_can_be_run_unchanged(tmp_path):
    script = SHOP + (
        'create table "odd ""na.me" (a integer primary key references "odd ""na.me" (a), b as (1));'
        'create table "a b" ("c=d" integer primary key, e blob unique);'
    )
    make(tmp_path / "shop.db", script)

    found, path = copied(tmp_path, propose_database_policy(f"sqlite:///{tmp_path}/shop.db"))

    assert found.n_references == 3
    assert rows(path, "select count(*) from orders join people on people.id = buyer") == [(4,)]
    assert CANARY.encode() not in path.read_bytes()


def test_a_schema_of_postgresql_is_proposed(postgres):
    postgres.run(
        "CREATE SCHEMA src;\nCREATE TABLE src.a (id uuid PRIMARY KEY, j jsonb, up int UNIQUE);\n"
        "CREATE TABLE src.b (a uuid REFERENCES src.a, n int, PRIMARY KEY (a, n));\n"
        "CREATE TABLE src.p (a int) PARTITION BY RANGE (a)"
    )

    text = propose_database_policy(f"{postgres.url}&schema=src")

    assert tomllib.loads(text)["tables"] == {
        "a": {"columns": {"id": TOKEN, "j": "drop", "up": TOKEN}},
        "b": {"columns": {"a": "reference", "n": TOKEN}},
        "p": {"drop": True},
    }


@pytest.mark.parametrize(
    ("url", "hint"),
    [
        ("sqlite:///shop.db?table=t", "Leave 'table' out"),
        ("duckdb:///shop.db?table=t", "Name one of its tables"),
        ("duckdb:///shop.db", "Name one of its tables"),
    ],
)
def test_one_table_is_not_a_database(url, hint):
    with pytest.raises(ParameterError, match=f"(?s)is for all tables.*{hint}"):
        propose_database_policy(url)
