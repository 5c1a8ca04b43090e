"""The same copy again: an earlier one is replaced, and nothing else ever is."""

from __future__ import annotations

import sqlite3

import pytest
from tests.databases.copying import POLICY, SHOP, copied, make, rows

from halfmask._errors import DataError, ParameterError, ReleaseError
from halfmask.data.io.postgres import PostgresConnection
from halfmask.databases import DatabasePolicy, _postgres_target, protect_database

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


def copy(postgres, folder, *, overwrite=True, source="src", target="masked", policy=KEPT):
    return protect_database(
        f"{postgres.url}&schema={source}",
        DatabasePolicy.from_toml(policy),
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


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    ("made", "says"),
    [
        ("CREATE VIEW public.v AS SELECT * FROM masked.p", "such as a view"),
        ("CREATE TABLE public.t (p int REFERENCES masked.p)", "such as a view"),
        (
            "CREATE FUNCTION public.f() RETURNS int BEGIN ATOMIC SELECT max(p) FROM masked.c; END",
            "such as a view",
        ),
        ("ALTER TABLE masked.p ENABLE ROW LEVEL SECURITY", "row-level security"),
        ("CREATE TABLE masked.mine (a int)", "isn't empty"),
        ("COMMENT ON TABLE masked.c IS NULL", "isn't empty"),
    ],
)
def test_what_others_made_stays(postgres, tmp_path, monkeypatch, made, says):
    """It is refused before a row is read."""
    postgres.run(TABLES)
    copy(postgres, tmp_path)
    postgres.run(f"{made};\nDELETE FROM masked.c")
    monkeypatch.setattr(_postgres_target.PostgresTarget, "append", None)

    with pytest.raises(ReleaseError, match=says):
        copy(postgres, tmp_path)

    assert postgres.run("SELECT count(*) FROM masked.c") == [(0,)]


def schemas(postgres):
    """Return the schemas that there are besides those of every database."""
    named = "SELECT nspname::text FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema)'"
    return {name for (name,) in postgres.run(named)}


def test_who_reads_while_a_copy_is_written_sees_the_last_and_does_not_wait(
    postgres, tmp_path, monkeypatch
):
    postgres.run(TABLES)
    copy(postgres, tmp_path)
    postgres.run("INSERT INTO src.p (m) VALUES ('ok')")
    kept, seen = _postgres_target.PostgresTarget.finish, []

    def finish(self, tables):
        kept(self, tables)
        seen.extend(postgres.run("SET lock_timeout = '50ms';\nSELECT count(*) FROM masked.p"))

    monkeypatch.setattr(_postgres_target.PostgresTarget, "finish", finish)
    copy(postgres, tmp_path)

    assert seen == [(2,)]
    assert postgres.run("SELECT count(*) FROM masked.p") == [(3,)]
    assert schemas(postgres) == {"public", "src", "masked"}


READERS = """
CREATE ROLE reader;
CREATE ROLE "odd ""role";
GRANT USAGE ON SCHEMA masked TO reader;
GRANT SELECT ON masked.p TO reader WITH GRANT OPTION;
GRANT UPDATE (m) ON masked.p TO reader;
GRANT SELECT (p) ON masked.c TO PUBLIC;
GRANT USAGE ON SEQUENCE masked.p_id_seq TO "odd ""role"
"""


