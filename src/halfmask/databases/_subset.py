"""A subset of a database: some rows of one table, and all that references lead to."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from halfmask._errors import DataError
from halfmask._validation import rows_of_share
from halfmask.data import quoted_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halfmask.databases._policy import SubsetSection
    from halfmask.databases._schema import ForeignKey, SourceDatabase, TargetDatabase


def check_references(source: SourceDatabase, keys: Sequence[ForeignKey]) -> None:
    """Raise if a reference of the source leads to no row."""
    for key in keys:
        if key.is_valid:
            continue
        found = source.number(dangling(source, key))
        if found:
            raise DataError(
                f"The foreign key {key.name!r} of the table {key.table!r} leads nowhere in {found} "
                f"rows: the table {key.parent!r} lacks them.",
                hint="Correct these rows in the source, or drop the column.",
            )


def dangling(database: SourceDatabase | TargetDatabase, key: ForeignKey) -> str:
    """Return a query that counts the rows whose reference leads to no row."""
    there = " AND ".join(f"c.{quoted_name(it)} IS NOT NULL" for it in key.columns)
    return (
        f"SELECT count(*) FROM {database.named(key.table)} c WHERE {there} AND NOT EXISTS "
        f"(SELECT 1 FROM {database.named(key.parent)} p WHERE {_joined(key)})"
    )


def _joined(key: ForeignKey) -> str:
    pairs = zip(key.columns, key.parent_columns, strict=True)
    # The first decides whether case matters in SQLite: as in the reference, that of the parent.
    return " AND ".join(f"p.{quoted_name(its)} = c.{quoted_name(mine)}" for mine, its in pairs)


def kept_rows(
    source: SourceDatabase,
    subset: SubsetSection,
    tables: Sequence[str],
    keys: Sequence[ForeignKey],
    key: bytes,
) -> dict[str, str]:
    """Choose the rows of a subset, and list them in temporary tables of the source.

    Notes
    -----
    **Guarantees.** Each reference of a kept row leads to a kept row.

    The rows are those of the table that is named; those that refer to them, and so on, each table
    once, in the order of its distance; then all that any kept row refers to. A table that neither
    way reaches keeps the rows all of whose references are kept.
    """
    return _Kept(source, tables, keys).choose(subset, key)


@contextmanager
def _asking(subset: SubsetSection) -> Iterator[None]:
    """Turn the hint of a refused query to the condition, which is the user's own SQL."""
    try:
        yield
    except DataError as error:
        if subset.where is None:
            raise
        raise DataError(
            f"The rows of [subset] can't be chosen by its 'where'. {error.what}",
            hint=f"Try it in the database: SELECT count(*) FROM {quoted_name(subset.table)} WHERE "
            "and the condition.",
        ) from None


class _Kept:
    """The kept rows of each table, in temporary tables."""

    def __init__(
        self, source: SourceDatabase, tables: Sequence[str], keys: Sequence[ForeignKey]
    ) -> None:
        self._source, self._tables, self._keys = source, tables, keys
        self._lists = {name: f"halfmask_kept_{n}" for n, name in enumerate(tables)}

    def choose(self, subset: SubsetSection, key: bytes) -> dict[str, str]:
        with _asking(subset):
            self._list(subset.table, self._chosen(subset, key))
        for name in self._tables:
            if name != subset.table:
                self._list(name, "WHERE 1 = 0")
        if not self._count(subset.table):
            raise DataError(
                "The subset has no row of its table.",
                hint="Take a larger fraction, or another condition.",
            )
        reached = self._go_down(subset.table)
        reached |= self._go_up()
        self._restrict([name for name in self._tables if name not in reached])
        return self._lists

    def _list(self, table: str, where: str) -> None:
        self._source.run(
            f"CREATE TEMPORARY TABLE {self._lists[table]} AS SELECT c.{self._source.row_id} AS "
            f"halfmask_row FROM {self._source.named(table)} c {where}"
        )

    def _chosen(self, subset: SubsetSection, key: bytes) -> str:
        """Return the condition of the rows to begin with."""
        row, named = self._source.row_id, self._source.named(subset.table)
        where = "" if subset.where is None else f"WHERE ({subset.where})"
        if subset.fraction is None and subset.limit is None:
            return where
        n = subset.limit
        if n is None:
            rows = self._source.number(f"SELECT count(*) FROM {named} c {where}")
            n = max(1, rows_of_share(subset.fraction or 0, rows, nearest=True))
        drawn = f"SELECT c.{row} FROM {named} c {where} ORDER BY {self._source.order_key(key)}"
        return f"WHERE c.{row} IN ({drawn} LIMIT {n})"

    def _go_down(self, root: str) -> set[str]:
        """Keep the rows that refer to kept rows: each table once, the nearest first."""
        reached, level = {root}, {root}
        while level:
            level = {key.table for key in self._keys if key.parent in level} - reached
            for key in self._keys:
                if key.table in level and key.parent in reached:
                    self._add(key, down=True)
            reached |= level
        return reached

    def _go_up(self) -> set[str]:
        """Keep the rows that kept rows refer to, until there is no other."""
        reached, changed = set(), set(self._tables)
        while changed:
            before = {name: self._count(name) for name in self._tables}
            for key in self._keys:
                if key.table in changed:
                    self._add(key, down=False)
                    reached.add(key.parent)
            changed = {name for name in self._tables if self._count(name) > before[name]}
        return {name for name in reached if self._count(name)}

    def _restrict(self, tables: Sequence[str]) -> None:
        """Keep the rows of other tables all of whose references are kept."""
        row = self._source.row_id
        for name in tables:
            self._source.run(
                f"INSERT INTO {self._lists[name]} SELECT c.{row} FROM {self._source.named(name)} c"
            )
        rows = -1
        while rows != (rows := sum(map(self._count, tables))):
            for key in self._keys:
                if key.table in tables:
                    self._source.run(self._without_lost(key))

    def _without_lost(self, key: ForeignKey) -> str:
        """Return a statement that drops rows whose reference isn't kept."""
        row = self._source.row_id
        there = " AND ".join(f"c.{quoted_name(it)} IS NOT NULL" for it in key.columns)
        return (
            f"DELETE FROM {self._lists[key.table]} WHERE halfmask_row IN (SELECT c.{row} "
            f"FROM {self._source.named(key.table)} c WHERE {there} AND NOT EXISTS (SELECT 1 "
            f"FROM {self._source.named(key.parent)} p JOIN {self._lists[key.parent]} k "
            f"ON k.halfmask_row = p.{row} WHERE {_joined(key)}))"
        )

    def _add(self, key: ForeignKey, *, down: bool) -> None:
        """Add the rows at one end of a reference whose other end is kept."""
        row = self._source.row_id
        new, old = ("c", "p") if down else ("p", "c")
        added = self._lists[key.table if down else key.parent]
        from_ = self._lists[key.parent if down else key.table]
        self._source.run(
            f"INSERT INTO {added} SELECT DISTINCT {new}.{row} "
            f"FROM {self._source.named(key.table)} c "
            f"JOIN {self._source.named(key.parent)} p ON {_joined(key)} "
            f"JOIN {from_} k ON k.halfmask_row = {old}.{row} "
            f"WHERE {new}.{row} NOT IN (SELECT halfmask_row FROM {added})"
        )

    def _count(self, name: str) -> int:
        return self._source.number(f"SELECT count(*) FROM {self._lists[name]}")
