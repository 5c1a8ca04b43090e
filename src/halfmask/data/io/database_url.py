"""URLs of databases: which engine, where it is, and which table or schema of it is meant."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from halfmask._errors import ParameterError

Engine: TypeAlias = Literal["postgresql", "sqlite", "duckdb"]

_ENGINES: Final[dict[str, Engine]] = {
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "sqlite": "sqlite",
    "duckdb": "duckdb",
}
#: Others are refused by name, not looked for as files.
_OTHERS: Final = (
    "mysql|mariadb|mssql|sqlserver|oracle|db2|mongodb|clickhouse|snowflake|bigquery|redshift"
    "|databricks|trino|cockroachdb"
)
_START: Final = re.compile(
    rf"(?i:jdbc:|(?:postgresql|postgres|sqlite|duckdb|{_OTHERS})(?:\+\w+)?://)"
)
_OTHER: Final = re.compile(rf"(?i:jdbc:(?:{_OTHERS})\b|(?:{_OTHERS})(?:\+\w+)?://)")
#: A name as SQL writes it, in quotes or not.
_NAME: Final = r'(?:"(?:[^"]|"")+"|[^".]+)'
_QUALIFIED: Final = re.compile(rf"(?:({_NAME})\.)?({_NAME})")


def is_database_url(text: object) -> bool:
    """Return whether a text is the URL of a database, and no path of a file.

    Examples
    --------
    >>> is_database_url("sqlite:///shop.db"), is_database_url("shop.db")
    (True, False)
    """
    return isinstance(text, str) and _START.match(text) is not None


def refuse_unsupported(url: str) -> None:
    """Raise if a text is the URL of a database of another engine, such as MySQL."""
    if _OTHER.match(url):
        raise ParameterError(
            "This database isn't supported: PostgreSQL, SQLite and DuckDB are.",
            hint="Export its tables to Parquet or CSV, or load them into one of these.",
        )


def quoted_name(name: str) -> str:
    """Return a name as SQL writes it.

    Examples
    --------
    >>> quoted_name('a"b')
    '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True, slots=True)
class DatabaseUrl:
    """The URL of a database.

    Examples
    --------
    >>> DatabaseUrl.parse("postgresql://me:secret@host/db?table=shop.people")
    DatabaseUrl(engine='postgresql', schema='shop', table='people')
    >>> DatabaseUrl.parse("sqlite:////data/shop.db").location
    '/data/shop.db'
    """

    engine: Engine
    location: str = field(repr=False)
    schema: str | None = None
    table: str | None = None

    @property
    def name(self) -> str:
        """What the copy's files are called: the file, or the database and its schema."""
        if self.engine != "postgresql":
            return Path(self.location).stem
        base = unquote(urlsplit(self.location).path.strip("/")).replace("/", "_")
        schema = (self.schema or "public").replace("/", "_")
        return f"{base}.{schema}" if base else schema

    @classmethod
    def parse(cls, url: str) -> DatabaseUrl:
        """Take a URL apart."""
        engine = _ENGINES.get(url.partition("://")[0].lower())
        if engine is None:
            refuse_unsupported(url)
            raise ParameterError(
                "This is no URL of a database.",
                hint="Write postgresql://host/database, sqlite:///path or duckdb:///path.",
            )
        try:
            parts = urlsplit(url)
            query = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        except ValueError:
            raise ParameterError(
                "The URL of the database isn't a valid URL.",
                hint="Write characters such as / ? # @ of a password as %2F %3F %23 %40.",
            ) from None
        keys = [key for key, _ in query]
        if len(set(keys)) < len(keys):
            raise ParameterError("The URL of the database gives a key twice.")
        own = {key: value for key, value in query if key in {"schema", "table"}}
        schema, table = _qualified(own.get("table"), own.get("schema"))
        if engine == "postgresql":
            rest = urlencode([it for it in query if it[0] not in own], quote_via=quote)
            location = f"postgresql://{parts.netloc}{parts.path}{'?' if rest else ''}{rest}"
        else:
            location = _path(parts.netloc, parts.path, keys)
        return cls(engine, location, schema, table)


def _path(host: str, path: str, keys: list[str]) -> str:
    """Return the path of a database that is a file."""
    if host or len(path) < len("/a") or set(keys) - {"schema", "table"}:
        raise ParameterError(
            "The URL of the database file must have an empty host, a path, and no key besides "
            "'table'.",
            hint="Write sqlite:///relative.db or sqlite:////absolute/path.db.",
        )
    return unquote(path[1:])


def _qualified(table: str | None, schema: str | None) -> tuple[str | None, str | None]:
    """Return the schema and the table that names in a URL mean."""
    if table is None:
        return schema, None
    found = _QUALIFIED.fullmatch(table)
    if found is None or (found[1] and schema is not None):
        raise ParameterError(
            "The 'table' of the URL of the database must be a table, or a schema and a table.",
            hint='Write table=people, table=shop.people, or quote names: table="odd.name".',
        )
    return (_unquoted(found[1]) if found[1] else schema), _unquoted(found[2])


def _unquoted(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name
