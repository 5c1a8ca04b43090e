"""A schema of PostgreSQL as a source: its catalog, and its rows in one snapshot."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from halfmask._errors import DataError
from halfmask.data import quoted_name
from halfmask.data._postgres import PostgresColumn, PostgresConnection, literal, table_columns
from halfmask.databases._schema import Constraint, ForeignKey, TableColumn, TableSchema

if TYPE_CHECKING:
    from halfmask.data import DatabaseUrl

__all__ = ["NumberSequence", "PostgresSource"]

_TABLES: Final = """
SELECT c.oid::int8, c.relname::text, c.relkind::text,
  EXISTS (SELECT 1 FROM pg_inherits i WHERE c.oid IN (i.inhrelid, i.inhparent))
FROM pg_class c WHERE c.relnamespace = {schema}::regnamespace AND c.relkind IN ('r', 'p', 'f')
ORDER BY c.relname COLLATE "C"
"""
_DETAILS: Final = """
SELECT a.attname::text, a.attnotnull, a.attidentity::text, a.attgenerated::text,
  pg_get_expr(d.adbin, d.adrelid),
  CASE WHEN a.attcollation <> t.typcollation
       THEN (SELECT quote_ident(n.nspname) || '.' || quote_ident(l.collname) FROM pg_collation l
             JOIN pg_namespace n ON n.oid = l.collnamespace WHERE l.oid = a.attcollation) END
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = {table} AND a.attnum > 0 AND NOT a.attisdropped
"""
_CONSTRAINTS: Final = """
SELECT c.conrelid::int8, c.conname::text, c.contype::text, pg_get_constraintdef(c.oid, true),
  c.convalidated, f.relname::text, f.relnamespace = {schema}::regnamespace,
  array_to_json(ARRAY(SELECT a.attname FROM unnest(c.conkey) WITH ORDINALITY k(n, i)
    JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.n ORDER BY k.i))::text,
  array_to_json(ARRAY(SELECT a.attname FROM unnest(c.confkey) WITH ORDINALITY k(n, i)
    JOIN pg_attribute a ON a.attrelid = c.confrelid AND a.attnum = k.n ORDER BY k.i))::text,
  array_to_json(ARRAY(SELECT a.attname FROM pg_attribute a
    LEFT JOIN pg_index i ON i.indexrelid = c.conindid AND c.contype = 'x'
    WHERE a.attrelid = c.conrelid AND a.attnum > 0 AND NOT a.attisdropped
      AND (c.conbin::text LIKE '%:varattno 0 %' OR {uses})))::text
FROM pg_constraint c JOIN pg_class r ON r.oid = c.conrelid
LEFT JOIN pg_class f ON f.oid = c.confrelid
WHERE r.relnamespace = {schema}::regnamespace AND c.contype IN ('p', 'u', 'f', 'c', 'x')
ORDER BY c.contype = 'f', c.conname COLLATE "C"
"""
_INDEXES: Final = """
SELECT i.indrelid::int8, r.relname::text, pg_get_indexdef(i.indexrelid, 0, true),
  i.indexprs IS NULL AND i.indpred IS NULL,
  array_to_json(ARRAY(SELECT a.attname FROM pg_attribute a
    WHERE a.attrelid = i.indrelid AND a.attnum > 0 AND NOT a.attisdropped
      AND (a.attnum = ANY(i.indkey::int2[]) OR {uses})))::text
FROM pg_index i JOIN pg_class r ON r.oid = i.indexrelid
WHERE r.relnamespace = {schema}::regnamespace AND i.indisvalid
  AND NOT EXISTS (SELECT 1 FROM pg_constraint c
                  WHERE c.conindid = i.indexrelid AND c.contype IN ('p', 'u', 'x'))
ORDER BY r.relname COLLATE "C"
"""
#: Whether an expression or a condition of an index uses a column, or the row as a whole.
_USES: Final = """(
  concat(i.indexprs::text, i.indpred::text) LIKE '%:varattno 0 %'
  OR EXISTS (SELECT 1 FROM pg_depend d WHERE d.classid = 'pg_class'::regclass
    AND d.objid = i.indexrelid AND d.refclassid = 'pg_class'::regclass
    AND d.refobjid = i.indrelid AND d.refobjsubid = a.attnum))
