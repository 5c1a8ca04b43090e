"""A policy to begin with: keys become tokens, and all other columns are dropped."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from halfmask._errors import ParameterError
from halfmask.data import DatabaseUrl
from halfmask.databases._database import open_source
from halfmask.databases._domains import linked_columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from halfmask.databases._domains import ColumnAt
    from halfmask.databases._schema import TableColumn, TableSchema

_HEAD = """\
# Each table and each column is named. Keys become tokens, so that tables join; other columns are
# dropped. Change "drop" to "keep" or a mask where the copy needs the column.
halfmask-database = 1
"""


def propose_database_policy(source: str) -> str:
    """Return a policy that names each table and column of a schema, as TOML.

    Parameters
    ----------
    source
        ``postgresql://host/database?schema=name`` or ``sqlite:///path``.

    Raises
    ------
    DataError
        If the database can't be read.

    See Also
    --------
    protect_database : Copy the database by it.

    Notes
    -----
    **Guarantees.** It looks at names, types and keys, and writes no cell. Keys become tokens,
    references follow them, and all other columns are dropped until the owner decides.
    """
    url = DatabaseUrl.parse(source)
    if url.engine == "duckdb" or url.table is not None:
        raise ParameterError(
            "A policy of a database is for all tables of a PostgreSQL schema or an SQLite file.",
            hint="Leave 'table' out of the URL."
            if url.table is not None and url.engine != "duckdb"
            else "Name one of its tables, as in duckdb:///shop.duckdb?table=people.",
        )
    with closing(open_source(url)[0]) as base:
        tables = [
            it if it.refused else base.looked_at(it, _key_columns(it)) for it in base.tables()
        ]
    copied = [it for it in tables if not it.refused]
    names = {it.name for it in copied}
    roots = linked_columns(
        key for table in copied for key in table.foreign_keys if key.parent in names
    )
    return "\n".join([_HEAD, *(line for it in tables for line in _section(it, roots))])


def _section(table: TableSchema, roots: Mapping[ColumnAt, ColumnAt]) -> Iterator[str]:
    name = _key(table.name)
    if table.refused:
        yield f"[tables.{name}]  # {table.refused}\ndrop = true\n"
        return
    rules = {it.name: _rule(table, it, roots) for it in table.columns}
    is_dropped = all(rule == '"drop"' for rule in rules.values())
    if is_dropped:
        yield f"[tables.{name}]  # without keys; or name its columns\ndrop = true"
    mark = "# " if is_dropped else ""
    yield f"{mark}[tables.{name}.columns]"
    for it in table.columns:
        yield f"{mark}{_key(it.name)} = {rules[it.name]}  # {' '.join(it.type.split())}".rstrip(
            " #"
        )
    yield ""


def _rule(table: TableSchema, column: TableColumn, roots: Mapping[ColumnAt, ColumnAt]) -> str:
    at = table.name, column.name
    root = roots.get(at)
    if root is not None and root != at:
        return '"reference"'
    if root is None and (column.name not in _key_columns(table) or column.is_generated):
        return '"drop"'
    return '"keep"' if column.dtype is None else '{ mask = { name = "token" } }'


def _key_columns(table: TableSchema) -> set[str]:
    keys = [it.columns for it in table.constraints if it.kind == "key"]
    return set[str]().union(*keys, *(key.columns for key in table.foreign_keys))


def _key(name: str) -> str:
    """Return a name as a key of TOML."""
    import tomlkit  # noqa: PLC0415 - only where a policy is written

    return tomlkit.key(name).as_string()
