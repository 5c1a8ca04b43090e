"""A file of SQLite as a target: a new file, which gets its name when it is whole."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from halfmask._errors import ReleaseError
from halfmask.data import quoted_name
from halfmask.data.io.atomic import locked_file, rename_new
from halfmask.databases._sqlite import COUNTED, DATES, asking, frames_of, listed

if TYPE_CHECKING:
    import polars as pl

    from halfmask.data import DatabaseUrl
    from halfmask.databases._schema import WrittenTable

#: The application's number in the header of a copy, by which it is known again, and its place.
_OURS: Final = int.from_bytes(b"hmsk", "big")
_ID_AT: Final = 68


class SqliteTarget:
    """A new file of SQLite, which gets its name when it is whole."""

    def __init__(self, url: DatabaseUrl, *, overwrite: bool) -> None:
        self._path, self._overwrite = Path(url.location).absolute(), overwrite
        if os.path.lexists(self._path) and not (overwrite and _is_copy(self._path)):
            raise ReleaseError(
                "The file to write exists.",
                hint="Choose another name, or allow an earlier copy by halfmask to be replaced, "
                "with [[overwrite=True|--overwrite]].",
            )
        if not self._path.parent.is_dir():
            raise ReleaseError(
                "The parent folder of the file to write doesn't exist.", hint="Create it first."
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
        with asking("The target database"):
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
        with asking("The target database"):
            return int(self._base.execute(query).fetchone()[0])

    def create(self, tables: Sequence[WrittenTable]) -> None:
        """Make the tables, without rows; keys are part of their definitions."""
        for table in tables:
            with asking("The target database"):
                self._base.execute(table.definition or _definition(table))

    def append(self, table: WrittenTable, frame: pl.DataFrame) -> None:
        """Add rows to a table."""
        names = [it.name for it in table.copied]
        marks = ", ".join("?" * len(names))
        with asking("The target database"):
            self._base.executemany(
                f"INSERT INTO {self.named(table.name)} ({listed(names)}) VALUES ({marks})",
                frame.with_columns(
                    frame[name].dt.to_string(DATES[kind][1])
                    for name, kind in frame.schema.items()
                    if kind in DATES
                ).rows(),
            )

    def finish(self, tables: Sequence[WrittenTable]) -> None:
        """Make indexes."""
        for table in tables:
            for each in table.constraints:
                if each.kind == "index":
                    with asking("The target database"):
                        self._base.execute(each.definition)

    def frames(self, table: WrittenTable) -> Iterator[pl.DataFrame]:
        """Yield the rows of a table as they lie there."""
        query = f"SELECT {listed(list(table.dtypes))} FROM {self.named(table.name)}"
        yield from frames_of(self._base, query, table.dtypes, "The target database")


def _is_copy(path: Path) -> bool:
    """Return whether a file is an earlier copy that nobody writes to."""
    journals = [path.with_name(f"{path.name}-{it}") for it in ("wal", "journal")]
    if not path.is_file() or any(map(os.path.lexists, journals)):
        return False
    with path.open("rb") as file:
        head = file.read(_ID_AT + 4)
    return head[_ID_AT:] == _OURS.to_bytes(4, "big")


def _definition(table: WrittenTable) -> str:
    """Return CREATE TABLE for a table of which something changes."""
    columns = [
        f"{quoted_name(it.name)} {it.type}{it.collation}{it.clauses}"
        f"{' NOT NULL' if it.is_not_null else ''}"
        for it in table.columns
    ]
    keys = [it.definition for it in table.constraints if it.kind == "key"]
    if any(it.name == COUNTED for it in table.constraints):
        keys[0] = f"{keys[0].removesuffix(')')} {COUNTED})"
    references = [it.definition for it in table.foreign_keys]
    return f"CREATE TABLE {quoted_name(table.name)} ({', '.join([*columns, *keys, *references])})"
