"""From what is on the disk to a model's state: a snapshot, and the records behind it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halfmask._errors import IntegrityError
from halfmask.trainer.store._log import ExampleLog
from halfmask.trainer.store._record import ROLLBACK, Mark, Record
from halfmask.trainer.store._state import StoredState, new_learner

if TYPE_CHECKING:
    from halfmask.trainer.store._snapshots import Snapshots

LOG, SNAPSHOTS = "log", "snapshots"


def recover(
    settings: dict[str, Any],
    log: ExampleLog,
    snapshots: Snapshots,
    *,
    indexed: int,
    seen: Callable[[Mark], None],
    needed: Callable[[int], None],
) -> StoredState:
    """Return the state after the last record of the log."""
    if log.last_seq < indexed:
        raise IntegrityError(
            "The log of a model is shorter than what was indexed of it.",
            hint="Restore the folder of the service from its last backup.",
        )
    state = _newest(settings, log, snapshots)
    for record in log.records(after=min(state.seq, indexed)):
        if record.seq > indexed:
            seen(record.mark())
        if record.seq > state.seq:
            if record.entry.kind != ROLLBACK:
                state.replay(record.entry)
            else:
                snapshot, learner = snapshots.read(target_of(record))
                needed(snapshot.seq)
                state.restore(learner, snapshot.metadata)
            state.seq = record.seq
    return state


def target_of(record: Record) -> int:
    """Return the number of the snapshot that a record rolls back to."""
    return int(record.entry.body)


def replay_log(settings: dict[str, Any], folder: Path) -> StoredState:
    """Return the state by the whole log alone, without any snapshot.

    Parameters
    ----------
    settings
        The learner's.
    folder
        The folder of the model, which no service is using.

    Raises
    ------
    IntegrityError
        If the log doesn't begin with the first record, or was altered.
    """
    log = ExampleLog(folder / LOG)
    try:
        if log.first_seq != 1:
            raise IntegrityError("The first records of this log aren't kept any more.")
        targets = {target_of(each) for each in log.records() if each.entry.kind == ROLLBACK}
        state, kept = StoredState(learner=new_learner(settings)), {}
        if 0 in targets:
            kept[0] = (state.learner.to_bytes(), state.metadata())
        for record in log.records():
            if record.entry.kind != ROLLBACK:
                state.replay(record.entry)
            else:
                state.restore(*kept[target_of(record)])
            state.seq = record.seq
            if state.seq in targets:
                kept[state.seq] = (state.learner.to_bytes(), state.metadata())
        return state
    finally:
        log.close()


def _newest(settings: dict[str, Any], log: ExampleLog, snapshots: Snapshots) -> StoredState:
    """Return the state of the newest snapshot that is whole, or of none."""
    for snapshot in reversed(snapshots.listed()):
        if snapshot.seq > log.last_seq or snapshot.seq + 1 < log.first_seq:
            continue
        try:
            kept, learner = snapshots.read(snapshot.seq)
        except IntegrityError:
            continue  # an older one and more of the log give the same
        state = StoredState(learner=new_learner(settings), seq=kept.seq)
        state.restore(learner, kept.metadata)
        return state
    if log.first_seq != 1:
        raise IntegrityError(
            "No snapshot of a model is whole, and the beginning of its log isn't kept any more.",
            hint="Restore the folder of the service from its last backup.",
        )
    return StoredState(learner=new_learner(settings))
