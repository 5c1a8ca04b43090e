"""A schema of PostgreSQL as a target: made, filled, exchanged and closed in one transaction."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from halfmask._errors import HalfmaskError, ReleaseError, SchemaError
from halfmask.data import quoted_name
from halfmask.data.io.postgres import PostgresConnection, literal, text_of
from halfmask.databases._faults import raise_all

if TYPE_CHECKING:
    from halfmask.data import DatabaseUrl
    from halfmask.databases._postgres_source import NumberSequence, PostgresSource
    from halfmask.databases._schema import TableColumn, WrittenTable
    from halfmask.masks import Mask, TableMask

_STAGE: Final = "halfmask_stage"
#: The comment of a table by which a copy is known again.
_OURS: Final = "A masked copy by halfmask"
#: What a schema holds, but what belongs to a table or an extension: its kind, its name, and whether
#: it is a table of a copy.
_THERE: Final = f"""
WITH there(classid, oid, kind, name) AS (
  SELECT 'pg_class'::regclass, c.oid, CASE c.relkind WHEN 'r' THEN 'TABLE' WHEN 'S' THEN 'SEQUENCE'
    WHEN 'p' THEN 'TABLE' WHEN 'f' THEN 'TABLE' ELSE 'VIEW' END, c.relname::text
  FROM pg_class c WHERE c.relnamespace = {{schema}}::regnamespace
    AND c.relkind NOT IN ('i', 'I', 't')
  UNION ALL SELECT 'pg_type'::regclass, t.oid, 'TYPE', t.typname::text
  FROM pg_type t WHERE t.typnamespace = {{schema}}::regnamespace AND t.typrelid = 0
    AND t.typcategory <> 'A'
)
SELECT kind, name, coalesce(obj_description(oid, 'pg_class') = '{_OURS}', false)
FROM there WHERE NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.classid = there.classid
  AND d.objid = there.oid AND d.deptype = 'e')
"""
#: What the new copy would break or lack: views, functions and references of others that need a
#: table, and rules of which rows a user sees.
_LOST: Final = """
SELECT count(*) FILTER (WHERE d.objid IS NOT NULL), count(*) FILTER (WHERE c.relrowsecurity)
FROM pg_class c
LEFT JOIN (pg_depend d LEFT JOIN pg_constraint k
             ON d.classid = 'pg_constraint'::regclass AND k.oid = d.objid
           LEFT JOIN pg_class o ON o.oid = k.conrelid)
  ON d.refclassid = 'pg_class'::regclass AND d.refobjid = c.oid AND d.deptype = 'n'
  AND (d.classid IN ('pg_rewrite'::regclass, 'pg_proc'::regclass)
       OR o.relnamespace <> c.relnamespace)
WHERE c.relnamespace = {schema}::regnamespace AND c.relkind = 'r'
"""
#: Statements that give rights on tables, columns and sequences again.
_RIGHTS: Final = """
SELECT c.relname::text, a.attname::text,
  format('GRANT %s%s ON %s %s.%I TO %s%s', r.privilege_type, ' (' || quote_ident(a.attname) || ')',
    CASE c.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, {schema}, c.relname,
    CASE r.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(r.grantee)) END,
    CASE WHEN r.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
FROM pg_class c
CROSS JOIN LATERAL (SELECT NULL::name, c.relacl UNION ALL SELECT t.attname, t.attacl
  FROM pg_attribute t WHERE t.attrelid = c.oid AND NOT t.attisdropped) a(attname, acl)
CROSS JOIN LATERAL aclexplode(a.acl) r
WHERE c.relnamespace = {schema}::regnamespace AND c.relkind IN ('r', 'S')
"""
#: Statements that take what default privileges gave to others than the owner.
_GIVEN: Final = """
SELECT DISTINCT c.relname::text, NULL, format('REVOKE ALL ON %s %s.%I FROM %s',
  CASE c.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, {schema}, c.relname,
  CASE r.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(r.grantee)) END)
FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) r
WHERE c.relnamespace = {schema}::regnamespace AND c.relkind IN ('r', 'S')
  AND r.grantee <> c.relowner
"""
_COLUMNS: Final = """
SELECT c.relname::text, a.attname::text FROM pg_class c
CROSS JOIN LATERAL (SELECT NULL::name UNION ALL
  SELECT t.attname FROM pg_attribute t WHERE t.attrelid = c.oid) a(attname)
WHERE c.relnamespace = {schema}::regnamespace
"""
#: How often, and for how long each time, the exchange waits for those who read the old copy. Others
#: who come then wait behind it: so it is tried for a short time, and often.
_TRIES: Final = 60
_WAIT: Final = "5s"
_TYPES: Final[dict[pl.DataType, str]] = {
    pl.String(): "text",
    pl.Boolean(): "boolean",
    pl.Int8(): "smallint",
    pl.Int16(): "smallint",
    pl.Int32(): "integer",
    pl.Int64(): "bigint",
    pl.UInt8(): "smallint",
    pl.UInt16(): "integer",
    pl.UInt32(): "bigint",
    pl.Float32(): "real",
    pl.Float64(): "double precision",
    pl.Date(): "date",
    pl.Time(): "time without time zone",
    pl.Datetime("us"): "timestamp without time zone",
    pl.Datetime("us", "UTC"): "timestamp with time zone",
}
#: Small numbers that PostgreSQL has no type for, and what they are written as.
_WIDER: Final[dict[pl.DataType, pl.DataType]] = {
    pl.Int8(): pl.Int16(),
    pl.UInt8(): pl.Int16(),
    pl.UInt16(): pl.Int32(),
    pl.UInt32(): pl.Int64(),
}
#: Types whose binary form is their text.
_TEXTS: Final = re.compile(r"(?:text|json|name|character(?: varying)?(?:\(\d+\))?)")


#: Masks that write values of their column alone.
_OWN_VALUES: Final = frozenset(
    {
        "data-shuffling", "local-suppression", "pram", "rank-swapping", "record-swapping",
        "stratified-pram",
    }
)  # fmt: skip
_LIMITED: Final = re.compile(r"character(?: varying)?\((\d+)\)")


def postgres_type(column: TableColumn, dtype: pl.DataType, mask: Mask | TableMask) -> str:
    """Return the type of a masked column: the same if what the mask writes always fits into it."""
    if isinstance(dtype, pl.String):
        return column.type if _fits(column.type, mask) else "text"
    if dtype == column.dtype:
        return column.type
    if isinstance(dtype, pl.Decimal):
        return f"numeric({dtype.precision},{dtype.scale})"
    if dtype not in _TYPES:
        raise SchemaError(
            f"The mask of the column {column.name!r} writes {dtype}, for which PostgreSQL has no "
            "type.",
            hint="Take another mask.",
        )
    return _TYPES[dtype]


def _fits(kind: str, mask: Mask | TableMask) -> bool:
    """Return whether a type of texts holds all that a mask writes."""
    limit = _LIMITED.fullmatch(kind)
    if limit is None:
        return kind in {"text", "character varying"}
    if mask.name in _OWN_VALUES or mask.name == "format-preserving":
        return True
    longest = {
        "token": getattr(mask, "digits", None),
        "redact": len(getattr(mask, "text", None) or ""),
    }
    length = longest.get(mask.name)
    return length is not None and length <= int(limit[1])


class PostgresTarget:
    """A new schema of PostgreSQL that is written in one transaction."""

    def __init__(self, url: DatabaseUrl, source: PostgresSource, *, overwrite: bool) -> None:
        self._schema = self._target = url.schema or "public"
        self._overwrite = overwrite
        self._enums, self._sequences = source.enums(), source.sequences()
        self._connection = PostgresConnection(url, "The target database", reads=False)
        try:
            self._begin()
        except BaseException:
            self._connection.close()
            raise
        self._staged = ""

    def _begin(self) -> None:
        name = literal(self._target)
        if not self._connection.rows(f"SELECT 1 FROM pg_namespace WHERE nspname = {name}"):
            self._connection.execute(f"CREATE SCHEMA {quoted_name(self._target)}")
        elif self._earlier():
            # Nobody sees this schema: it is made and dropped in this transaction.
            self._schema = f"halfmask_{secrets.token_hex(8)}"
            with self._connection.about("the schema for the new copy"):
                self._connection.execute(f"CREATE SCHEMA {self._schema}")
        self._connection.execute(f"SET LOCAL search_path = {quoted_name(self._schema)}")

    def _rows(self, query: str, schema: str) -> list[tuple[Any, ...]]:
        return self._connection.rows(query.format(schema=literal(quoted_name(schema))))

    def _earlier(self) -> list[tuple[str, str]]:
        """Return the kinds and names of an earlier copy; raise if it can't be replaced."""
        there = self._rows(_THERE, self._target)
        tables = [is_ours for kind, _, is_ours in there if kind == "TABLE"]
        if there and not (self._overwrite and tables and all(tables)):
            raise ReleaseError(
                "The schema to write exists in the target database, and isn't empty.",
                hint="Name a new one, as in ?schema=masked, or allow an earlier copy by halfmask "
                "to be replaced, with [[overwrite=True|--overwrite]].",
            )
        ((needed, guarded),) = self._rows(_LOST, self._target)
        if needed:
            raise ReleaseError(
                "Something else needs the earlier copy, such as a view.",
                hint="Drop that first, or copy into a new schema.",
            )
        if guarded:
            raise ReleaseError(
                "Tables of the earlier copy have row-level security, which the new one would lack.",
                hint="Disable it, or copy into a new schema.",
            )
        return [(kind, name) for kind, name, _ in there]

    def close(self) -> None:
        """End the connection; without a commit, nothing is left."""
        self._connection.close()

    def commit(self) -> None:
        """Let what was written be there."""
        if self._schema != self._target:
            self._exchange()
        self._connection.commit()

    def _exchange(self) -> None:
        """Put the new copy in the place of the earlier one, with the rights on its tables."""
        old = self._locked()
        rights = self._rows(_RIGHTS, self._target)
        for kind in ("TABLE", "SEQUENCE", "TYPE"):
            names = ", ".join(self._named_old(name) for it, name in old if it == kind)
            if names:
                self._connection.execute(f"DROP {kind} IF EXISTS {names}")
        # Sequences that a column owns move with its table.
        for kind in ("TABLE", "SEQUENCE", "TYPE"):
            for it, name, _ in self._rows(_THERE, self._schema):
                if it == kind:
                    schema = quoted_name(self._target)
                    self._connection.execute(f"ALTER {kind} {self.named(name)} SET SCHEMA {schema}")
        self._connection.execute(f"DROP SCHEMA {self._schema}")
        there = set(self._rows(_COLUMNS, self._target))
        names_before = {name for _, name in old}
        given = [it for it in self._rows(_GIVEN, self._target) if it[0] in names_before]
        for table, column, statement in [*given, *rights]:
            if (table, column) in there:
                self._connection.execute(statement)

    def _locked(self) -> list[tuple[str, str]]:
        """Return what the earlier copy has, once nobody reads its tables any more."""
        self._connection.execute(f"SET LOCAL lock_timeout = {literal(_WAIT)}")
        fault, old = None, list[tuple[str, str]]()
        for _ in range(_TRIES):
            old = self._earlier()
            names = ", ".join(self._named_old(name) for kind, name in old if kind == "TABLE")
            lock = f"LOCK TABLE {names} IN ACCESS EXCLUSIVE MODE"
            fault = self._connection.tried(lock) if names else None
            if fault is None:
                break
        raise_all([] if fault is None else [fault])
        return old

    def _named_old(self, name: str) -> str:
        return f"{quoted_name(self._target)}.{quoted_name(name)}"

    def named(self, table: str) -> str:
        """Return a table of the schema as SQL names it."""
        return f"{quoted_name(self._schema)}.{quoted_name(table)}"

    def number(self, query: str) -> int:
        """Return the one number that a query gives."""
        return int(self._connection.rows(query)[0][0])

    def create(self, tables: Sequence[WrittenTable]) -> None:
        """Make the tables, without rows."""
        needs = frozenset[str]().union(*(it.needs for it in tables))
        for described, (name, labels) in self._enums.items():
            if described in needs:
                listed = ", ".join(map(literal, labels))
                self._connection.execute(f"CREATE TYPE {quoted_name(name)} AS ENUM ({listed})")
        self._sequences = [it for it in self._sequences if it.described in needs]
        for each in self._sequences:
            if not each.is_identity:
                self._connection.execute(f"CREATE SEQUENCE {quoted_name(each.name)} {each.options}")
        identities = {(it.table, it.column): it for it in self._sequences if it.is_identity}
        for table in tables:
            columns = ", ".join(
                _declared(it, identities.get((table.name, it.name))) for it in table.columns
            )
            kind = "UNLOGGED TABLE" if table.is_unlogged else "TABLE"
            with self._connection.about(f"the table {table.name!r}"):
                self._connection.execute(f"CREATE {kind} {self.named(table.name)} ({columns})")
                self._connection.execute(
                    f"COMMENT ON TABLE {self.named(table.name)} IS {literal(_OURS)}"
                )

    def append(self, table: WrittenTable, frame: pl.DataFrame) -> None:
        """Add rows to a table by COPY; types without a binary form of ours go by their text."""
        forms = {it.name: self._form(it) for it in table.copied}
        rows = frame.with_columns(_encoded(cells, forms[cells.name]) for cells in frame)
        with self._connection.about(f"the table {table.name!r}"):
            if all(forms.values()):
                self._connection.append(table.name, _arrow(rows), schema=self._schema)
            else:
                self._append_staged(table, rows, forms)

    def _append_staged(
        self, table: WrittenTable, rows: pl.DataFrame, forms: Mapping[str, str | None]
    ) -> None:
        if self._staged != table.name:
            self._stage(table, forms)
        self._connection.append(_STAGE, _arrow(rows), schema=None)
        names = ", ".join(quoted_name(it.name) for it in table.copied)
        cells = ", ".join(f"{quoted_name(it.name)}::{it.type}" for it in table.copied)
        self._connection.execute(
            f"INSERT INTO {self.named(table.name)} ({names}) OVERRIDING SYSTEM VALUE"
            f" SELECT {cells} FROM pg_temp.{_STAGE}"
        )
        self._connection.execute(f"TRUNCATE pg_temp.{_STAGE}")

    def _form(self, column: TableColumn) -> str | None:
        """Return how the cells of a column are written in binary; ``None`` if only as text."""
        kind = column.type
        if kind in {"uuid", "jsonb", "bytea"}:
            return kind
        if column.dtype is None or column.dtype == pl.String:
            is_text = _TEXTS.fullmatch(kind) or (column.enum and column.dtype is not None)
            return "text" if is_text else None
        return "plain"

    def _stage(self, table: WrittenTable, forms: Mapping[str, str | None]) -> None:
        """Make a temporary table whose odd columns are text."""
        self._connection.execute(f"DROP TABLE IF EXISTS pg_temp.{_STAGE}")
        columns = ", ".join(
            f"{quoted_name(it.name)} {it.type if forms[it.name] else 'text'}" for it in table.copied
        )
        self._connection.execute(f"CREATE TEMPORARY TABLE {_STAGE} ({columns})")
        self._staged = table.name

    def finish(self, tables: Sequence[WrittenTable]) -> None:
        """Make keys, indexes, references and sequences."""
        faults: list[HalfmaskError] = []
        for table in tables:
            for rule in table.constraints:
                place = f"{rule.kind} {rule.name!r} of the table {table.name!r}"
                text = rule.definition
                if rule.kind != "index":
                    text = self._constraint(table.name, rule.name, rule.definition)
                faults += self._tried(f"the {place}", text)
        raise_all(faults)
        for table in tables:
            for key in table.foreign_keys:
                place = f"the reference {key.name!r} of the table {table.name!r}"
                faults += self._tried(place, self._constraint(table.name, key.name, key.definition))
        raise_all(faults)
        for each in self._sequences:
            self._set(each)

    def _tried(self, place: str, statement: str) -> list[HalfmaskError]:
        """Run a statement; return its error, so that those of others are told, too."""
        with self._connection.about(place):
            fault = self._connection.tried(statement)
            return [] if fault is None else [fault]

    def _constraint(self, table: str, name: str, definition: str) -> str:
        return f"ALTER TABLE {self.named(table)} ADD CONSTRAINT {quoted_name(name)} {definition}"

    def _set(self, each: NumberSequence) -> None:
        name = quoted_name(each.name)
        if each.is_identity:
            name = (
                f"pg_get_serial_sequence({literal(self.named(each.table or ''))},"
                f" {literal(each.column or '')})"
            )
        else:
            name = literal(f"{quoted_name(self._schema)}.{name}")
            if each.table is not None:
                owner = f"{self.named(each.table)}.{quoted_name(each.column or '')}"
                self._connection.execute(f"ALTER SEQUENCE {self.named(each.name)} OWNED BY {owner}")
        called = "true" if each.is_called else "false"
        self._connection.rows(f"SELECT setval({name}, {each.value}, {called})")

    def frames(self, table: WrittenTable) -> Iterator[pl.DataFrame]:
        """Yield the rows of a table as they lie there."""
        asked = ", ".join(_asked(it) for it in table.copied)
        for frame in self._connection.frames(f"SELECT {asked} FROM {self.named(table.name)}"):
            yield frame.select(frame[name].cast(dtype) for name, dtype in table.dtypes.items())


