"""Tables of a real PostgreSQL: values, types, snapshots, and what is refused."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import polars as pl
import pytest

from halfmask._errors import DataError, SchemaError
from halfmask.data import open_table
from halfmask.data.io import postgres as _postgres

CANARY = "canary-Zx81"
UTC = dt.UTC

#: By column: its type, one value as SQL writes it, the value, and the type that it has here.
CELLS = {
    "a": ("int2", "-1", -1, pl.Int16),
    "b": ("int4", "2147483647", 2**31 - 1, pl.Int32),
    "c": ("int8", "-9223372036854775808", -(2**63), pl.Int64),
    "d": ("float4", "1.5", 1.5, pl.Float32),
    "e": ("float8", "0.1", 0.1, pl.Float64),
    "f": ("numeric(10,2)", "12345678.90", Decimal("12345678.90"), pl.Decimal(10, 2)),
    "g": ("numeric", "1.23456789012345678", Decimal("1.23456789012345678"), pl.Decimal(18, 17)),
    "h": ("text", "'grüß'", "grüß", pl.String),
    "i": ("varchar(5)", "''", "", pl.String),
    "j": ("char(5)", "'ab'", "ab", pl.String),
    "k": ("date", "'0001-01-01'", dt.date(1, 1, 1), pl.Date),
    "l": ("timestamp", "'2020-05-17 10:30:00.123456'", dt.datetime(2020, 5, 17, 10, 30, 0, 123456), pl.Datetime("us")),  # noqa: DTZ001, E501
    "m": ("timestamptz", "'2020-05-17 10:30+02'", dt.datetime(2020, 5, 17, 8, 30, tzinfo=UTC), pl.Datetime("us", "UTC")),  # noqa: E501
    "n": ("time", "'10:30'", dt.time(10, 30), pl.Time),
    "o": ("uuid", "'6f0a8f0e-0000-4000-8000-000000000001'", "6f0a8f0e-0000-4000-8000-000000000001", pl.String),  # noqa: E501
    "p": ("mood", "'ok'", "ok", pl.String),
    "q": ("inet", "'10.0.0.1/8'", "10.0.0.1/8", pl.String),
    "r": ("bool", "true", True, pl.Boolean),
    "s": ("positive", "7", 7, pl.Int32),
    'odd "name".x': ("int", "8", 8, pl.Int32),
}  # fmt: skip
TYPES = (
    "CREATE TYPE mood AS ENUM ('sad', 'ok', 'ah');\n"
    "CREATE DOMAIN positive AS int CHECK (VALUE > 0);\n"
)


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


@pytest.fixture
def cells(postgres):
    columns = ", ".join(f"{quoted(name)} {it[0]}" for name, it in CELLS.items())
    values = ", ".join(it[1] for it in CELLS.values())
    empty = ", ".join(["NULL"] * len(CELLS))
    postgres.run(
        f"{TYPES}CREATE TABLE cells ({columns});\nINSERT INTO cells VALUES ({values}), ({empty})"
    )
    return open_table(postgres.table("cells"))


def test_values_are_those_of_the_table(cells):
    found = cells.read()

    assert cells.format == "postgresql"
    assert found.row(0, named=True) == {name: it[2] for name, it in CELLS.items()}
    assert set(found.row(1)) == {None}
    assert cells.dtypes == {name: it[3] for name, it in CELLS.items()}
    assert cells.orders == {"p": ("sad", "ok", "ah")}


def test_odd_names_are_found(postgres):
    postgres.run(
        'CREATE SCHEMA "S.x";\nCREATE TABLE "S.x"."t""; drop" (a int);\n'
        'INSERT INTO "S.x"."t""; drop" VALUES (1)'
    )

    assert open_table(postgres.table('"S.x"."t""; drop"')).read()["a"].to_list() == [1]


def test_every_pass_sees_the_rows_of_one_moment(postgres):
    postgres.run("CREATE TABLE t AS SELECT g FROM generate_series(1, 1000) g")
    source = open_table(postgres.table("t"))

    postgres.run("DELETE FROM t WHERE g < 900")

    for _ in range(2):
        assert source.read()["g"].to_list() == list(range(1, 1001))


def test_a_view_is_read(postgres):
    postgres.run("CREATE TABLE t AS SELECT 1 a, '{1}'::int[] b;\nCREATE VIEW v AS SELECT a FROM t")

    assert open_table(postgres.table("v")).columns == ("a",)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("jsonb", f'{{"{CANARY}": 1}}'),
        ("json", f'{{"{CANARY}": 1}}'),
        ("text[]", f"{{{CANARY}}}"),
        ("bytea", CANARY),
        ("interval", "1 day"),
        ("int4range", "[1,2)"),
        ("money", "1"),
    ],
)
def test_types_that_are_no_cell_are_refused_by_name(postgres, kind, value):
    postgres.run(f"CREATE TABLE t (a int, b {kind});\nINSERT INTO t VALUES (1, '{value}')")

    with pytest.raises(SchemaError, match="Column 'b' is of PostgreSQL's type") as caught:
        open_table(postgres.table("t"))

    assert CANARY not in repr(caught.value)


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("date", "infinity"),
        ("date", "-infinity"),
        ("timestamp", "infinity"),
        ("timestamptz", "-infinity"),
        ("date", "0044-03-15 BC"),
        ("timestamp", "20000-01-01"),
        ("numeric", "NaN"),
        ("numeric(5,1)", "NaN"),
        ("numeric", "-Infinity"),
        ("numeric", "1" * 39),
    ],
)
def test_values_that_no_type_of_ours_holds_are_refused_by_name(postgres, kind, value):
    postgres.run(f"CREATE TABLE t (a int, b {kind});\nINSERT INTO t VALUES (1, '{value}')")

    with pytest.raises(SchemaError, match="Column 'b' has"):
        open_table(postgres.table("t"))


def test_rows_that_a_policy_hides_are_an_error(postgres):
    """A user who sees only some rows must not release these as the table."""
    postgres.run(
        "CREATE TABLE t (a int);\nINSERT INTO t VALUES (1), (2);\n"
        "DROP ROLE IF EXISTS reader;\nCREATE ROLE reader LOGIN;\nGRANT SELECT ON t TO reader;\n"
        "GRANT USAGE ON SCHEMA public TO reader;\n"
        "ALTER TABLE t ENABLE ROW LEVEL SECURITY;\n"
        "CREATE POLICY one ON t USING (a = 1)"
    )
    url = postgres.url.replace("postgres:@", "reader:@")

    with pytest.raises(DataError, match="The user may not do this"):
        open_table(f"{url}&table=t")
    postgres.run("DROP OWNED BY reader;\nDROP ROLE reader")


@pytest.mark.parametrize(
    ("table", "says"),
    [("&table=absent", "isn't in the database"), ("", "no table of it is named")],
)
def test_a_table_that_is_not_there_is_an_error(postgres, table, says):
    with pytest.raises(DataError, match=says):
        open_table(postgres.url + table)


def test_an_empty_table_has_no_rows(postgres):
    postgres.run("CREATE TABLE t (a int)")

    with pytest.raises(DataError, match="has no rows"):
        open_table(postgres.table("t"))


def test_a_server_that_goes_away_in_the_middle_is_an_error(postgres, monkeypatch):
    postgres.run(f"CREATE TABLE t AS SELECT '{CANARY}' || g a FROM generate_series(1, 100000) g")
    kept = _postgres.PostgresConnection.frames

    def frames(self, query):
        postgres.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        yield from kept(self, query)

    monkeypatch.setattr(_postgres.PostgresConnection, "frames", frames)

    with pytest.raises(DataError, match=r"ended the connection|went away") as caught:
        open_table(postgres.table("t"))

    assert CANARY not in f"{caught.value!r}"
