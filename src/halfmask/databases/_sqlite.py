"""SQLite files as source and target: the target is a new file, renamed when it is whole."""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from halfmask._errors import DataError, ReleaseError, SchemaError
from halfmask.data import quoted_name
from halfmask.data._atomic import locked_file
from halfmask.data._database_file import open_sqlite, sqlite_column_type
from halfmask.data._rename import rename_new
from halfmask.databases._schema import Constraint, ForeignKey, TableColumn, TableSchema

if TYPE_CHECKING:
    from halfmask.data import DatabaseUrl
    from halfmask.databases._schema import WrittenTable
    from halfmask.masks import Mask, TableMask

__all__ = ["SqliteSource", "SqliteTarget", "sqlite_type"]

_CHUNK: Final = 50_000
#: The application's number in the header of a copy, by which it is known again, and its place.
_OURS: Final = int.from_bytes(b"hmsk", "big")
_ID_AT: Final = 68
#: What a definition may say that isn't made again where a column is masked or dropped.
_LOST: Final = re.compile(
    r"\b(CHECK|COLLATE|AUTOINCREMENT|WITHOUT\s+ROWID|STRICT|ON\s+CONFLICT)\b", re.IGNORECASE
)
#: What SQLite gives as the number of an index's column that is an expression.
_EXPRESSION: Final = -2
_BROKEN: Final = re.compile(r"(?:UNIQUE|NOT NULL) constraint failed: (.+)")
#: How SQLite writes dates as texts: its function, and the format.
_DATES: Final[dict[pl.DataType, tuple[str, str]]] = {
    pl.Date(): ("date", "%Y-%m-%d"),
    pl.Datetime("us"): ("datetime", "%Y-%m-%d %H:%M:%S"),
}
_QUOTED: Final = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|\[[^\]]*\]|--[^\n]*")


def sqlite_type(column: TableColumn, dtype: pl.DataType, mask: Mask | TableMask) -> str:
    """Return the type of a masked column."""
    del mask  # a type has no limit
    if dtype == column.dtype:
        return column.type
    if dtype == pl.String:
        return "TEXT"
    return "INTEGER" if dtype.is_integer() or dtype == pl.Boolean else "REAL"


