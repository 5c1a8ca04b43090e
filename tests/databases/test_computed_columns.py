"""Columns that PostgreSQL computes from masked ones: no raw value in their expression."""

from __future__ import annotations

import pytest

from halfmask._errors import PolicyError
from halfmask.databases import DatabasePolicy, protect_database

TABLE = """
CREATE SCHEMA src;
CREATE TABLE src.people (
  id integer PRIMARY KEY, name text, mark text GENERATED ALWAYS AS ({expression}) STORED);
INSERT INTO src.people VALUES (1, 'CANARY Ann'), (2, 'Bob')
"""
POLICY = """
halfmask-database = 1
[tables.people.columns]
id = "keep"
name = { mask = { name = "token" } }
mark = "keep"
"""


def copy(postgres, folder, policy=POLICY):
    return protect_database(
        f"{postgres.url}&schema=src",
        DatabasePolicy.from_toml(policy),
        f"{postgres.url}&schema=masked",
        report=folder / "report",
        key=bytes(32),
    )


def test_a_literal_beside_a_masked_column_is_refused(postgres, tmp_path):
    """The expression would carry it into the schema of the copy."""
    postgres.run(TABLE.format(expression="CASE WHEN name = 'CANARY Ann' THEN 'x' ELSE 'y' END"))

    with pytest.raises(PolicyError, match=r"'mark' .* computed from the masked column") as refused:
        copy(postgres, tmp_path)

    assert "CANARY" not in str(refused.value)
    copy(postgres, tmp_path, POLICY.replace('mark = "keep"', 'mark = "drop"'))
    assert [len(row) for row in postgres.run("SELECT * FROM masked.people")] == [2, 2]


def test_an_expression_without_a_literal_is_computed_again(postgres, tmp_path):
    """From the token."""
    postgres.run(TABLE.format(expression="upper(name)"))

    copy(postgres, tmp_path)

    rows = postgres.run("SELECT name, mark FROM masked.people")
    assert [mark for _, mark in rows] == [name.upper() for name, _ in rows]


def test_a_digit_of_a_name_is_no_literal(postgres, tmp_path):
    postgres.run(TABLE.format(expression="upper(name)").replace("name", "name2"))

    copy(postgres, tmp_path, POLICY.replace("\nname = {", "\nname2 = {"))

    rows = postgres.run("SELECT name2, mark FROM masked.people")
    assert [mark for _, mark in rows] == [name.upper() for name, _ in rows]
