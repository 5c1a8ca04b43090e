"""The same copy again: an earlier one is replaced, and nothing else ever is."""

from __future__ import annotations

import sqlite3

import pytest
from tests.databases.copying import POLICY, SHOP, copied, make, rows

from halfmask._errors import DataError, ParameterError, ReleaseError
from halfmask.databases import DatabasePolicy, protect_database

TABLES = """
CREATE SCHEMA src;
CREATE TYPE src.mood AS ENUM ('ok');
CREATE TABLE src.p (id serial PRIMARY KEY, m src.mood);
CREATE TABLE src.c (p int REFERENCES src.p);
INSERT INTO src.p (m) VALUES ('ok'), (NULL);
INSERT INTO src.c VALUES (1)
"""
KEPT = """
halfmask-database = 1
[tables.p.columns]
id = "keep"
m = "keep"
[tables.c.columns]
p = "keep"
"""


def copy(postgres, folder, *, overwrite=True, source="src", target="masked"):
    return protect_database(
        f"{postgres.url}&schema={source}",
        DatabasePolicy.from_toml(KEPT),
        f"{postgres.url}&schema={target}",
        report=folder / "report",
        overwrite=overwrite,
        key=bytes(32),
    )


@pytest.mark.slow
def test_the_next_copy_of_postgresql_replaces_the_last(postgres, tmp_path):
    postgres.run(TABLES)
    copy(postgres, tmp_path)
    postgres.run("INSERT INTO src.p (m) VALUES ('ok')")
    first = (tmp_path / "report" / "manifest.json").read_text()

    with pytest.raises(ReleaseError, match="exists"):
        copy(postgres, tmp_path, overwrite=False)
    (tmp_path / "report").rename(tmp_path / "old")
    with pytest.raises(ReleaseError, match="exists in the target database, and isn't empty"):
        copy(postgres, tmp_path, overwrite=False)
    (tmp_path / "old").rename(tmp_path / "report")
    copy(postgres, tmp_path)

    assert postgres.run("SELECT count(*) FROM masked.p") == [(3,)]
    assert postgres.run("INSERT INTO masked.p DEFAULT VALUES RETURNING id") == [(4,)]
    assert (tmp_path / "report" / "manifest.json").read_text() != first


@pytest.mark.parametrize(
    ("made", "error", "says"),
    [
        ("CREATE TABLE masked.mine (a int)", ReleaseError, "isn't empty"),
        ("COMMENT ON TABLE masked.c IS NULL", ReleaseError, "isn't empty"),
        ("CREATE VIEW public.v AS SELECT * FROM masked.p", DataError, "such as a view"),
    ],
)
def test_what_others_made_stays(postgres, tmp_path, made, error, says):
    postgres.run(TABLES)
    copy(postgres, tmp_path)
    postgres.run(f"{made};\nDELETE FROM masked.c")

    with pytest.raises(error, match=says):
        copy(postgres, tmp_path)

    assert postgres.run("SELECT count(*) FROM masked.c") == [(0,)]


def test_a_failure_leaves_the_last_copy(postgres, tmp_path):
    postgres.run(TABLES)
    copy(postgres, tmp_path)
    postgres.run("ALTER TABLE src.c DROP CONSTRAINT c_p_fkey;\nINSERT INTO src.c VALUES (9)")
    postgres.run("ALTER TABLE src.c ADD FOREIGN KEY (p) REFERENCES src.p NOT VALID")

    with pytest.raises(DataError, match="leads nowhere"):
        copy(postgres, tmp_path)

    assert postgres.run("SELECT count(*) FROM masked.c JOIN masked.p ON p = id") == [(1,)]


def test_the_source_is_never_the_target(postgres, tmp_path):
    """Also where it is a copy itself: it would wait for itself."""
    postgres.run(TABLES)
    copy(postgres, tmp_path)

    with pytest.raises(ParameterError, match="The target is the source"):
        copy(postgres, tmp_path, source="masked")


def test_the_next_copy_of_sqlite_replaces_the_last(tmp_path):
    _, path = copied(tmp_path)
    with sqlite3.connect(tmp_path / "shop.db") as base:
        base.execute("insert into towns values ('Bree')")
    base.close()

    with pytest.raises(ReleaseError, match="exists"):
        copied(tmp_path)
    copied(tmp_path, overwrite=True)

    assert rows(path, "select name from towns") == [("Bree",)]
    assert {it.name for it in tmp_path.iterdir()} == {
        *("shop.db", "masked.db", "masked.db.report", "masked.db.report.owner.html")
    }


@pytest.mark.parametrize("journal", [None, "masked.db-wal", "masked.db-journal"])
def test_a_file_that_is_no_copy_or_is_in_use_stays(tmp_path, journal):
    if journal is None:
        make(tmp_path / "masked.db", SHOP)
    else:
        copied(tmp_path)
        (tmp_path / journal).write_bytes(b"")
    before = (tmp_path / "masked.db").read_bytes()

    with pytest.raises(ReleaseError, match="The file to write exists"):
        copied(tmp_path, POLICY, overwrite=True)

    assert (tmp_path / "masked.db").read_bytes() == before