@contextmanager
def _asking(what: str) -> Iterator[None]:
    """Turn errors of SQLite into ours: its words quote cells."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        # SQLite tells columns as they are; of CHECK it tells the expression, which may have values.
        told = _BROKEN.match(str(error))
        place = f" ({told[1]})" if told else ""
        raise DataError(
            f"{what} refused a row: a key isn't unique, or a constraint doesn't hold{place}.",
            hint="The mask of a key must write different values differently.",
        ) from None
    except (sqlite3.Error, UnicodeError) as error:
        raise DataError(
            f"{what} can't be used ({type(error).__name__}).",
            hint="Check that it is a whole SQLite database, and that its disk has space.",
        ) from None


class SqliteSource:
    """A file of SQLite that is read in one transaction.

    Parameters
    ----------
    url
        The file.
    """

    row_id = "rowid"

    def __init__(self, url: DatabaseUrl) -> None:
        if not Path(url.location).is_file():
            raise DataError("The source database isn't there.", hint="Check the path.")
        self._key = b""
        with _asking("The source database"):
            self._base = open_sqlite(url.location)
            self._base.create_function("halfmask_order", 1, self._order, deterministic=True)

    def _order(self, row: int) -> bytes:
        return hashlib.blake2b(str(row).encode(), key=self._key, digest_size=16).digest()

    def close(self) -> None:
        """End the connection."""
        self._base.close()

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        with _asking("The source database"):
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
        refused = refused or next((it.definition for it in keys if not it.parent), "")
        return TableSchema(
            name=name,
            columns=tuple(
                TableColumn(
                    name=column,
                    type=kind,
                    dtype=None,
                    clauses="" if default is None else f" DEFAULT {default}",
                    is_not_null=bool(not_null),
                )
                for _, column, kind, not_null, default, *_ in about
            ),
            foreign_keys=tuple(keys),
            constraints=tuple(self._constraints(name, about, plain)),
            definition=sql,
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
            with _asking("The source database"):
                dtype = sqlite_column_type(self._base, table, column.name, bytes_too=True)
        except SchemaError as error:
            said = error.what.removeprefix(f"Column {column.name!r} ").removesuffix(".")
            return replace(column, refused=said)
        if dtype != pl.String:
            return replace(column, dtype=dtype)
        name = quoted_name(column.name)
        for kind, (function, _) in _DATES.items():
            # Each text is the one that SQLite writes for its date.
            query = f"SELECT count({name}), sum({name} IS {function}({name})), min({name}) FROM"
            ((n, n_dates, first),) = self._rows(f"{query} {self.named(table)} WHERE {name} NOTNULL")
            if not n:
                return replace(column, dtype=_affinity(column.type))
            if n == n_dates and first >= "0001":
                return replace(column, dtype=dtype, dates=kind)
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
                definition=f"FOREIGN KEY ({_listed(mine)}) REFERENCES {quoted_name(parent)}"
                f" ({_listed(its)}) ON UPDATE {on_update} ON DELETE {on_delete}"
                if parent
                else "its foreign key refers to a table that isn't there",
                is_valid=False,
            )

    def _constraints(
        self, table: str, about: Sequence[tuple[Any, ...]], plain: str
    ) -> Iterator[Constraint]:
        primary = tuple(row[1] for row in sorted(about, key=lambda row: row[5]) if row[5])
        if primary:
            yield Constraint(
                name="primary key",
                definition=f"PRIMARY KEY ({_listed(primary)})",
                columns=frozenset(primary),
                kind="key",
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
                    definition=f"UNIQUE ({_listed(named)})",
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
        del masked  # each cell is of its column's type
        where = "" if kept is None else f"WHERE rowid IN (SELECT halfmask_row FROM {kept})"
        asked = _listed([it.name for it in columns])
        schema = {it.name: it.dtype or pl.String() for it in columns}
        query = f"SELECT {asked} FROM {self.named(table)} {where} ORDER BY rowid"
        yield from _frames(self._base, query, schema, "The source database")

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


def _is_copy(path: Path) -> bool:
    """Return whether a file is an earlier copy that nobody writes to."""
    journals = [path.with_name(f"{path.name}-{it}") for it in ("wal", "journal")]
    if not path.is_file() or any(map(os.path.lexists, journals)):
        return False
    with path.open("rb") as file:
        head = file.read(_ID_AT + 4)
    return head[_ID_AT:] == _OURS.to_bytes(4, "big")


def _affinity(kind: str) -> pl.DataType:
    """Return the type of a column without cells, from what its table says."""
    if "INT" in kind.upper():
        return pl.Int64()
    return pl.Float64() if re.search("REAL|FLOA|DOUB", kind.upper()) else pl.String()


class SqliteTarget:
    """A new file of SQLite, which gets its name when it is whole.

    Parameters
    ----------
    url
        The file to make.
    overwrite
        Whether an earlier copy, which says so in its header, may be replaced.
    """

    def __init__(self, url: DatabaseUrl, *, overwrite: bool) -> None:
        self._path, self._overwrite = Path(url.location).absolute(), overwrite
        if os.path.lexists(self._path) and not (overwrite and _is_copy(self._path)):
            raise ReleaseError(
                "The file to write exists.",
                hint="Choose another name. Only a copy by halfmask is replaced.",
            )
        if not self._path.parent.is_dir():
            raise ReleaseError(
                "The parent folder of the file does not exist.", hint="Create it first."
            )
        # Locked as long as this process lives: then no other removes it as a dead one's.
        self._partial, self._lock = locked_file(self._path.parent)
        self._base = sqlite3.connect(self._partial, isolation_level=None)
        # The file has no name yet: what a crash leaves is deleted, not repaired.
        self._base.execute("PRAGMA journal_mode = OFF")
        self._base.execute("PRAGMA synchronous = OFF")
        self._base.execute(f"PRAGMA application_id = {_OURS}")
        self._base.execute("BEGIN")

    def close(self) -> None:
        """End the connection; without a commit, nothing is left."""
        self._base.close()
        with suppress(OSError):
            os.close(self._lock)
        self._partial.unlink(missing_ok=True)

    def commit(self) -> None:
        """Give the file its name."""
        with _asking("The target database"):
            self._base.execute("COMMIT")
            self._base.close()
        try:
            os.fsync(self._lock)
            if self._overwrite:
                self._partial.replace(self._path)
            else:
                rename_new(self._partial, self._path)
        except OSError as error:
            raise ReleaseError(
                f"The file can't be written: {error.strerror or 'the system refused'}."
            ) from None

    def named(self, table: str) -> str:
        """Return a table of the file as SQL names it."""
        return quoted_name(table)

    def number(self, query: str) -> int:
        """Return the one number that a query gives."""
        with _asking("The target database"):
            return int(self._base.execute(query).fetchone()[0])

    def create(self, tables: Sequence[WrittenTable]) -> None:
        """Make the tables, without rows; keys are part of their definitions."""
        for table in tables:
            with _asking("The target database"):
                self._base.execute(table.definition or _definition(table))

    def append(self, table: WrittenTable, frame: pl.DataFrame) -> None:
        """Add rows to a table."""
        names = [it.name for it in table.copied]
        marks = ", ".join("?" * len(names))
        with _asking("The target database"):
            self._base.executemany(
                f"INSERT INTO {self.named(table.name)} ({_listed(names)}) VALUES ({marks})",
                frame.with_columns(
                    frame[name].dt.to_string(_DATES[kind][1])
                    for name, kind in frame.schema.items()
                    if kind in _DATES
                ).rows(),
            )

    def finish(self, tables: Sequence[WrittenTable]) -> None:
        """Make indexes."""
        for table in tables:
            for each in table.constraints:
                if each.kind == "index":
                    with _asking("The target database"):
                        self._base.execute(each.definition)

    def frames(self, table: WrittenTable) -> Iterator[pl.DataFrame]:
        """Yield the rows of a table as they lie there."""
        query = f"SELECT {_listed(list(table.dtypes))} FROM {self.named(table.name)}"
        yield from _frames(self._base, query, table.dtypes, "The target database")


def _frames(
    base: sqlite3.Connection, query: str, schema: dict[str, pl.DataType], what: str
) -> Iterator[pl.DataFrame]:
    with _asking(what):
        cursor = base.execute(query)
        while rows := cursor.fetchmany(_CHUNK):
            try:
                frame = pl.DataFrame(
                    rows,
                    schema={n: pl.String() if it in _DATES else it for n, it in schema.items()},
                    orient="row",
                ).with_columns(
                    pl.col(name).str.strptime(kind, _DATES[kind][1])  # type: ignore[arg-type]
                    for name, kind in schema.items()
                    if kind in _DATES
                )
            except (TypeError, OverflowError, pl.exceptions.PolarsError):
                raise DataError(f"{what} has cells of other types than were expected.") from None
            yield frame


def _definition(table: WrittenTable) -> str:
    """Return CREATE TABLE for a table of which something changes."""
    columns = [
        f"{quoted_name(it.name)} {it.type}{it.clauses}{' NOT NULL' if it.is_not_null else ''}"
        for it in table.columns
    ]
    keys = [it.definition for it in table.constraints if it.kind == "key"]
    references = [it.definition for it in table.foreign_keys]
    return f"CREATE TABLE {quoted_name(table.name)} ({', '.join([*columns, *keys, *references])})"


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


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(quoted_name, names))
