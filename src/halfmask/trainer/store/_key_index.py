"""Which idempotency keys a model has seen, and how much each client has sent it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.trainer.store._record import EXAMPLES, Mark

if TYPE_CHECKING:
    from halfmask.trainer.store._database import Database

#: Keys of older batches are forgotten: a client doesn't retry after a million others.
KEYS_KEPT = 1_000_000


class KeyIndex:
    """The index of one model's log by key. The log is the truth: what isn't indexed is replayed.

    Guarantees
    ----------
    Everything up to `indexed` is in it, each record once, whenever the process dies.
    """

    def __init__(self, database: Database, model: str) -> None:
        self._database = database
        self._model = model
        rows = database.rows("SELECT indexed FROM models WHERE id = ?", (model,))
        self.indexed = int(rows[0][0]) if rows else 0

    def find(self, client: bytes, key: bytes) -> Mark | None:
        """Return the batch that came under a client's key."""
        found = self._database.rows(
            "SELECT seq, checksum, bytes, rows FROM keys "
            "WHERE model = ? AND client = ? AND key = ?",
            (self._model, client, key),
        )
        if not found:
            return None
        seq, checksum, size, rows = found[0]
        return Mark(
            seq=seq,
            kind=EXAMPLES,
            client=client,
            key=key,
            checksum=checksum,
            size=size,
            rows=rows,
        )

    def add(self, marks: list[Mark]) -> None:
        """Index records, in the order of the log."""
        marks = [each for each in marks if each.seq > self.indexed]
        if not marks:
            return
        with self._database.writing() as run:
            for mark in marks:
                if mark.kind != EXAMPLES:
                    continue
                run(
                    "INSERT INTO usage VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE "
                    "SET rows = rows + excluded.rows, bytes = bytes + excluded.bytes",
                    (mark.client, self._model, mark.rows, mark.size),
                )
                if mark.key:
                    values = (mark.client, mark.key, mark.seq, mark.checksum, mark.size, mark.rows)
                    run(
                        "INSERT OR REPLACE INTO keys VALUES (?, ?, ?, ?, ?, ?, ?)",
                        (self._model, *values),
                    )
            last = marks[-1].seq
            run("DELETE FROM keys WHERE model = ? AND seq <= ?", (self._model, last - KEYS_KEPT))
            run("UPDATE models SET indexed = ? WHERE id = ?", (last, self._model))
        self.indexed = last
