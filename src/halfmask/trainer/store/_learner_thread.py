"""The thread that learns: one for each model, in the order of its log."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from halfmask._errors import HalfmaskError
from halfmask.trainer.store._limits import RefusedError
from halfmask.trainer.store._queue import ExamplesJob, Receipt, RollbackJob, SnapshotJob, disk_full
from halfmask.trainer.store._snapshots import target_of

if TYPE_CHECKING:
    from halfmask.trainer.store._keys import KeyIndex
    from halfmask.trainer.store._limits import Limits
    from halfmask.trainer.store._log import ExampleLog
    from halfmask.trainer.store._queue import BatchQueue, Logged
    from halfmask.trainer.store._record import Mark, Record
    from halfmask.trainer.store._snapshots import Snapshot, Snapshots
    from halfmask.trainer.store._state import StoredState

#: After how many records, or seconds, keys go from memory to the index.
INDEX_RECORDS, INDEX_SECONDS = 2_048, 2.0


class LearnerThread:
    """Learns what is logged, makes snapshots, and keeps the index of keys."""

    def __init__(
        self,
        state: StoredState,
        queue: BatchQueue[Logged],
        *,
        log: ExampleLog,
        snapshots: Snapshots,
        index: KeyIndex,
        indexed: Callable[[list[Mark]], None],
        limits: Limits,
        rollback_targets: list[int],
    ) -> None:
        self.state = state
        self.failed = False
        self.snapshots_failed = 0
        self._queue = queue
        self._log = log
        self._snapshots = snapshots
        self._index = index
        self._indexed = indexed
        self._limits = limits
        self._waiting: list[Mark] = []
        self._since = 0
        self._last_index = time.monotonic()
        self._rollback_targets = rollback_targets
        self._thread = threading.Thread(target=self._run, name="learn", daemon=True)

    def start(self, waiting: list[Mark]) -> None:
        """Begin, with records that were learned when the model was opened, but aren't indexed."""
        self._waiting = list(waiting)
        self._since = sum(each.size for each in waiting)
        self._thread.start()

    def close(self) -> None:
        """Learn what is queued, make a snapshot of it, then end."""
        self._queue.close()
        self._thread.join()

    def _run(self) -> None:
        while (jobs := self._queue.take(most=64, seconds=INDEX_SECONDS)) is not None:
            for job, record in jobs:
                self._do(job, record)
            late = time.monotonic() - self._last_index > INDEX_SECONDS
            if len(self._waiting) >= INDEX_RECORDS or late:
                self._write_index()
        self._write_index()
        if self._since and not self.failed:
            self._snapshot(automatic=True)

    def _do(self, job: object, record: Record | None) -> None:
        """Do a job. If it fails, a restart learns it from the log."""
        try:
            if isinstance(job, ExamplesJob) and record is not None:
                self._learn(job, record)
            elif isinstance(job, RollbackJob) and record is not None:
                self._roll_back(job, record)
            elif isinstance(job, SnapshotJob):
                self._answer(job)
        except RefusedError as error:
            _refuse(job, error)  # nothing was touched
        except BaseException as error:  # noqa: BLE001 # a thread that dies would leave all waiting
            self.failed = True
            if not isinstance(job, ExamplesJob):
                _refuse(job, error)

    def _learn(self, job: ExamplesJob, record: Record) -> None:
        try:
            if not self.failed:
                self.state.take(job.entry, job.batch.parts)
                self.state.seq = record.seq
        finally:
            job.batch.lease.give_back()
        self._count(record)
        if self._since >= self._limits.snapshot_bytes and not self.failed:
            self._snapshot(automatic=True)

    def _roll_back(self, job: RollbackJob, record: Record) -> None:
        if self.failed:
            raise _stopped()
        snapshot, learner = self._snapshots.read(target_of(record))
        self.state.restore(learner, snapshot.metadata)
        self.state.seq = record.seq
        self._count(record)
        # So that a restart doesn't need the snapshot that was rolled back to.
        self._rollback_targets.append(snapshot.seq)
        self._snapshot(automatic=True)
        job.done.set_result(Receipt(seq=record.seq, rows=0))

    def _answer(self, job: SnapshotJob) -> None:
        if self.failed:
            raise _stopped()
        # Others may have come since this one was asked for.
        self._snapshots.check_room()
        made = self._snapshot(automatic=False)
        if made is None:
            raise RefusedError("The snapshot can't be written.", status=507, word="disk-full")
        job.done.set_result(made)

    def _count(self, record: Record) -> None:
        self._since += len(record.entry.body)
        self._waiting.append(record.mark())

    def _snapshot(self, *, automatic: bool) -> Snapshot | None:
        """Write a snapshot, and drop what it makes needless; None if it can't be written."""
        seq = self.state.seq
        known = {each.seq: each for each in self._snapshots.listed()}
        if seq in known and (automatic or not known[seq].automatic):
            self._release_targets()
            return known[seq]
        try:
            learner = self.state.learner.to_bytes()
            if not automatic:
                self._check_disk(len(learner))
            self._snapshots.write(
                seq, learner, automatic=automatic, made=time.time(), metadata=self.state.metadata()
            )
        except HalfmaskError:
            self.snapshots_failed += 1
            self._since = 0  # the next one comes after as much again, not after each batch
            return None
        self._release_targets()
        self._write_index()
        with suppress(OSError):
            self._snapshots.prune(keep=self._limits.snapshots_kept)
            kept = self._snapshots.listed()
            if kept and not self._limits.keep_log:
                oldest = kept[-self._limits.snapshots_kept :][0].seq
                self._log.drop_until(min(oldest, self._index.indexed))
            return next((each for each in kept if each.seq == seq), None)
        return None

    def _release_targets(self) -> None:
        """Release all held snapshots: a restart begins from a newer one."""
        self._since = 0
        while self._rollback_targets:
            self._snapshots.release(self._rollback_targets.pop())

    def _check_disk(self, size: int) -> None:
        """Leave room for examples: requests for snapshots could fill the disk."""
        if self._snapshots.free_bytes() < self._limits.free_bytes + size:
            raise disk_full()

    def _write_index(self) -> None:
        self._last_index = time.monotonic()
        waiting = self._waiting
        try:
            self._index.add(waiting)
        except HalfmaskError:
            return  # the disk is full, or a command holds the file: later
        self._waiting = []
        self._indexed(waiting)


def _refuse(job: object, error: BaseException) -> None:
    if isinstance(job, RollbackJob | SnapshotJob) and not job.done.done():
        job.done.set_exception(error if isinstance(error, HalfmaskError) else _stopped())


def _stopped() -> RefusedError:
    return RefusedError(
        "This model has stopped learning; what was acknowledged is on the disk.",
        status=503,
        word="stopped",
        hint="Restart the service: it learns from the log what it hasn't yet.",
    )
