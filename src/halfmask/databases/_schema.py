"""What a database says of its tables: columns, keys, and what refers to what."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import polars as pl

    from halfmask.masks import TableMask


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumn:
    """A column of a table."""

    name: str
    type: str
    dtype: pl.DataType | None
    collation: str = ""
    clauses: str = ""
    is_not_null: bool = False
    is_generated: bool = False
    enum: str = ""
    needs: frozenset[str] = frozenset()
    uses: frozenset[str] = frozenset()
    lost: tuple[str, ...] = ()
    dates: pl.DataType | None = None
    folds: bool = False
    odd: str = ""
    refused: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignKey:
    """A reference of one table's columns to another's."""

    name: str
    table: str
    columns: tuple[str, ...]
    parent: str
    parent_columns: tuple[str, ...]
    definition: str
    is_valid: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """A constraint or an index, and the columns that it looks at."""

    name: str
    definition: str
    columns: frozenset[str]
    kind: str
    is_plain: bool = True
    needs: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSchema:
    """A table of a database."""

    name: str
    columns: tuple[TableColumn, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    definition: str = ""
    is_unlogged: bool = False
    refused: str = ""

    def column(self, name: str) -> TableColumn:
        """Return a column by its name."""
        return next(it for it in self.columns if it.name == name)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenTable:
    """A table in the copy."""

    name: str
    columns: tuple[TableColumn, ...]
    masked: frozenset[str] = frozenset()
    foreign_keys: tuple[ForeignKey, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    definition: str = ""
    is_unlogged: bool = False
    masks: tuple[TableMask, ...] = ()

    @property
    def copied(self) -> tuple[TableColumn, ...]:
        """The columns whose cells are written."""
        return tuple(it for it in self.columns if not it.is_generated)

    @property
    def needs(self) -> frozenset[str]:
        """The enumerations, sequences and others that its definition needs."""
        of_columns = (it.needs | {it.enum} for it in self.columns)
        return frozenset[str]().union(*of_columns, *(it.needs for it in self.constraints))

    @property
    def dtypes(self) -> dict[str, pl.DataType]:
        """The type of the cells of each column that is written; text where there is none."""
        import polars as pl  # noqa: PLC0415 - half a second

        return {it.name: it.dtype or pl.String() for it in self.copied}


class SourceDatabase(Protocol):
    """A database that is read, all of it in one snapshot."""

    row_id: str
    """The name of what tells the rows of a table apart."""

    def tables(self) -> list[TableSchema]:
        """Return the tables of the schema."""

    def looked_at(self, table: TableSchema, columns: Collection[str]) -> TableSchema:
        """Return a table with what its cells say of their types."""

    def others(self) -> list[str]:
        """Return what the schema has besides tables: views, triggers, and what clauses need."""

    def frames(
        self, table: str, columns: Sequence[TableColumn], kept: str | None, masked: Collection[str]
    ) -> Iterator[pl.DataFrame]:
        """Yield some columns of a table, in frames."""

    def named(self, table: str) -> str:
        """Return a table of the schema as SQL names it."""

    def run(self, statement: str) -> None:
        """Run a statement that returns no rows."""

    def number(self, query: str) -> int:
        """Return the one number that a query gives."""

    def order_key(self, key: bytes) -> str:
        """Return SQL that orders rows at random, the same for the same key."""

    def close(self) -> None:
        """End the connection."""


class TargetDatabase(Protocol):
    """A database that is written, whole or not at all."""

    def create(self, tables: Sequence[WrittenTable]) -> None:
        """Make the tables, without rows."""

    def append(self, table: WrittenTable, frame: pl.DataFrame) -> None:
        """Add rows to a table."""

    def finish(self, tables: Sequence[WrittenTable]) -> None:
        """Make keys, indexes and references."""

    def frames(self, table: WrittenTable) -> Iterator[pl.DataFrame]:
        """Yield the rows of a table as they lie there."""

    def named(self, table: str) -> str:
        """Return a table of the schema as SQL names it."""

    def number(self, query: str) -> int:
        """Return the one number that a query gives."""

    def commit(self) -> None:
        """Let what was written be there."""

    def close(self) -> None:
        """End the connection; without a commit, nothing is left."""
