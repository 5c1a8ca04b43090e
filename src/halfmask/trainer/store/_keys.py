"""Which batches a model has, by key: on the way, in memory, in the index of the older ones."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING

from halfmask.trainer.store._limits import RefusedError
from halfmask.trainer.store._queue import ExamplesJob, Receipt
from halfmask.trainer.store._record import EXAMPLES, Entry, Mark

if TYPE_CHECKING:
    from halfmask.trainer.store._database import Database


class BatchKeys:
    """Tells a batch that came before from a new one.

    Guarantees
    ----------
    Of all that come under one client's key, one is new, as long as that one is on its way to the
    log or in it. If it can't be logged, the next is new.
    """

    def __init__(self, index: KeyIndex) -> None:
        self._index = index
        self._lock = threading.Lock()
        self._known: dict[tuple[bytes, bytes], ExamplesJob | Mark] = {}
        self._moved = 0

    def claim(self, job: ExamplesJob) -> Future[Receipt] | None:
        """Return None for a new batch, or what becomes of the one that came before."""
        entry = job.entry
        while True:
            moved = self._moved
            found: ExamplesJob | Mark | None = self._index.find(entry.client, entry.key)
            with self._lock:
                # Between the two looks, keys may have gone from memory to the index.
                if found is None and moved != self._moved:
                    continue
                if found is None:
                    found = self._known.setdefault((entry.client, entry.key), job)
            return None if found is job else _same(found, entry)

    def remember(self, mark: Mark) -> None:
        """Know a record that isn't in the index yet."""
        if mark.key:
            with self._lock:
                self._known[mark.client, mark.key] = mark

    def forget(self, entry: Entry) -> None:
        """Drop what couldn't be logged, or what is in the index now."""
        with self._lock:
            self._known.pop((entry.client, entry.key), None)

    def indexed(self, marks: list[Mark]) -> None:
        """Drop from memory what is in the index now."""
        with self._lock:
            self._moved += 1
            for mark in marks:
                self._known.pop((mark.client, mark.key), None)


def _same(found: ExamplesJob | Mark, entry: Entry) -> Future[Receipt]:
    """Return the receipt of a batch that came before, if it is the same batch."""
    if isinstance(found, Mark):
        fingerprint = (found.checksum, found.size, found.rows)
    else:
        fingerprint = (found.entry.checksum, len(found.entry.body), found.entry.rows)
    if fingerprint != (entry.checksum, len(entry.body), entry.rows):
        raise RefusedError(
            "Another batch came under the same Idempotency-Key.",
            status=422,
            word="key-reused",
            hint="A key belongs to one body: send the same bytes again, or use another key.",
        )
    if isinstance(found, Mark):
        known: Future[Receipt] = Future()
        known.set_result(Receipt(seq=found.seq, rows=found.rows))
        return known
    return found.done


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
            seq=seq, kind=EXAMPLES, client=client, key=key, checksum=checksum, size=size, rows=rows
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
