"""Tokens of integers: integers of the same type that join, however wide the columns are."""

from __future__ import annotations

import pytest
from tests.databases.copying import copied, rows

from halfmask.databases import DatabasePolicy, protect_database

MASK = '{ mask = { name = "token" } }'
DOMAIN = '{ mask = { name = "token", domain = "d" } }'
TYPES = (
    "SELECT format_type(atttypid, atttypmod) FROM pg_attribute JOIN pg_class c ON c.oid = attrelid"
    " WHERE relnamespace = 'masked'::regnamespace AND attnum > 0 AND relkind = 'r'"
    " ORDER BY relname, attnum"
)


def copy(postgres, folder, tables, made, rules):
    policy = "halfmask-database = 1\n"
    for table in tables:
        policy += f"[tables.{table}.columns]\n"
        policy += "".join(
            f"{column} = {rule}\n" for (name, column), rule in rules.items() if name == table
        )
    postgres.run(f"CREATE SCHEMA src;\n{made}")
    return protect_database(
        f"{postgres.url}&schema=src",
        DatabasePolicy.from_toml(policy),
        f"{postgres.url}&schema=masked",
        report=folder / "report",
        key=bytes(32),
    )


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    ("parent", "child", "written"),
    [
        ("smallint", "smallint", ["smallint", "smallint"]),
        ("integer", "integer", ["integer", "integer"]),
        ("bigint", "bigint", ["bigint", "bigint"]),
        ("smallint", "bigint", ["bigint", "smallint"]),
        ("bigint", "smallint", ["bigint", "bigint"]),
        ("bigint", "integer", ["bigint", "bigint"]),
    ],
)
def test_linked_columns_join_in_the_type_of_the_parent(postgres, tmp_path, parent, child, written):
    made = (
        f"CREATE TABLE src.p (id {parent} PRIMARY KEY, n int);\n"
        f"CREATE TABLE src.c (p {child} REFERENCES src.p, n int);\n"
        "INSERT INTO src.p SELECT g, g FROM generate_series(-20, 200) g;\n"
        "INSERT INTO src.c SELECT g, g FROM generate_series(-20, 200, 2) g"
    )
    rules = {("p", "id"): MASK, ("p", "n"): '"keep"', ("c", "p"): '"reference"'}

    found = copy(postgres, tmp_path, "pc", made, rules | {("c", "n"): '"keep"'})

    assert [it for (it,) in postgres.run(TYPES)] == [written[0], "integer", written[1], "integer"]
    joined = "SELECT count(*), sum((p.n = c.n)::int) FROM masked.c JOIN masked.p ON p = id"
    assert postgres.run(joined) == [(111, 111)]
    same = postgres.run("SELECT count(*) FROM masked.p WHERE id = n")
    assert same[0][0] < 20
    widened = f"type {child} (now {parent}) of the column 'p' of the table 'c'"
    assert found.left_out == ((widened,) if written[0] != child else ())


@pytest.mark.slow
def test_columns_of_one_domain_or_name_join(postgres, tmp_path):
    """Of one name the narrow ones are widened; a text in the domain makes texts of all."""
    made = (
        "CREATE TABLE src.a (id smallint, x integer, y text);\n"
        "CREATE TABLE src.b (id bigint, z smallint);\n"
        "INSERT INTO src.a SELECT g, g, g FROM generate_series(-5, 5) g;\n"
        "INSERT INTO src.b SELECT g, g FROM generate_series(-5, 5) g"
    )
    rules = {
        ("a", "id"): MASK, ("a", "x"): DOMAIN, ("a", "y"): DOMAIN,
        ("b", "id"): MASK, ("b", "z"): DOMAIN,
    }  # fmt: skip

    copy(postgres, tmp_path, "ab", made, rules)

    assert [it for (it,) in postgres.run(TYPES)] == ["bigint", "text", "text", "bigint", "text"]
    for joined in ("a.id = b.id", "x = z", "y = z"):
        query = f"SELECT count(*) FROM masked.a JOIN masked.b ON {joined}"
        assert postgres.run(query) == [(11,)]


def test_keys_of_sqlite_stay_integers(tmp_path):
    """Also where a table is empty, so that no cell tells the type."""
    script = (
        "create table p (id integer primary key autoincrement, n); create table o (p references p);"
        "create table c (p integer references p); insert into p values (1, 1), (2, 2), (-7, 7);"
        "insert into c values (2), (-7), (null);"
    )
    policy = (
        f'halfmask-database = 1\n[tables.p.columns]\nid = {MASK}\nn = "keep"\n'
        '[tables.c.columns]\np = "reference"\n[tables.o.columns]\np = "drop"\n'
    ).replace('[tables.o.columns]\np = "drop"', "[tables.o]\ndrop = true")

    _, path = copied(tmp_path, policy, script)

    assert rows(path, "select typeof(id), id = n from p") == [("integer", 0)] * 3
    assert rows(path, "select n from c join p on p = id order by n") == [(2,), (7,)]
    assert rows(path, "pragma foreign_key_check") == []
