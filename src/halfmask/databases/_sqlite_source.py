"""A file of SQLite as a source: its tables, and their rows in one transaction."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from halfmask._errors import DataError, SchemaError
from halfmask.data import quoted_name
from halfmask.data.io.database_file import open_sqlite, sqlite_column_type
from halfmask.databases._schema import Constraint, ForeignKey, TableColumn, TableSchema
from halfmask.databases._sqlite import COUNTED, DATES, asking, frames_of, listed

if TYPE_CHECKING:
    from halfmask.data import DatabaseUrl

#: What a definition may say that isn't made again where a column is masked or dropped.
_LOST: Final = re.compile(
    r"\b(CHECK|COLLATE|WITHOUT\s+ROWID|STRICT|ON\s+CONFLICT)\b", re.IGNORECASE
)
#: Collations that find several texts equal. SQLite's lower() is of ASCII alone, and so is NOCASE.
_FOLDS: Final = {"NOCASE": "lower({})", "RTRIM": "rtrim({})"}
#: What SQLite gives as the number of an index's column that is an expression.
_EXPRESSION: Final = -2
_COMMENT: Final = r"--[^\n]*|/\*.*?(?:\*/|$)"
_QUOTED: Final = re.compile(
    rf"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|\[[^\]]*\]|{_COMMENT}", re.DOTALL
)


class SqliteSource:
    """A file of SQLite that is read in one transaction."""

    row_id = "rowid"

    def __init__(self, url: DatabaseUrl) -> None:
        if not Path(url.location).is_file():
            raise DataError("The source database isn't there.", hint="Check the path.")
        self._key = b""
        with asking("The source database"):
            self._base = open_sqlite(url.location)
            self._base.create_function("halfmask_order", 1, self._order, deterministic=True)

    def _order(self, row: int) -> bytes:
        return hashlib.blake2b(str(row).encode(), key=self._key, digest_size=16).digest()

    def close(self) -> None:
        """End the connection."""
        self._base.close()

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        with asking("The source database"):
            return self._base.execute(query).fetchall()

    def tables(self) -> list[TableSchema]:
        """Return the tables of the file."""
        listed = self._rows(
            "SELECT name, sql FROM sqlite_schema WHERE type = 'table'"
            " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
        )
        names = {name.lower(): name for name, _ in listed}
        return [self._table(name, sql, names) for name, sql in listed]

    def _table(self, name: str, sql: str, names: dict[str, str]) -> TableSchema:
        about = self._rows(f"PRAGMA table_xinfo({quoted_name(name)})")
        plain = _QUOTED.sub("", sql)
        refused = ""
        if re.match(r"\s*CREATE\s+VIRTUAL", sql, re.IGNORECASE):
            refused = "it is a virtual table"
        elif any(hidden for *_, hidden in about):
            refused = "it has generated columns"
        elif re.search(r"\bWITHOUT\s+ROWID\b", plain, re.IGNORECASE):
            refused = "it is WITHOUT ROWID"
        keys = [] if refused else list(self._keys(name, names))
        collations = {} if refused else self._collations(name)
        refused = refused or next((it.definition for it in keys if not it.parent), "")
        return TableSchema(
            name=name,
            columns=tuple(
                TableColumn(
                    name=column,
                    type=kind,
                    dtype=None,
                    clauses="" if default is None else f" DEFAULT ({default})",
                    is_not_null=bool(not_null),
                    collation=f" COLLATE {collations[column]}" if column in collations else "",
                    folds=(_FOLDS[collations[column]],) if column in collations else (),
                )
                for _, column, kind, not_null, default, *_ in about
            ),
            foreign_keys=tuple(keys),
            constraints=tuple(self._constraints(name, about, plain)),
            definition=_QUOTED.sub(lambda it: " " if it[0][0] in "-/" else it[0], sql),
            refused=refused,
        )

    def looked_at(self, table: TableSchema, columns: Collection[str]) -> TableSchema:
        """Return a table with what its cells say of their types; see `SourceDatabase`."""
        return replace(
            table,
            columns=tuple(
                self._looked_at(table.name, it) if it.name in columns else it
                for it in table.columns
            ),
        )

    def _looked_at(self, table: str, column: TableColumn) -> TableColumn:
        try:
            with asking("The source database"):
                dtype = sqlite_column_type(self._base, table, column.name, bytes_too=True)
        except SchemaError as error:
            said = error.what.removeprefix(f"Column {column.name!r} ").removesuffix(".")
            return replace(column, refused=said)
        if dtype != pl.String:
            return replace(column, dtype=dtype)
        name = quoted_name(column.name)
        for kind, (function, _) in DATES.items():
            # Each text is the one that SQLite writes for its date; without a step of no days it
            # takes 2020-02-30 and 24:00:00 as they are.
            same = f"{name} IS {function}({name}, '+0 days')"
            query = f"SELECT count({name}), sum({same}), min({name}) FROM"
            ((n, n_dates, first),) = self._rows(f"{query} {self.named(table)} WHERE {name} NOTNULL")
            if not n:
                return replace(column, dtype=_affinity(column.type))
            if n == n_dates and first >= "0001":
                return replace(column, dtype=dtype, meant=kind)
        return replace(column, dtype=dtype)

    def others(self) -> list[str]:
        """Return the views and triggers of the file."""
        return [
            f"{kind} {quoted_name(name)}"
            for kind, name in self._rows(
                "SELECT type, name FROM sqlite_schema WHERE type IN ('trigger', 'view')"
                " ORDER BY 1, 2"
            )
        ]

    def _keys(self, table: str, names: dict[str, str]) -> Iterator[ForeignKey]:
        found: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
        for row in self._rows(f"PRAGMA foreign_key_list({quoted_name(table)})"):
            found[row[0]].append(row)
        for number, rows in sorted(found.items()):
            rows.sort(key=lambda row: row[1])
            _, _, written, _, _, on_update, on_delete, _ = rows[0]
            parent = names.get(written.lower(), "")
            its = tuple(row[4] for row in rows)
            if parent and None in its:
                about = self._rows(f"PRAGMA table_xinfo({quoted_name(parent)})")
                its = tuple(row[1] for row in sorted(about, key=lambda row: row[5]) if row[5])
            mine = tuple(row[3] for row in rows)
            yield ForeignKey(
                name=f"{table}.{number}",
                table=table,
                columns=mine,
                parent=parent,
                parent_columns=its,
                definition=f"FOREIGN KEY ({listed(mine)}) REFERENCES {quoted_name(parent)}"
                f" ({listed(its)}) ON UPDATE {on_update} ON DELETE {on_delete}"
                if parent
                else "its foreign key refers to a table that isn't there",
                is_valid=False,
            )

    def _collations(self, table: str) -> dict[str, str]:
        """Return by columns of keys the collation that finds texts equal that aren't alike."""
        indexes = self._rows(f"PRAGMA index_list({quoted_name(table)})")
        return {
            str(part[2]): str(part[4]).upper()
            for index in indexes
            if index[3] in {"pk", "u"}
            for part in self._rows(f"PRAGMA index_xinfo({quoted_name(index[1])})")
            if part[2] is not None and str(part[4]).upper() in _FOLDS
        }

    def _constraints(
        self, table: str, about: Sequence[tuple[Any, ...]], plain: str
    ) -> Iterator[Constraint]:
        primary = tuple(row[1] for row in sorted(about, key=lambda row: row[5]) if row[5])
        if primary:
            yield Constraint(
                name="primary key",
                definition=f"PRIMARY KEY ({listed(primary)})",
                columns=frozenset(primary),
                kind="key",
            )
            if re.search(r"\bAUTOINCREMENT\b", plain, re.IGNORECASE):
                yield Constraint(
                    name=COUNTED, definition="", columns=frozenset(primary), kind="check"
                )
        for word in sorted({it.upper() for it in _LOST.findall(plain)}):
            yield Constraint(
                name=word,
                definition="",
                columns=frozenset(row[1] for row in about),
                kind="check",
            )
        yield from self._indexes(table, about)

    def _indexes(self, table: str, about: Sequence[tuple[Any, ...]]) -> Iterator[Constraint]:
        for _, name, unique, origin, partial in self._rows(
            f"PRAGMA index_list({quoted_name(table)})"
        ):
            parts = self._rows(f"PRAGMA index_xinfo({quoted_name(name)})")
            named = [it[2] for it in parts if it[2] is not None]
            # Of an expression SQLite doesn't tell the columns: any may be in it, or in a condition.
            is_plain = not partial and all(it[1] != _EXPRESSION for it in parts)
            if origin == "u":
                yield Constraint(
                    name=name,
                    definition=f"UNIQUE ({listed(named)})",
                    columns=frozenset(named),
                    kind="key",
                )
            elif origin == "c":
                yield Constraint(
                    name=name,
                    definition=_plain_index(table, name, parts, is_unique=bool(unique))
                    if is_plain
                    else self._index_text(name),
                    columns=frozenset(named if is_plain else (row[1] for row in about)),
                    kind="index",
                    is_plain=is_plain,
                )

    def _index_text(self, name: str) -> str:
        ((sql,),) = self._rows(
            "SELECT sql FROM sqlite_schema WHERE type = 'index'"
            f" AND name = '{name.replace(chr(39), chr(39) * 2)}'"
        )
        return str(sql)

    def frames(
        self, table: str, columns: Sequence[TableColumn], kept: str | None, masked: Collection[str]
    ) -> Iterator[pl.DataFrame]:
        """Yield some columns of a table; see `SourceDatabase`."""
        where = "" if kept is None else f"WHERE rowid IN (SELECT halfmask_row FROM {kept})"
        names = {it.name: quoted_name(it.name) for it in columns}
        asked = ", ".join(
            it.folded(names[it.name]) if it.name in masked else names[it.name] for it in columns
        )
        schema = {it.name: it.dtype or pl.String() for it in columns}
        query = f"SELECT {asked} FROM {self.named(table)} {where} ORDER BY rowid"
        yield from frames_of(self._base, query, schema, "The source database")

    def named(self, table: str) -> str:
        """Return a table of the file as SQL names it."""
        return f"main.{quoted_name(table)}"

    def run(self, statement: str) -> None:
        """Run a statement that returns no rows."""
        self._rows(statement)

    def number(self, query: str) -> int:
        """Return the one number that a query gives."""
        return int(self._rows(query)[0][0])

    def order_key(self, key: bytes) -> str:
        """Return SQL that orders rows at random, the same for the same key."""
        self._key = key
        return "halfmask_order(c.rowid)"


def _affinity(kind: str) -> pl.DataType:
    """Return the type of a column without cells, from what its table says."""
    if "INT" in kind.upper():
        return pl.Int64()
    return pl.Float64() if re.search("REAL|FLOA|DOUB", kind.upper()) else pl.String()


def _plain_index(
    table: str, name: str, parts: Sequence[tuple[Any, ...]], *, is_unique: bool
) -> str:
    """Return CREATE INDEX for columns alone: the source's own text may have comments."""
    listed = ", ".join(
        f"{quoted_name(column)} COLLATE {quoted_name(collation)}{' DESC' if descends else ''}"
        for _, _, column, descends, collation, is_key in parts
        if is_key
    )
    unique = "UNIQUE " if is_unique else ""
    return f"CREATE {unique}INDEX {quoted_name(name)} ON {quoted_name(table)} ({listed})"