def _declared(column: TableColumn, identity: NumberSequence | None) -> str:
    """Return a column as CREATE TABLE says it."""
    clauses = column.clauses
    if identity is not None and clauses:
        clauses += f" ({identity.options.partition(' ')[2].partition(' ')[2]})"
    null = " NOT NULL" if column.is_not_null else ""
    return f"{quoted_name(column.name)} {column.type}{column.collation}{clauses}{null}"


def _encoded(cells: pl.Series, form: str | None) -> pl.Series:
    """Return cells in the binary form of PostgreSQL's type, where Arrow has none for it."""
    if form == "uuid":
        return cells.str.replace_all("-", "", literal=True).str.decode("hex")
    if form == "bytea":
        return cells.str.slice(2).str.decode("hex")
    if form == "jsonb":
        return ("\x01" + cells).cast(pl.Binary).alias(cells.name)
    return cells.cast(_WIDER.get(cells.dtype, cells.dtype))


def _asked(column: TableColumn) -> str:
    """Return what SELECT asks for, so that what is read back is of the type that was written."""
    name = quoted_name(column.name)
    native = column.dtype is not None and not isinstance(column.dtype, pl.String | pl.Decimal)
    return name if native else text_of(column.name, column.type)


def _arrow(frame: pl.DataFrame) -> Any:  # noqa: ANN401 - pyarrow has no types
    import pyarrow as pa  # noqa: PLC0415 - heavy

    table = frame.to_arrow()
    # ADBC has no time of nanoseconds.
    fields = [
        pa.field(it.name, pa.time64("us")) if pa.types.is_time64(it.type) else it
        for it in table.schema
    ]
    return table.cast(pa.schema(fields))
