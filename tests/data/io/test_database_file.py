"""Tables of SQLite and DuckDB: values, types by cell, and tables that are none of ours."""

from __future__ import annotations

import contextlib
import sqlite3

import polars as pl
import pytest

from halfmask._errors import DataError, SchemaError
from halfmask.data import ReadOptions, open_table
from halfmask.data.io import database_file as _database_file

CANARY = "canary-Zx81"


def make(path, script):
    with contextlib.closing(sqlite3.connect(path)) as base, base:
        base.executescript(script)
    return path


PEOPLE = """
create table people (id integer primary key, name text, share real, "odd ""name" numeric, none);
insert into people values (3, 'Ann', 1, 1, null), (1, '', 2.5, 2.5, null);
insert into people (id) values (2);
"""


def test_values_are_those_of_the_table(tmp_path):
    path = make(tmp_path / "a.db", PEOPLE)

    for where in (path, f"sqlite:///{path}", f"sqlite:///{path}?table=people"):
        source = open_table(where)
        assert source.format == "sqlite"
        assert source.read().equals(
            pl.DataFrame(
                {
                    "id": [1, 2, 3],
                    "name": ["", None, "Ann"],
                    "share": [2.5, None, 1.0],
                    'odd "name': [2.5, None, 1.0],
                    "none": pl.Series([None] * 3, dtype=pl.String),
                }
            )
        )


def test_a_table_is_named_where_there_are_several(tmp_path):
    path = make(tmp_path / "a.db", PEOPLE + "create view adults as select id from people;")

    with pytest.raises(DataError, match="a database of 2 tables"):
        open_table(path)
    with pytest.raises(DataError, match="isn't in the database"):
        open_table(path, options=ReadOptions(table="People"))
    assert open_table(path, options=ReadOptions(table="adults")).columns == ("id",)
    assert open_table(f"sqlite:///{path}?table=adults").columns == ("id",)


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        (f"(1), ('{CANARY}')", "of SQLite's type integer and text"),
        (f"(x'00'), ('{CANARY}')", "of SQLite's type blob and text"),
        ("(9007199254740993), (0.5)", "of SQLite's type integer and real"),
        ("(-9223372036854775808), (0.5)", "of SQLite's type integer and real"),
    ],
)
def test_a_column_of_two_types_is_refused_by_name(tmp_path, cells, says):
    path = make(tmp_path / "a.db", f"create table a (b); insert into a values {cells}")

    with pytest.raises(SchemaError, match=f"Column 'b' holds values {says}") as caught:
        open_table(path)

    assert CANARY not in f"{caught.value!r}{caught.value.__context__!r}"


def test_integers_stay_exact(tmp_path):
    path = make(
        tmp_path / "a.db",
        "create table a (b); insert into a values (9223372036854775807), (-9223372036854775808)",
    )

    assert open_table(path).read()["b"].to_list() == [2**63 - 1, -(2**63)]


def test_every_pass_sees_the_same_rows(tmp_path, monkeypatch):
    """The table is copied once: what is written to it later isn't seen."""
    monkeypatch.setattr(_database_file, "_CHUNK", 1)
    path = make(tmp_path / "a.db", PEOPLE)
    source = open_table(f"sqlite:///{path}")
    before = source._reader.frames(["id"], 2)

    make(path, "delete from people where id = 1")

    assert [row for frame in before for row in frame["id"]] == [1, 2, 3]


def test_declared_types_apply(tmp_path):
    path = make(tmp_path / "a.db", "create table a (b date); insert into a values ('2020-01-31')")

    assert open_table(path, options=ReadOptions(dtypes={"b": "date"})).dtypes == {"b": pl.Date}


@pytest.mark.parametrize(
    "damage", [lambda raw: raw[:100], lambda raw: raw[:1000] + b"\xff" * 4000 + raw[5000:]]
)
def test_a_damaged_file_is_refused(tmp_path, damage):
    path = make(tmp_path / "a.db", PEOPLE + f"insert into people (name) values ('{CANARY}');")
    path.write_bytes(damage(path.read_bytes()))

    with pytest.raises(DataError) as caught:
        open_table(path)

    assert CANARY not in repr(caught.value)


def test_a_file_of_another_engine_is_refused(tmp_path):
    path = make(tmp_path / "a.db", PEOPLE)

    with pytest.raises(DataError, match="isn't a database of duckdb"):
        open_table(f"duckdb:///{path}")


def test_duckdb_is_read(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "a.duckdb"
    with duckdb.connect(str(path)) as base:
        base.execute("create table a (b integer, c decimal(10, 2), d enum('low', 'high'), e date)")
        base.execute("insert into a values (1, 1.5, 'low', '2020-01-31'), (null, null, null, null)")
        base.execute("create table f (g integer[])")

    source = open_table(f"duckdb:///{path}?table=a")

    assert source.format == "duckdb"
    assert source.dtypes == {"b": pl.Int32, "c": pl.Decimal(10, 2), "d": pl.String, "e": pl.Date}
    assert [row[0] for row in source.read().iter_rows()] == [1, None]
    with pytest.raises(SchemaError, match="Column 'g' holds values of type List"):
        open_table(path, options=ReadOptions(table="f"))


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    "cell",
    [
        "340282366920938463463374607431768211455::UHUGEINT",
        "170141183460469231731687303715884105728::UHUGEINT",
        "170141183460469231731687303715884105727::HUGEINT",
        "'10:00:00+02'::TIMETZ",
        "'24:00:00'::TIME",
        "'infinity'::DATE",
        "'-infinity'::TIMESTAMP",
        "'infinity'::TIMESTAMPTZ",
        "'100000-01-01'::DATE",
        "MAP {'canary': 1}",
        "'1 month'::INTERVAL",
        "'x'::BLOB",
    ],
)
def test_what_duckdb_would_hand_out_as_another_cell_is_refused(tmp_path, cell):
    """With its column; UHUGEINT from 2**127 on came out as -1, and 24:00 as missing."""
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(tmp_path / "a.duckdb")) as base:
        base.execute(f"create table a as select {cell} as seen")

    with pytest.raises((DataError, SchemaError), match="Column 'seen' ") as refused:
        open_table(tmp_path / "a.duckdb").read()
    assert "canary" not in str(refused.value)


def test_whole_numbers_of_38_digits_are_read(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    wide = 10**38 - 1
    with duckdb.connect(str(tmp_path / "a.duckdb")) as base:
        base.execute(f"create table a as select {wide}::HUGEINT as b, 5::UHUGEINT as c")

    assert open_table(tmp_path / "a.duckdb").read().row(0) == (wide, 5)
