"""From a file to a trained model in one process: read, hash and learn side by side, in order."""

from __future__ import annotations

from queue import Queue
from threading import Thread
from typing import TYPE_CHECKING, Protocol

from halfmask._errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from halfmask.hashing import FileHasher, HashedRows, TableReading
    from halfmask.trainer.learner._learner import OnlineLearner
    from halfmask.trainer.learner._state import ProgressiveValidation

#: Batches that may wait to be learnt: with fewer, hashing stops where learning is held up a moment.
_WAITING = 6


class Learning(Protocol):
    """Whatever learns rows."""

    def learn(self, rows: HashedRows) -> ProgressiveValidation:
        """Learn rows in their order."""


def learn_file(
    learner: OnlineLearner,
    hasher: FileHasher,
    table: object,
    *,
    reading: TableReading | None = None,
) -> ProgressiveValidation:
    """Hash a table and learn from it batch by batch, without hashed rows on disk.

    Parameters
    ----------
    learner
        Has the bits of the hasher. It learns in a thread of its own, while the others read and
        hash what comes next.
    hasher
        Fitted with the label to learn.
    table, reading
        As of :meth:`halfmask.hashing.FileHasher.rows`.

    Returns
    -------
    Progress
        Of all rows of the table, each predicted before it was learnt.

    Raises
    ------
    DataError, SchemaError, ColumnNotFoundError, ParameterError
        If the table can't be read or hashed, or learner and hasher don't go together.
    DivergenceError
        If learning ran away.

    Guarantees
    ----------
    Rows are learnt in the table's order: with one thread of the learner, the same secret, table
    and settings give the same weights, bit by bit.

    Edge cases
    ----------
    After an error the learner has learnt the batches before; learn with a `copy` where that
    mustn't be.

    Examples
    --------
    >>> import polars as pl
    >>> from halfmask.hashing import FileHasher, HasherSettings
    >>> from halfmask.trainer.learner import OnlineLearner
    >>> from halfmask.vault import Secret
    >>> people = pl.DataFrame({"town": ["Bree", "Dale"] * 50, "pays": ["yes", "no"] * 50})
    >>> hasher = FileHasher.fit(
    ...     people, settings=HasherSettings(bits=10), secret=Secret.fresh(), label="pays"
    ... )
    >>> learn_file(OnlineLearner(bits=10), hasher, people).rows
    100
    """
    return learn_batches(learner, hasher.rows(table, labelled=True, reading=reading))


def learn_batches(learner: Learning, batches: Iterable[HashedRows]) -> ProgressiveValidation:
    """Learn batches in a thread, while the caller's makes the next ones."""
    queue: Queue[HashedRows | None] = Queue(maxsize=_WAITING)
    done: list[ProgressiveValidation] = []
    failed: list[BaseException] = []

    def work() -> None:
        while (rows := queue.get()) is not None:
            if failed:
                continue
            try:
                done.append(learner.learn(rows))
            except BaseException as error:  # noqa: BLE001 # it is the caller's to raise
                failed.append(error)

    thread = Thread(target=work, name="learn")
    thread.start()
    try:
        for rows in batches:
            if failed:
                break
            queue.put(rows)
    finally:
        queue.put(None)
        thread.join()
    if failed:
        raise failed[0]
    if not done:
        raise DataError("There are no rows to learn from.")
    return sum(done[1:], done[0])
