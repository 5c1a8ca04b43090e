"""A schema of PostgreSQL as a source: its catalog, and its rows in one snapshot."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from halfmask._errors import DataError
from halfmask.data import quoted_name
from halfmask.data.io.postgres import PostgresColumn, PostgresConnection, literal, table_columns
from halfmask.databases import _postgres_catalog as catalog
from halfmask.databases._schema import Constraint, ForeignKey, TableColumn, TableSchema

if TYPE_CHECKING:
    from halfmask.data import DatabaseUrl

_KINDS: Final = {
    "p": "it is partitioned",
    "f": "it is a foreign table",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberSequence:
    """A sequence, what PostgreSQL calls it, and the column that owns it."""

    name: str
    described: str
    table: str | None
    column: str | None
    is_identity: bool
    options: str
    value: int
    is_called: bool


@dataclass(frozen=True, slots=True)
class _OwnType:
    """A type that not every PostgreSQL has."""

    is_here: bool
    schema: str
    described: str
    is_enum: bool
    is_of_extension: bool


@dataclass(frozen=True, slots=True)
class _Details:
    """What `DETAILS` says of a column; ``needs`` and ``uses`` in JSON."""

    is_not_null: bool
    identity: str
    generated: str
    default: str | None
    collation: str | None
    domain: str | None
    needs: str
    uses: str


class PostgresSource:
    """A schema of PostgreSQL that is read in one snapshot."""

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
        return self._connection.rows(query.format(schema=literal(quoted_name(self._schema))))

    def tables(self) -> list[TableSchema]:
        """Return the tables of the schema."""
        listed = self._rows(catalog.TABLES)
        names = {oid: name for oid, name, *_ in listed}
        keys, constraints = self._constraints(names)
        columns = self._columns(names)
        return [
            TableSchema(
                name=name,
                columns=tuple(columns[oid]),
                foreign_keys=tuple(keys[oid]),
                constraints=tuple(constraints[oid]),
                is_unlogged=is_unlogged,
                refused=_KINDS.get(kind, "it inherits, or is inherited from" if inherits else "")
                or next((key.definition for key in keys[oid] if not key.parent), ""),
            )
            for oid, name, kind, is_unlogged, inherits in listed
        ]

    def _columns(self, names: dict[int, str]) -> dict[int, list[TableColumn]]:
        """Return the columns of each table by its OID."""
        details = {(it[0], it[1]): _Details(*it[2:]) for it in self._rows(catalog.DETAILS)}
        types = {oid: _OwnType(*it) for oid, *it in self._rows(catalog.TYPES)}
        owned = {
            (it.table, it.column): it.described for it in self.sequences() if it.table is not None
        }
        found: dict[int, list[TableColumn]] = {oid: [] for oid in names}
        for oid, table in names.items():
            for reader in table_columns(self._connection, oid):
                self._readers[table, reader.name] = reader
                column = _column(reader, types.get(reader.made), details[oid, reader.name])
                sequence = owned.get((table, reader.name))
                if sequence is not None:
                    column = replace(column, needs=column.needs | {sequence})
                found[oid].append(column)
        return found

    def looked_at(self, table: TableSchema, columns: Collection[str]) -> TableSchema:
        """Return a table with what its cells say of their types; see `SourceDatabase`."""
        table = self._sized(table, columns)
        wanted = ((it.name, _odd(it)) for it in table.columns if it.name in columns)
        asked = {name: test for name, test in wanted if test is not None}
        if not asked:
            return table
        tests = ", ".join(f"coalesce(bool_or({test}), false)" for test, _ in asked.values())
        (found,) = self._connection.rows(f"SELECT {tests} FROM ONLY {self.named(table.name)}")
        odd = {name: asked[name][1] for name, is_odd in zip(asked, found, strict=True) if is_odd}
        for name in odd:
            reader = self._readers[table.name, name]
            self._readers[table.name, name] = replace(reader, base="", dtype=None)
        return replace(
            table,
            columns=tuple(
                replace(it, dtype=None, meant=None, odd=odd[it.name]) if it.name in odd else it
                for it in table.columns
            ),
        )

    def _sized(self, table: TableSchema, columns: Collection[str]) -> TableSchema:
        """Return a table with the size that its decimals of any size have."""
        any_size = [
            it.name
            for it in table.columns
            if it.name in columns
            and it.dtype is None
            and self._readers[table.name, it.name].base == "numeric"
        ]
        if not any_size:
            return table
        types = self._connection.decimal_types(f"ONLY {self.named(table.name)}", any_size)
        return replace(
            table,
            columns=tuple(
                it if it.name not in types else _sized(it, types[it.name]) for it in table.columns
            ),
        )

    def _constraints(
        self, names: dict[int, str]
    ) -> tuple[dict[int, list[ForeignKey]], dict[int, list[Constraint]]]:
        import json  # noqa: PLC0415 - used here alone

        keys: dict[int, list[ForeignKey]] = defaultdict(list)
        others: dict[int, list[Constraint]] = defaultdict(list)
        for oid, name, kind, text, valid, parent, inside, mine, its, used, needs in self._rows(
            catalog.CONSTRAINTS
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
                        needs=frozenset(json.loads(needs)),
                    )
                )
        for oid, name, text, is_plain, mine, needs in self._rows(catalog.INDEXES):
            others[oid].append(
                Constraint(
                    name=name,
                    definition=text,
                    columns=frozenset(json.loads(mine)),
                    kind="index",
                    is_plain=is_plain,
                    needs=frozenset(json.loads(needs)),
                )
            )
        return keys, others

    def enums(self) -> dict[str, tuple[str, tuple[str, ...]]]:
        """Return the name and the values of each enumeration, by what PostgreSQL calls it."""
        import json  # noqa: PLC0415 - used here alone

        found = self._rows(catalog.ENUMS)
        return {described: (name, tuple(json.loads(labels))) for name, described, labels in found}

    def others(self) -> list[str]:
        """Return what the schema has besides tables, as PostgreSQL calls it."""
        return sorted(described for (described,) in self._rows(catalog.OTHERS))

    def sequences(self) -> list[NumberSequence]:
        """Return the sequences of the schema, and how far they are."""
        found = []
        listed = self._rows(catalog.SEQUENCES)
        for name, described, table, column, how, kind, step, low, high, *rest in listed:
            start, cache, cycle = rest
            ((value, is_called),) = self._connection.rows(
                f"SELECT last_value, is_called FROM {quoted_name(name)}"
            )
            found.append(
                NumberSequence(
                    name=name,
                    described=described,
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
        asked = ", ".join(
            f"{it.folded(f'{quoted_name(it.name)}::text')} AS {quoted_name(it.name)}"
            if it.folds and it.name in masked
            else reader.expression
            for it, reader in zip(columns, readers, strict=True)
        )
        where = "" if kept is None else f" c JOIN {kept} k ON k.halfmask_row = c.ctid"
        query = f"SELECT {asked} FROM ONLY {self.named(table)}{where}"
        # Of other columns only decimals are parsed: the others come as they are copied.
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


def _odd(column: TableColumn) -> tuple[str, str] | None:
    """Return a test of cells that only their text holds, and what these are; None for no test."""
    name = quoted_name(column.name)
    if isinstance(column.dtype, pl.Date | pl.Datetime):
        return (
            f"{name} < '0001-01-01' OR {name} >= '10000-01-01'",
            "times that are infinite, before year 1 or after 9999",
        )
    if isinstance(column.dtype, pl.Time):
        return f"{name} = '24:00'", "times of 24:00"
    if isinstance(column.meant, pl.Decimal):
        return f"{name} IN ('NaN', 'Infinity', '-Infinity')", "decimals that are NaN or infinite"
    if isinstance(column.dtype, pl.Decimal):
        return f"{name} = 'NaN'", "decimals that are NaN"
    return None


def _sized(column: TableColumn, dtype: pl.Decimal | None) -> TableColumn:
    """Return a column of decimals of any size: a mask may write more digits before the point."""
    if dtype is None:
        return replace(column, odd="decimals of more than 38 digits")
    return replace(column, meant=pl.Decimal(38, dtype.scale))


def _column(reader: PostgresColumn, own: _OwnType | None, said: _Details) -> TableColumn:
    """Return a column of a table from what the catalog says of it."""
    import json  # noqa: PLC0415 - used here alone

    kind, refused = reader.type, ""
    lost = [] if said.domain is None else [f"domain {said.domain}"]
    if said.collation == "":
        lost.append("collation")
    if own is not None and own.is_of_extension:
        kind = f"{own.schema}.{kind}" if own.is_here else kind
    elif own is not None and own.is_here and not own.is_enum:
        refused = f"is of the {own.described}, which isn't copied"
    elif own is not None and not own.is_here:
        lost.append(f"copy of the {own.described}")
    return TableColumn(
        name=reader.name,
        type=kind,
        dtype=reader.dtype,
        collation=f" COLLATE {said.collation}" if said.collation else "",
        clauses=_clauses(said),
        is_not_null=said.is_not_null,
        is_generated=bool(said.generated),
        enum=own.described if own is not None and own.is_here and own.is_enum else "",
        needs=frozenset(json.loads(said.needs)),
        uses=frozenset(json.loads(said.uses)),
        lost=tuple(lost),
        meant=pl.Enum(reader.labels) if reader.labels else None,
        folds=("lower({})",) if reader.base == "citext" else (),
        refused=refused,
    )


def _clauses(said: _Details) -> str:
    """Return what CREATE TABLE says of a column's values."""
    if said.identity:
        return f" GENERATED {'ALWAYS' if said.identity == 'a' else 'BY DEFAULT'} AS IDENTITY"
    if said.generated:
        how = "STORED" if said.generated == "s" else "VIRTUAL"
        return f" GENERATED ALWAYS AS ({said.default}) {how}"
    return "" if said.default is None else f" DEFAULT {said.default}"
