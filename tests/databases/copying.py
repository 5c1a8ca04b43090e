"""What tests of databases share: small schemas, policies, and copies of files of SQLite."""

from __future__ import annotations

import contextlib
import sqlite3

from halfmask.databases import DatabasePolicy, protect_database

KEY = bytes(range(32))
CANARY = "canary-Zx81"

SHOP = f"""
create table people (
  id integer primary key, email text unique, name text, boss integer references people (id));
create table orders (
  id integer primary key, buyer integer not null references people (id), price real default 5,
  check (price > 0));
create table lines (
  buyer integer, item text, place integer,
  primary key (buyer, item), foreign key (buyer) references people);
create table towns (name text);
create index price_of on orders (price);
insert into people values (1, 'a@x', '{CANARY}', null), (2, 'b@x', null, 1), (3, null, 'Cem', 2),
  (4, 'd@x', 'Dora', null);
insert into orders values (10, 1, 2.5), (11, 1, 3), (12, 3, 1.5), (13, 4, 2);
insert into lines values (1, 'x', 1), (3, 'y', 2);
"""
POLICY = """
halfmask-database = 1
[tables.people.columns]
id = { mask = { name = "token" } }
email = { mask = { name = "token", digits = 16, domain = "email" } }
name = "drop"
boss = "reference"
[tables.orders.columns]
id = "keep"
buyer = "reference"
price = "keep"
[tables.lines.columns]
buyer = "reference"
item = "keep"
place = "keep"
[tables.towns.columns]
name = "keep"
"""


def make(path, script):
    with contextlib.closing(sqlite3.connect(path)) as base, base:
        base.executescript(script)


def rows(path, query):
    with contextlib.closing(sqlite3.connect(path)) as base:
        return base.execute(query).fetchall()


def copied(folder, policy=POLICY, script=SHOP, name="masked.db", **more):
    """Copy a database of SQLite; return what was counted and the new file."""
    path = folder / "shop.db"
    if not path.exists():
        make(path, script)
    found = protect_database(
        f"sqlite:///{path}",
        DatabasePolicy.from_toml(policy),
        f"sqlite:///{folder / name}",
        **({"key": KEY, "report": folder / f"{name}.report"} | more),
    )
    return found, folder / name
