"""A file of SQLite in a private folder, which several processes write whole or not at all."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from halfmask._errors import HalfmaskError, IntegrityError, ParameterError, VaultError
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
    from pathlib import Path

#: How long a process waits for others that write at the same time, in seconds.
PATIENCE: Final = 120.0
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")

_NO_ROOM: Final = frozenset(
    {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_TOOBIG}
)

Run: TypeAlias = Callable[..., sqlite3.Cursor]


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateDatabase:
    """A file of SQLite that several processes write, each change whole and in turn.

    ``what`` is its name in words, as in ``"ledger"``; ``unwritten`` says what a failed change
    didn't do, and ``made_by`` how the file is made.

    Notes
    -----
    **Guarantees.** `writing` holds the file from its first statement (``BEGIN IMMEDIATE``) to its
    end, so that no other process reads a sum that is about to change. When it has ended, what was
    written is on the disk (``synchronous=EXTRA``); a process that dies before has written nothing.
    """

    path: Path = field(repr=False)
    what: str
    schema: Sequence[str] = field(repr=False)
    version: int
    unwritten: str
    made_by: str

    def create(self, fill: Callable[[Run], object]) -> None:
        """Make the file, and fill it before anybody sees it."""
        folder = self.path.parent
        with keeping(self._named):
            check_parent(folder, what=f"the {self.what}'s folder")
            with suppress(FileExistsError):
                folder.mkdir(mode=0o700)
            check_private_folder(folder, what=f"{self._named}'s folder")
            # A death before it is filled leaves an empty file, which is made again.
            with suppress(FileExistsError):
                write_private(self.path, b"")
                sync_folder(folder)
        with self.writing(made=False) as run:
            if run("PRAGMA user_version").fetchone()[0]:
                raise VaultError(
                    f"The vault has a {self.what} of that data set already.",
                    hint=f"A {self.what} is made once. Open it, or name another data set.",
                )
            for statement in self.schema:
                run(statement)
            fill(run)
            run(f"PRAGMA user_version = {self.version}")

    @contextmanager
    def writing(self, *, made: bool = True) -> Iterator[Run]:
        """Yield a function that runs a statement; all are kept together, or none."""
        with self._connected(made=made) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection.execute
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def rows(self, statement: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        """Return all rows that a statement finds."""
        with self._connected(made=True) as connection:
            return connection.execute(statement, values).fetchall()

    @property
    def _named(self) -> str:
        return f"The {self.what}"

    @contextmanager
    def _connected(self, *, made: bool) -> Iterator[sqlite3.Connection]:
        """Yield a connection of this call alone: none outlives a fork or goes to a thread."""
        with keeping(self._named):
            try:
                check_private_folder(self.path.parent, what=f"{self._named}'s folder")
                check_private_file(self.path, what=self._named)
            except FileNotFoundError:
                raise VaultError(
                    f"The vault has no {self.what} of that data set, or isn't there.",
                    hint="Check the path of the vault and the data set's name. "
                    f"{self.made_by} makes a {self.what}.",
                ) from None
        with self._in_our_words(), closing(self._open()) as connection:
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.execute("PRAGMA secure_delete = ON")
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if made and version != self.version:
                raise IntegrityError(
                    f"{self._named} is of another version of halfmask, or damaged."
                )
            yield connection

    def _open(self) -> sqlite3.Connection:
        uri = f"{self.path.as_uri()}?mode=rw"
        return sqlite3.connect(uri, uri=True, timeout=PATIENCE, isolation_level=None)

    @contextmanager
    def _in_our_words(self) -> Iterator[None]:
        """Turn SQLite's errors into ours."""
        try:
            yield
        except HalfmaskError:
            raise
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
                raise VaultError(
                    f"{self._named} is in use by other processes for too long. {self.unwritten}",
                    hint="Ask again later.",
                ) from None
            if code in _NO_ROOM:
                raise VaultError(
                    f"{self._named} can't be written. {self.unwritten}",
                    hint="Check the disk's room, and that the folder is yours.",
                ) from None
            raise IntegrityError(f"{self._named} can't be read: it is damaged.") from None


def place_of(vault: str | Path, dataset: str, *, what: str, owner: str) -> Path:
    """Return where the file of a data set lies in a vault: ``DATASET.ledger``."""
    check_word(dataset, owner=owner, parameter="dataset")
    return absolute(vault) / f"{dataset}.{what}"


def check_word(name: object, *, owner: str, parameter: str) -> None:
    """Raise unless it is a name that a file can have everywhere."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ParameterError(
            f"The {parameter!r} parameter of {owner} must be up to 64 letters, digits, "
            "'_', '.' and '-'."
        )
