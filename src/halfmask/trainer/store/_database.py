"""What a trainer lists: models, tokens, idempotency keys, and how much each client has sent."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from halfmask.trainer.store._limits import RefusedError

VERSION = 1
_SCHEMA = """
CREATE TABLE models (
    id TEXT PRIMARY KEY, tenant TEXT NOT NULL, name TEXT NOT NULL, settings TEXT NOT NULL,
    created REAL NOT NULL, indexed INTEGER NOT NULL DEFAULT 0, deleted INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX models_by_name ON models (tenant, name) WHERE deleted = 0;
CREATE TABLE keys (
    model TEXT NOT NULL, client BLOB NOT NULL, key BLOB NOT NULL, seq INTEGER NOT NULL,
    checksum INTEGER NOT NULL, bytes INTEGER NOT NULL, rows INTEGER NOT NULL,
    PRIMARY KEY (model, client, key)
) WITHOUT ROWID;
CREATE INDEX keys_by_age ON keys (model, seq);
CREATE TABLE usage (
    client BLOB NOT NULL, model TEXT NOT NULL, rows INTEGER NOT NULL, bytes INTEGER NOT NULL,
    PRIMARY KEY (client, model)
) WITHOUT ROWID;
CREATE TABLE tokens (
    id BLOB PRIMARY KEY, digest BLOB NOT NULL, client TEXT NOT NULL, tenant TEXT NOT NULL,
    scopes TEXT NOT NULL, requests_per_second REAL, rows_per_second REAL, rows_quota INTEGER,
    max_weight REAL, created REAL NOT NULL, expires REAL, revoked INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
"""


class Database:
    """One connection to SQLite, which threads use one at a time.

    Guarantees
    ----------
    What `writing` wrote is on the disk when its block has ended, all of it or nothing.
    """

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(
            path, timeout=5.0, isolation_level=None, check_same_thread=False
        )
        with _described_errors():
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=FULL")
            with self.writing() as run:
                (version,) = run("PRAGMA user_version").fetchone()
                if not version:
                    for statement in _SCHEMA.split(";\n"):
                        run(statement)
                    run(f"PRAGMA user_version = {VERSION}")
                elif version != VERSION:
                    raise RefusedError(
                        "The folder was made by another version of halfmask.",
                        status=503,
                        word="version",
                    )
        path.chmod(0o600)

    @contextmanager
    def writing(self) -> Iterator[Any]:
        """Yield a function that runs a statement; what it writes is kept whole or not at all."""
        with self._lock, _described_errors():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection.execute
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return all rows that a statement finds."""
        with self._lock, _described_errors():
            return self._connection.execute(statement, values).fetchall()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()


@contextmanager
def _described_errors() -> Iterator[None]:
    """Turn SQLite's errors into ours: a client can do nothing about most of them but wait."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}:
            raise RefusedError(
                "The disk of the trainer is full.", status=507, word="disk-full"
            ) from None
        if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            raise RefusedError(
                "The trainer's lists are in use.", status=503, word="busy", retry_after=1.0
            ) from None
        raise RefusedError(
            "The trainer's lists can't be read.",
            status=503,
            word="broken",
            hint="The operator of the service has to restore its folder from the last backup.",
        ) from None