"""
_SEQUENCES: Final = """
SELECT s.relname::text, t.relname::text, a.attname::text, d.deptype::text,
  format_type(q.seqtypid, NULL), q.seqincrement::int8, q.seqmin::int8, q.seqmax::int8,
  q.seqstart::int8, q.seqcache::int8, q.seqcycle
FROM pg_class s JOIN pg_sequence q ON q.seqrelid = s.oid
LEFT JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = s.oid
  AND d.refclassid = 'pg_class'::regclass AND d.deptype IN ('a', 'i')
LEFT JOIN pg_class t ON t.oid = d.refobjid
LEFT JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
WHERE s.relnamespace = {schema}::regnamespace AND s.relkind = 'S'
ORDER BY s.relname COLLATE "C"
"""
_ENUMS: Final = """
SELECT t.typname::text, array_to_json(array_agg(e.enumlabel ORDER BY e.enumsortorder))::text
FROM pg_type t JOIN pg_enum e ON e.enumtypid = t.oid
WHERE t.typnamespace = {schema}::regnamespace GROUP BY t.typname ORDER BY 1
"""
_KINDS: Final = {
    "p": "it is partitioned",
    "f": "it is a foreign table",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberSequence:
    """A sequence, and the column that owns it."""

    name: str
    table: str | None
    column: str | None
    is_identity: bool
    options: str
    value: int
    is_called: bool


class PostgresSource:
    """A schema of PostgreSQL that is read in one snapshot.

    Parameters
    ----------
    url
        The database; ``schema`` of it is ``public`` if it isn't given.
    """

    row_id = "ctid"

    def __init__(self, url: DatabaseUrl) -> None:
        self._schema = url.schema or "public"
        self._connection = PostgresConnection(url, "The source database", reads=True)
        try:
            self._begin()
        except BaseException:
            self._connection.close()
            raise

    def _begin(self) -> None:
        found = self._connection.rows(
            f"SELECT 1 FROM pg_namespace WHERE nspname = {literal(self._schema)}"
        )
        if not found:
            raise DataError(
                "The source database has no schema of the given name.",
                hint="Give it as ?schema=NAME; capitals count.",
            )
        # What definitions say is then without the schema's name.
        self._connection.execute(f"SET LOCAL search_path = {quoted_name(self._schema)}")
        self._readers: dict[tuple[str, str], PostgresColumn] = {}

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        return self._connection.rows(
            query.format(schema=literal(quoted_name(self._schema)), uses=_USES)
        )

    def tables(self) -> list[TableSchema]:
        """Return the tables of the schema."""
        listed = self._rows(_TABLES)
        names = {oid: name for oid, name, _, _ in listed}
        keys, constraints = self._constraints(names)
        return [
            TableSchema(
                name=name,
                columns=tuple(self._columns(oid, name)),
                foreign_keys=tuple(keys[oid]),
                constraints=tuple(constraints[oid]),
                refused=_KINDS.get(kind, "it inherits, or is inherited from" if inherits else "")
                or next((key.definition for key in keys[oid] if not key.parent), ""),
            )
            for oid, name, kind, inherits in listed
        ]

    def _columns(self, oid: int, table: str) -> Iterator[TableColumn]:
        details = {it[0]: it[1:] for it in self._connection.rows(_DETAILS.format(table=oid))}
        for reader in table_columns(self._connection, oid):
            is_not_null, identity, generated, default, collation = details[reader.name]
            clauses = f" COLLATE {collation}" if collation else ""
            if identity:
                how = "ALWAYS" if identity == "a" else "BY DEFAULT"
                clauses += f" GENERATED {how} AS IDENTITY"
            elif generated:
                stored = " STORED" if generated == "s" else " VIRTUAL"
                clauses += f" GENERATED ALWAYS AS ({default}){stored}"
            elif default is not None:
                clauses += f" DEFAULT {default}"
            self._readers[table, reader.name] = reader
            yield TableColumn(
                name=reader.name,
                type=reader.type,
                dtype=reader.dtype,
                clauses=clauses,
                is_not_null=is_not_null,
                is_generated=bool(generated),
            )

    def _constraints(
        self, names: dict[int, str]
    ) -> tuple[dict[int, list[ForeignKey]], dict[int, list[Constraint]]]:
        import json  # noqa: PLC0415 - used here alone

        keys: dict[int, list[ForeignKey]] = defaultdict(list)
        others: dict[int, list[Constraint]] = defaultdict(list)
        for oid, name, kind, text, valid, parent, inside, mine, its, used in self._rows(
            _CONSTRAINTS
        ):
            columns = json.loads(mine)
            if kind == "f":
                outside = "its foreign key refers to another schema"
                keys[oid].append(
                    ForeignKey(
                        name=name,
                        table=names.get(oid, ""),
                        columns=tuple(columns),
                        parent=parent if inside else "",
                        parent_columns=tuple(json.loads(its)),
                        definition=text.removesuffix(" NOT VALID") if inside else outside,
                        is_valid=valid and "NOT ENFORCED" not in text,
                    )
                )
            else:
                others[oid].append(
                    Constraint(
                        name=name,
                        definition=text.removesuffix(" NOT VALID"),
                        columns=frozenset(columns) | frozenset(json.loads(used)),
                        kind="key" if kind in "pu" else "check",
                    )
                )
        for oid, name, text, is_plain, mine in self._rows(_INDEXES):
            others[oid].append(
                Constraint(
                    name=name,
                    definition=text,
                    columns=frozenset(json.loads(mine)),
                    kind="index",
                    is_plain=is_plain,
                )
            )
        return keys, others

    def enums(self) -> dict[str, tuple[str, ...]]:
        """Return the enumerations of the schema, and their values in order."""
        import json  # noqa: PLC0415 - used here alone

        return {name: tuple(json.loads(labels)) for name, labels in self._rows(_ENUMS)}

    def sequences(self) -> list[NumberSequence]:
        """Return the sequences of the schema, and how far they are."""
        found = []
        for name, table, column, how, kind, step, low, high, start, cache, cycle in self._rows(
            _SEQUENCES
        ):
            ((value, is_called),) = self._connection.rows(
                f"SELECT last_value, is_called FROM {quoted_name(name)}"
            )
            found.append(
                NumberSequence(
                    name=name,
                    table=table,
                    column=column,
                    is_identity=how == "i",
                    options=f"AS {kind} INCREMENT {step} MINVALUE {low} MAXVALUE {high}"
                    f" START {start} CACHE {cache}{'' if cycle else ' NO'} CYCLE",
                    value=value,
                    is_called=is_called,
                )
            )
        return found

    def frames(
        self, table: str, columns: Sequence[TableColumn], kept: str | None, masked: Collection[str]
    ) -> Iterator[pl.DataFrame]:
        """Yield some columns of a table; see `SourceDatabase`."""
        readers = [self._readers[table, it.name] for it in columns]
        asked = ", ".join(it.expression for it in readers)
        where = "" if kept is None else f" c JOIN {kept} k ON k.halfmask_row = c.ctid"
        query = f"SELECT {asked} FROM ONLY {self.named(table)}{where}"
        # Of copied columns only decimals are parsed: infinite times are times of PostgreSQL's.
        parsed = [it for it in readers if it.name in masked or isinstance(it.dtype, pl.Decimal)]
        for frame in self._connection.frames(query):
            yield frame.with_columns(it.cells(frame[it.name]) for it in parsed)

    def named(self, table: str) -> str:
        """Return a table of the schema as SQL names it."""
        return f"{quoted_name(self._schema)}.{quoted_name(table)}"

    def run(self, statement: str) -> None:
        """Run a statement that returns no rows."""
        self._connection.execute(statement)

    def number(self, query: str) -> int:
        """Return the one number that a query gives."""
        return int(self._connection.rows(query)[0][0])

    def order_key(self, key: bytes) -> str:
        """Return SQL that orders rows at random, the same for the same key."""
        made = hashlib.blake2b(key=key, digest_size=16, person=b"halfmask/subset").hexdigest()
        return f"md5(c.ctid::text || {literal(made)})"