def test_rights_on_tables_columns_and_sequences_stay(postgres, tmp_path):
    postgres.run(TABLES)
    copy(postgres, tmp_path)
    postgres.run(READERS)
    try:
        copy(postgres, tmp_path)
        asked = (
            "has_table_privilege('reader', 'masked.p', 'SELECT WITH GRANT OPTION')",
            "has_column_privilege('reader', 'masked.p', 'm', 'UPDATE')",
            "has_column_privilege('reader', 'masked.c', 'p', 'SELECT')",
            "has_sequence_privilege('odd \"role', 'masked.p_id_seq', 'USAGE')",
            "has_schema_privilege('reader', 'masked', 'USAGE')",
            "NOT has_table_privilege('reader', 'masked.p', 'DELETE')",
            "NOT has_column_privilege('reader', 'masked.p', 'id', 'UPDATE')",
        )
        for each in asked:
            assert postgres.run(f"SELECT {each}") == [(True,)], each
        # A column that the new copy lacks takes its rights with it.
        copy(postgres, tmp_path, policy=KEPT.replace('m = "keep"', 'm = "drop"'))
        assert postgres.run(f"SELECT {asked[0]}") == [(True,)]
    finally:
        for name in ("reader", '"odd ""role"'):
            postgres.run(f"DROP OWNED BY {name};\nDROP ROLE {name}")


def test_a_right_that_was_revoked_is_not_given_again_by_default_privileges(postgres, tmp_path):
    postgres.run(TABLES)
    postgres.run("CREATE ROLE late;\nALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO late")
    try:
        copy(postgres, tmp_path)
        postgres.run("REVOKE SELECT ON masked.p FROM late")
        copy(postgres, tmp_path)
        for table, has in (("p", False), ("c", True)):
            asked = f"has_table_privilege('late', 'masked.{table}', 'SELECT')"
            assert postgres.run(f"SELECT {asked}") == [(has,)]
    finally:
        postgres.run("DROP OWNED BY late;\nDROP ROLE late")


@pytest.mark.parametrize("goes", [True, False])
def test_the_exchange_waits_for_readers_again_and_again(postgres, tmp_path, monkeypatch, goes):
    """Between two tries, those who came later read; after the last the old copy stays."""
    dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi")
    postgres.run(TABLES)
    copy(postgres, tmp_path)
    postgres.run("DELETE FROM masked.c")
    monkeypatch.setattr(_postgres_target, "_WAIT", "20ms")
    monkeypatch.setattr(_postgres_target, "_TRIES", 2)
    kept = PostgresConnection.tried
    with dbapi.connect(postgres.url) as reader, reader.cursor() as cursor:
        cursor.execute("SELECT * FROM masked.p")
        cursor.fetchall()

        def tried(self, statement):
            fault = kept(self, statement)
            if goes and fault is not None:
                reader.rollback()
            return fault

        monkeypatch.setattr(PostgresConnection, "tried", tried)
        if goes:
            copy(postgres, tmp_path)
        else:
            with pytest.raises(DataError, match="Others use the tables"):
                copy(postgres, tmp_path)
            reader.rollback()

    assert postgres.run("SELECT count(*) FROM masked.c") == [(1 if goes else 0,)]
    assert schemas(postgres) == {"public", "src", "masked"}


@pytest.mark.mostly_slow
@pytest.mark.parametrize("statement", ["SET SCHEMA", "CREATE TABLE", "DROP TABLE", "DROP SCHEMA"])
def test_a_process_that_dies_leaves_the_last_copy(postgres, tmp_path, monkeypatch, statement):
    """Also in the middle of the exchange: the server undoes all of it."""
    postgres.run(TABLES)
    copy(postgres, tmp_path)
    postgres.run("DELETE FROM masked.c")
    kept = PostgresConnection.execute

    def execute(self, said):
        kept(self, said)
        if statement in said:
            postgres.run(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )

    monkeypatch.setattr(PostgresConnection, "execute", execute)
    with pytest.raises(DataError, match=r"ended the connection|went away"):
        copy(postgres, tmp_path)

    assert postgres.run("SELECT count(*) FROM masked.c") == [(0,)]
    assert schemas(postgres) == {"public", "src", "masked"}


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


def test_what_a_dead_process_left_of_a_file_is_removed(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / f".halfmask-{16 * '0'}.tmp").touch()

    copied(tmp_path, name="there/masked.db", report=tmp_path / "report")

    assert [it.name for it in (tmp_path / "there").iterdir()] == ["masked.db"]


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
