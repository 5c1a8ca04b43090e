"""The file of a ledger: SQLite in a private folder, written whole or not at all."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Final

from halfmask._errors import HalfmaskError, IntegrityError, VaultError
from halfmask.vault.private_files import (
    absolute,
    check_parent,
    check_private_file,
    check_private_folder,
    keeping,
    sync_folder,
    write_private,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

#: How long a process waits for others that book at the same time, in seconds.
_PATIENCE: Final = 120.0
_VERSION: Final = 1
_WHAT: Final = "The ledger"
_SCHEMA: Final = (
    "CREATE TABLE budget (only INTEGER PRIMARY KEY CHECK (only = 1), terms TEXT NOT NULL)",
    "CREATE TABLE analysts (name TEXT PRIMARY KEY, epsilon REAL NOT NULL)",
    """
    CREATE TABLE charges (
        number INTEGER PRIMARY KEY, booked TEXT NOT NULL, purpose TEXT NOT NULL, analyst TEXT,
        question TEXT, epsilon REAL NOT NULL, events TEXT NOT NULL, answer TEXT
    )
    """,
    "CREATE INDEX charges_by_question ON charges (question, epsilon)",
)


class LedgerFile:
    """A file of SQLite that several processes write, each change whole and in turn.

    Notes
    -----
    **Guarantees.** `writing` holds the file from its first statement (``BEGIN IMMEDIATE``) to its
    end, so that no other process reads a sum that is about to change. When it has ended, what was
    written is on the disk (``synchronous=EXTRA``); a process that dies before has written nothing.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = absolute(path)

    def create(self, terms: str) -> None:
        """Make the file, with the terms of its budget."""
        folder = self._path.parent
        with keeping(_WHAT):
            check_parent(folder, what="the ledger's folder")
            with suppress(FileExistsError):
                folder.mkdir(mode=0o700)
            check_private_folder(folder, what="The ledger's folder")
            # A death before the terms are there leaves an empty file, which is made again.
            with suppress(FileExistsError):
                write_private(self._path, b"")
                sync_folder(folder)
        with self.writing(made=False) as run:
            if run("PRAGMA user_version").fetchone()[0]:
                raise VaultError(
                    "The vault has a ledger of that data set already.",
                    hint="A budget is set once. Open it, or name another data set.",
                )
            for statement in _SCHEMA:
                run(statement)
            run("INSERT INTO budget VALUES (1, ?)", (terms,))
            run(f"PRAGMA user_version = {_VERSION}")

    @contextmanager
    def writing(self, *, made: bool = True) -> Iterator[Callable[..., sqlite3.Cursor]]:
        """Yield a function that runs a statement; all are kept together, or none."""
        with self._connected(made=made) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection.execute
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def rows(self, statement: str, values: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
        """Return all rows that a statement finds."""
        with self._connected(made=True) as connection:
            return connection.execute(statement, values).fetchall()

    @contextmanager
    def _connected(self, *, made: bool) -> Iterator[sqlite3.Connection]:
        """Yield a connection of this call alone: none outlives a fork or goes to a thread."""
        with keeping(_WHAT):
            try:
                check_private_folder(self._path.parent, what="The ledger's folder")
                check_private_file(self._path, what=_WHAT)
            except FileNotFoundError:
                raise VaultError(
                    "The vault has no ledger of that data set, or isn't there.",
                    hint="Check the path of the vault and the data set's name. "
                    "halfmask budget set makes a ledger.",
                ) from None
        with _in_our_words(), closing(self._open()) as connection:
            connection.execute("PRAGMA synchronous = EXTRA")
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if made and version != _VERSION:
                raise IntegrityError("The ledger is of another version of halfmask, or damaged.")
            yield connection

    def _open(self) -> sqlite3.Connection:
        uri = f"{self._path.as_uri()}?mode=rw"
        return sqlite3.connect(uri, uri=True, timeout=_PATIENCE, isolation_level=None)


@contextmanager
def _in_our_words() -> Iterator[None]:
    """Turn SQLite's errors into ours."""
    try:
        yield
    except HalfmaskError:
        raise
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            raise VaultError(
                "The ledger is in use by other processes for too long. Nothing was charged.",
                hint="Ask again later.",
            ) from None
        if code in {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY}:
            raise VaultError(
                "The ledger can't be written. Nothing was charged.",
                hint="Check the disk's room, and that the folder is yours.",
            ) from None
        raise IntegrityError("The ledger can't be read: it is damaged.") from None
