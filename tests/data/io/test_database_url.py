"""URLs of databases: what they mean, and that nothing shows a password."""

from __future__ import annotations

import pytest

from halfmask._errors import HalfmaskError, ParameterError
from halfmask.data import open_table
from halfmask.data.io.database_url import DatabaseUrl, is_database_url, quoted_name

CANARY = "canary-Zx81"


@pytest.mark.parametrize(
    ("url", "engine", "location", "schema", "table"),
    [
        ("postgresql://h/d", "postgresql", "postgresql://h/d", None, None),
        ("postgres://u:p%40@h:1/d", "postgresql", "postgresql://u:p%40@h:1/d", None, None),
        (
            "postgresql://h/d?sslmode=require&table=s.t",
            "postgresql",
            "postgresql://h/d?sslmode=require",
            "s",
            "t",
        ),
        ("postgresql:///d?host=/r&schema=s", "postgresql", "postgresql:///d?host=/r", "s", None),
        ('postgresql://h/d?table="a.b"."c""d"', "postgresql", "postgresql://h/d", "a.b", 'c"d'),
        ("postgresql://h/d?schema=s&table=t", "postgresql", "postgresql://h/d", "s", "t"),
        ("sqlite:///a.db", "sqlite", "a.db", None, None),
        ("SQLite:////x/a%20b.db?table=t", "sqlite", "/x/a b.db", None, "t"),
        ("duckdb:///a.duckdb", "duckdb", "a.duckdb", None, None),
    ],
)  # fmt: skip
def test_a_url_is_taken_apart(url, engine, location, schema, table):
    found = DatabaseUrl.parse(url)

    assert (found.engine, found.schema, found.table) == (engine, schema, table)
    assert found.location.replace("%2F", "/") == location


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("postgresql://h/shop", "shop.public"),
        ("postgresql://h/a%2Fb?schema=s/t", "a_b.s_t"),
        ("postgresql:///?host=/r&schema=s", "s"),
        ("sqlite:////x/shop.db", "shop"),
    ],
)
def test_files_about_two_databases_have_two_names(url, name):
    assert DatabaseUrl.parse(url).name == name


@pytest.mark.parametrize(
    "url",
    [
        "mysql://h/d",
        "MariaDB://h/d",
        "mssql+pyodbc://h/d",
        "snowflake://a/d",
        "bigquery://p/d",
        "jdbc:mysql://h/d",
        "jdbc:oracle:thin:@h:1521:d",
    ],
)
def test_databases_that_are_not_supported_are_told_so(url):
    with pytest.raises(ParameterError, match="isn't supported: PostgreSQL, SQLite and DuckDB are"):
        open_table(url)


@pytest.mark.parametrize(
    "url",
    [
        f"mysql://u:{CANARY}@h/d",
        f"jdbc:postgresql://h/d?password={CANARY}",
        f"postgresql+psycopg://u:{CANARY}@h/d",
        f"postgresql://u:{CANARY}@[h/d",
        f"postgresql://u:{CANARY}@h/d?{CANARY}",
        f"postgresql://u:{CANARY}@h/d?table=a&table=b",
        f"postgresql://u:{CANARY}@h/d?table=a.b.c",
        f"postgresql://u:{CANARY}@h/d?schema=a&table=b.c",
        f"sqlite://{CANARY}/a.db",
        f"sqlite:///a.db?key={CANARY}",
        "sqlite:///",
    ],
)
def test_a_url_that_is_none_is_refused_without_its_words(url):
    with pytest.raises(ParameterError) as caught:
        DatabaseUrl.parse(url)

    assert CANARY not in repr(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_no_repr_holds_a_password():
    assert CANARY not in repr(DatabaseUrl.parse(f"postgresql://u:{CANARY}@h/d"))


def test_a_server_that_is_not_there_is_named_without_the_url():
    pytest.importorskip("adbc_driver_postgresql")
    url = f"postgresql://{CANARY}:{CANARY}@127.0.0.1:1/{CANARY}?connect_timeout=2&table=t"

    with pytest.raises(HalfmaskError, match="can't be reached, or went away") as caught:
        open_table(url)

    assert CANARY not in repr(caught.value)
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("path", ["a.db", "/x/sqlite.db", "C:\\a.db", "http://h/a.csv", 3, None])
def test_a_path_is_no_url(path):
    assert not is_database_url(path)


def test_names_are_quoted():
    assert quoted_name('a"; drop table b; --') == '"a""; drop table b; --"'
