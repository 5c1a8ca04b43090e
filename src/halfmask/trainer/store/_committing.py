"""The thread that writes a model's log: many requests share one flush to the disk."""

from __future__ import annotations

import errno
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from halfmask._errors import HalfmaskError
from halfmask.trainer.store._job import ExamplesJob, Receipt, RollbackJob, SnapshotJob
from halfmask.trainer.store._queue import BatchQueue
from halfmask.trainer.store._record import Mark, Record
from halfmask.trainer.store._refusal import RefusedError

if TYPE_CHECKING:
    from halfmask.trainer.store._log import ExampleLog

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
