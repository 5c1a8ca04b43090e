"""What the threads of a model hand to each other."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from halfmask.hashing import HashedRows
    from halfmask.trainer.store._limits import Lease
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
    """A body that was read and checked.

    Parameters
    ----------
    parts
        Its rows.
    entry
        How it is logged.
    lease
        What it takes of the budget, until it is learned.
    """

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
