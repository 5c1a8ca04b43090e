"""One model of a trainer: its log, its learner, and the threads between them."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halfmask.trainer.store._keys import BatchKeys, KeyIndex
from halfmask.trainer.store._learner_thread import LearnerThread
from halfmask.trainer.store._limits import RefusedError
from halfmask.trainer.store._log import ExampleLog
from halfmask.trainer.store._queue import (
    Batch,
    BatchQueue,
    Committer,
    ExamplesJob,
    Job,
    Logged,
    Receipt,
    RollbackJob,
    SnapshotJob,
)
from halfmask.trainer.store._record import CANARIES, EXAMPLES, ROLLBACK, Entry, Mark
from halfmask.trainer.store._snapshots import LOG, SNAPSHOTS, Snapshot, Snapshots, recover
from halfmask.trainer.store._state import DEFENCES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from halfmask.hashing import HashedRows
    from halfmask.trainer.store._database import Database
    from halfmask.trainer.store._limits import Limits

#: How many snapshots and rollbacks of one model may be waited for at once.
_MAX_ASKED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """What is listed of a model.

    Parameters
    ----------
    id
        The name of its folder.
    tenant, name
        Whose it is, and what its tenant calls it.
    settings
        The learner's.
    created
        Seconds since 1970.
    """

    id: str
    tenant: str
    name: str
    settings: dict[str, Any]
    created: float


class Model:
    """A model that learns what it acknowledged, in the order of its log.

    Parameters
    ----------
    facts
        What is listed of it.
    folder
        Where its log and snapshots lie.
    database
        Where its keys are listed.
    limits
        What bounds it.
    flushed
        Called with the requests and seconds of each flush to the disk.

    Raises
    ------
    IntegrityError
        If something that was on the disk is missing or was altered.

    Guarantees
    ----------
    A receipt confirms that the batch is on the disk. After a death of the process at any point, a
    new `Model` of the same folder has learned each batch with a receipt once, in the order of the
    log, and its weights are those of a replay of the log, bit by bit.
    """

    def __init__(
        self,
        facts: ModelFacts,
        folder: Path,
        *,
        database: Database,
        limits: Limits,
        flushed: Callable[[int, float], None],
    ) -> None:
        self.facts = facts
        self._limits = limits
        self._log = ExampleLog(folder / LOG, segment_bytes=limits.segment_bytes)
        self._snapshots = Snapshots(folder / SNAPSHOTS)
        index = KeyIndex(database, facts.id)
        self._keys = BatchKeys(index)
        waiting: list[Mark] = []
        rollback_targets: list[int] = []

        def seen(mark: Mark) -> None:
            waiting.append(mark)
            self._keys.remember(mark)

        def needed(seq: int) -> None:
            self._snapshots.hold(seq)
            rollback_targets.append(seq)

        self.state = recover(
            facts.settings,
            self._log,
            self._snapshots,
            indexed=index.indexed,
            seen=seen,
            needed=needed,
        )
        self.unindexed = list(waiting)
        self._learned: BatchQueue[Logged] = BatchQueue()
        self._learner_thread = LearnerThread(
            self.state,
            self._learned,
            log=self._log,
            snapshots=self._snapshots,
            index=index,
            indexed=self._keys.indexed,
            limits=limits,
            rollback_targets=rollback_targets,
        )
        self._committer = Committer(
            self._log,
            folder,
            self._learned,
            remember=self._remember,
            forget=self._forget,
            flushed=flushed,
            free_bytes=limits.free_bytes,
        )
        self._has_canaries = self.state.canaries > 0
        self._learner_thread.start(waiting)
        self._committer.start()
        self._asking, self._asked = threading.Lock(), 0
        self._closing = threading.Lock()
        self._closed = False

    @property
    def logged(self) -> int:
        """The number of the last record that is on the disk."""
        return self._log.last_seq

    @property
    def learned(self) -> int:
        """The number of the last record that is learned."""
        return self.state.seq

    @property
    def stopped(self) -> bool:
        """Whether learning has failed; what is acknowledged is learned after a restart."""
        return self._learner_thread.failed

    @property
    def defences(self) -> dict[str, Any] | None:
        """What it is defended by, as JSON holds it; None where it isn't."""
        return self.facts.settings.get(DEFENCES)

    @property
    def guard(self) -> dict[str, Any] | None:
        """What judges by canaries, as JSON holds it; None without one."""
        return (self.defences or {}).get("guard")

    def disk_bytes(self) -> int:
        """Return how much of the disk its log and snapshots take."""
        return self._log.size + sum(each.size for each in self._snapshots.listed())

    def submit(
        self, batch: Batch, *, admit: Callable[[], None] = lambda: None
    ) -> tuple[Future[Receipt], bool]:
        """Take a batch; return its receipt to be, and whether it had come before.

        Parameters
        ----------
        batch
            The batch; its lease is the model's from here on.
        admit
            Called for a new batch alone; what it raises is raised, and nothing is taken.

        Raises
        ------
        RefusedError
            409 for examples of a model whose guard has no canaries, 422 if another batch came under
            the same key, 503 if the model is being closed or has stopped learning.
        """
        if self.stopped:
            raise _closed()
        if batch.entry.kind == EXAMPLES and self.guard is not None and not self._has_canaries:
            raise RefusedError(
                "This model's guard has no canaries yet; nothing is learned without them.",
                status=409,
                word="no-canaries",
                hint="The owner of the model sends them: POST .../canaries.",
            )
        job = ExamplesJob(batch=batch)
        if batch.entry.key:
            before = self._keys.claim(job)
            if before is not None:
                batch.lease.give_back()
                return before, True
        try:
            admit()
            self._hand_over(job)
        except BaseException as error:
            self._keys.forget(batch.entry)
            # Another request may wait for this one under the same key.
            job.done.set_exception(error)
            raise
        return job.done, False

    def predict(self, rows: HashedRows) -> NDArray[np.float32]:
        """Return what the learner expects of rows.

        Parameters
        ----------
        rows
            The rows to predict.
        """
        return self.state.predict(rows)

    def snapshot(self) -> Future[Snapshot]:
        """Make a snapshot of all that was acknowledged so far."""
        self._snapshots.check_room()
        job = SnapshotJob()
        self._ask(job)
        return job.done

    def snapshots(self) -> list[Snapshot]:
        """Return its snapshots, the oldest first."""
        return self._snapshots.listed()

    def delete_snapshot(self, seq: int) -> None:
        """Remove a snapshot that no restart and no rollback needs.

        Parameters
        ----------
        seq
            The sequence number of the snapshot.
        """
        self._snapshots.remove(seq)

    def roll_back(self, seq: int, client: bytes) -> Future[Receipt]:
        """Go back to a snapshot, after all acknowledged rows were learned.

        Parameters
        ----------
        seq
            The sequence number of the snapshot.
        client
            The client that asks for it, for the log.
        """
        self._snapshots.hold(seq)
        try:
            # What is logged has to be done: a damaged one would stop the model for good.
            self._snapshots.read(seq)
            job = self._rollback(seq, client)
            self._ask(job)
        except BaseException:
            self._snapshots.release(seq)
            raise
        return job.done

    @staticmethod
    def _rollback(seq: int, client: bytes) -> RollbackJob:
        body = str(seq).encode()
        entry = Entry(
            kind=ROLLBACK, body=body, checksum=zlib.crc32(body), rows=0, client=client, key=b""
        )
        return RollbackJob(entry=entry)

    def close(self) -> None:
        """Log and learn what is queued, make a snapshot, and end the threads."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
            self._committer.close()
            self._learner_thread.close()
            self._log.close()

    def _remember(self, mark: Mark) -> None:
        """Know what is in the log now, before its receipt is given."""
        if mark.kind == CANARIES:
            self._has_canaries = True
        self._keys.remember(mark)

    def _forget(self, job: ExamplesJob | RollbackJob) -> None:
        """Forget what couldn't be logged."""
        if isinstance(job, RollbackJob):
            self._snapshots.release(int(job.entry.body))
        else:
            self._keys.forget(job.entry)

    def _ask(self, job: RollbackJob | SnapshotJob) -> None:
        """Hand over what is written whole each time, and only so many of them."""
        with self._asking:
            if self._asked >= _MAX_ASKED:
                raise RefusedError(
                    "This model has as many snapshots and rollbacks to do as it takes at once.",
                    status=429,
                    word="busy",
                    retry_after=1.0,
                )
            self._hand_over(job)
            self._asked += 1
        job.done.add_done_callback(self._answered)

    def _answered(self, _: object) -> None:
        with self._asking:
            self._asked -= 1

    def _hand_over(self, job: Job) -> None:
        if not self._committer.queue.put(job):
            raise _closed()


def _closed() -> RefusedError:
    return RefusedError(
        "This model takes no examples now; the service is stopping, or learning has failed.",
        status=503,
        word="stopped",
        retry_after=5.0,
    )
