"""Batches and their receipts, and the thread that commits those that wait in a queue."""

from __future__ import annotations

import errno
import shutil
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from halfmask._errors import HalfmaskError
from halfmask.trainer.store._limits import RefusedError
from halfmask.trainer.store._record import Mark, Record

if TYPE_CHECKING:
    from halfmask.hashing import HashedRows
    from halfmask.trainer.store._limits import Lease
    from halfmask.trainer.store._log import ExampleLog
    from halfmask.trainer.store._record import Entry
    from halfmask.trainer.store._snapshots import Snapshot


def _started() -> Future[Any]:
    """Return a future that can't be cancelled: logged batches stay logged."""
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()
    return future


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The acknowledgement of a batch that is on the disk.

    Parameters
    ----------
    seq
        Its number in the log of the model.
    rows
        How many rows it has.
    repeated
        Whether it had come before, under the same key.
    """

    seq: int
    rows: int
    repeated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A body that was read and checked."""

    parts: tuple[HashedRows, ...]
    entry: Entry
    lease: Lease


@dataclass(frozen=True, slots=True, kw_only=True)
class ExamplesJob:
    """A batch on its way to the log, and to the learner."""

    batch: Batch
    done: Future[Receipt] = field(default_factory=_started)

    @property
    def entry(self) -> Entry:
        """How it is logged."""
        return self.batch.entry


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackJob:
    """A rollback to a snapshot, which is logged like a batch."""

    entry: Entry
    done: Future[Receipt] = field(default_factory=_started)


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotJob:
    """A snapshot of all that was acknowledged before."""

    done: Future[Snapshot] = field(default_factory=_started)


Item = TypeVar("Item")


class BatchQueue(Generic[Item]):
    """What several threads put in and one takes out, all that there is at once.

    Examples
    --------
    >>> queue = BatchQueue()
    >>> queue.put(1), queue.put(2)
    (True, True)
    >>> queue.take(most=10)
    [1, 2]
    >>> queue.close()
    >>> queue.put(3), queue.take(most=10)
    (False, None)
    """

    def __init__(self) -> None:
        self._items: list[Item] = []
        self._closed = False
        self._changed = threading.Condition()

    def put(self, item: Item) -> bool:
        """Put an item in; return False where the queue is closed."""
        with self._changed:
            if self._closed:
                return False
            self._items.append(item)
            self._changed.notify()
            return True

    def take(self, *, most: int, seconds: float | None = None) -> list[Item] | None:
        """Wait for items; return up to `most`, none if time is up, None if closed and empty."""
        with self._changed:
            self._changed.wait_for(lambda: self._items or self._closed, seconds)
            if not self._items:
                return None if self._closed else []
            taken, self._items = self._items[:most], self._items[most:]
            return taken

    def close(self) -> None:
        """Take nothing more in; what is in it can still be taken out."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
#: The most requests of one flush.
MAX_TOGETHER = 256

Job: TypeAlias = ExamplesJob | RollbackJob | SnapshotJob
Logged: TypeAlias = tuple[Job, Record | None]


class Committer:
    """Takes jobs in the order in which they come, logs them, and hands them on in that order."""

    def __init__(
        self,
        log: ExampleLog,
        folder: Path,
        learner: BatchQueue[Logged],
        *,
        remember: Callable[[Mark], None],
        forget: Callable[[ExamplesJob | RollbackJob], None],
        flushed: Callable[[int, float], None],
        free_bytes: int,
    ) -> None:
        self._log = log
        self._folder = folder
        self._learner = learner
        self._remember = remember
        self._forget = forget
        self._flushed = flushed
        self._free_bytes = free_bytes
        self.queue: BatchQueue[Job] = BatchQueue()
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """Log what is queued, then end."""
        self.queue.close()
        self._thread.join()
        # They are the model's, and hold it: its weights are to be free at once, not when Python
        # looks for circles the next time.
        del self._remember, self._forget

    def _run(self) -> None:
        while (jobs := self.queue.take(most=MAX_TOGETHER)) is not None:
            logged = [job for job in jobs if not isinstance(job, SnapshotJob)]
            try:
                records = self._written(logged)
            except BaseException as error:  # noqa: BLE001 # waiting requests must be answered
                self._refuse(logged, error)
                records = {}
            for job in jobs:
                if isinstance(job, SnapshotJob):
                    self._learner.put((job, None))
                elif id(job) in records:
                    record = records[id(job)]
                    self._remember(record.mark())
                    self._learner.put((job, record))
                    if isinstance(job, ExamplesJob):
                        job.done.set_result(Receipt(seq=record.seq, rows=job.entry.rows))

    def _written(self, jobs: list[ExamplesJob | RollbackJob]) -> dict[int, Record]:
        """Log jobs; return the records by the jobs' ids. They are on the disk then."""
        if not jobs:
            return {}
        size = sum(len(job.entry.body) for job in jobs)
        if shutil.disk_usage(self._folder).free < self._free_bytes + size:
            raise OSError(errno.ENOSPC, "little is left")
        start = time.perf_counter()
        numbers = self._log.append([job.entry for job in jobs])
        self._flushed(len(jobs), time.perf_counter() - start)
        return {
            id(job): Record(seq=seq, group=numbers[0], entry=job.entry)
            for job, seq in zip(jobs, numbers, strict=True)
        }

    def _refuse(self, jobs: list[ExamplesJob | RollbackJob], error: BaseException) -> None:
        if isinstance(error, OSError):
            failure: HalfmaskError = disk_full() if error.errno in FULL else disk_failed()
        else:
            failure = error if isinstance(error, HalfmaskError) else disk_failed()
        for job in jobs:
            self._forget(job)
            if isinstance(job, ExamplesJob):
                job.batch.lease.give_back()
            job.done.set_exception(failure)


def disk_full() -> RefusedError:
    """Return the error of a full disk."""
    return RefusedError(
        "The disk of the trainer is full. Nothing was learned; predictions go on.",
        status=507,
        word="disk-full",
        hint="Send the same again when there is room.",
    )


def disk_failed() -> RefusedError:
    """Return the error of a disk that can't be written for another reason."""
    return RefusedError(
        "The trainer couldn't write to its disk. Nothing was learned; predictions go on.",
        status=503,
        word="disk-failed",
        retry_after=5.0,
    )
