"""Snapshots of what a model has learned, and the way back from one of them and the log."""

from __future__ import annotations

import hashlib
import json
import shutil
import struct
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from halfmask._errors import IntegrityError
from halfmask.data import atomic_file
from halfmask.trainer.store._limits import RefusedError
from halfmask.trainer.store._log import ExampleLog
from halfmask.trainer.store._record import ROLLBACK, Mark, Record
from halfmask.trainer.store._state import StoredState, new_learner

_MAGIC = b"halfmask snap 1\n"
_LENGTH = struct.Struct("<I")
#: A curve and a name need no more.
_MAX_HEAD = 1 << 20
#: How many snapshots clients may have of one model.
_MAX_KEPT = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The facts about a snapshot.

    Parameters
    ----------
    seq
        The number of the last record of the log that is in it; also its name.
    automatic
        Whether the service made it by itself, and may remove it when there are newer ones.
    made
        When, in seconds since 1970.
    size
        Bytes on the disk.
    metadata
        The curve and counts that are stored with the learner's bytes.
    """

    seq: int
    automatic: bool
    made: float
    size: int
    metadata: dict[str, Any]


class Snapshots:
    """The snapshots of one model, each a file that is written whole or not at all.

    Guarantees
    ----------
    A held snapshot isn't removed: the log has, or will have, a rollback to it. The newest one isn't
    removed either: a restart begins from it, and earlier records of the log may be gone.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._held: Counter[int] = Counter()

    def write(
        self, seq: int, learner: bytes, *, automatic: bool, made: float, metadata: dict[str, Any]
    ) -> None:
        """Write a snapshot; one of the same number is replaced."""
        # "told" is the key in the files of 0.1.
        facts = {"seq": seq, "automatic": automatic, "made": made, "told": metadata}
        head = json.dumps(facts).encode()
        digest = hashlib.sha256(head)
        digest.update(learner)
        with atomic_file(self._path(seq), overwrite=True) as file:
            file.write(_MAGIC + digest.digest() + _LENGTH.pack(len(head)) + head)
            file.write(learner)

    def read(self, seq: int) -> tuple[Snapshot, bytes]:
        """Return a snapshot and the learner's bytes."""
        try:
            with self._path(seq).open("rb") as file:
                digest, head, snapshot = _head_of(file)
                learner = file.read()
        except OSError:
            raise _damaged() from None
        found = hashlib.sha256(head)
        found.update(learner)
        if found.digest() != digest or snapshot.seq != seq:
            raise _damaged()
        return snapshot, learner

    def listed(self) -> list[Snapshot]:
        """Return all that can be read, the oldest first. The learners' bytes aren't checked."""
        found = []
        for path in sorted(self._folder.glob("*.snapshot")):
            try:
                with path.open("rb") as file:
                    found.append(_head_of(file)[2])
            except (OSError, IntegrityError):
                continue
        return found

    def hold(self, seq: int) -> None:
        """Keep a snapshot until it is let go as often as it was held."""
        with self._lock:
            self._find(seq)
            self._held[seq] += 1

    def release(self, seq: int) -> None:
        """Hold a snapshot no longer."""
        with self._lock:
            self._held[seq] -= 1

    def prune(self, *, keep: int) -> None:
        """Remove automatic snapshots, except for the newest ones and those that are held."""
        with self._lock:
            automatic = [each.seq for each in self.listed() if each.automatic]
            for seq in automatic[: max(0, len(automatic) - keep)]:
                if not self._held[seq]:
                    self._path(seq).unlink(missing_ok=True)

    def remove(self, seq: int) -> None:
        """Remove a snapshot."""
        with self._lock:
            newest = self._find(seq)
            if self._held[seq] or newest:
                raise RefusedError(
                    "The model is being rolled back to this snapshot, or a restart begins from it.",
                    status=409,
                    word="in-use",
                    hint="The newest snapshot goes when there is a newer one.",
                    retry_after=1.0,
                )
            self._path(seq).unlink(missing_ok=True)

    def check_room(self) -> None:
        """Raise a `RefusedError` with 409 if clients have as many as they may."""
        if sum(not each.automatic for each in self.listed()) >= _MAX_KEPT:
            raise RefusedError(
                f"A model has at most {_MAX_KEPT} snapshots that clients made.",
                status=409,
                word="too-many",
                hint="Delete one.",
            )

    def free_bytes(self) -> int:
        """Return how much of their disk is free."""
        return shutil.disk_usage(self._folder).free

    def _find(self, seq: int) -> bool:
        """Return whether a snapshot is the newest."""
        numbers = [each.seq for each in self.listed()]
        if seq not in numbers:
            raise RefusedError(
                "There is no such snapshot.",
                status=404,
                word="not-found",
                hint="GET .../snapshots lists them.",
            )
        return seq == numbers[-1]

    def _path(self, seq: int) -> Path:
        return self._folder / f"{seq:020d}.snapshot"


def _head_of(file: BinaryIO) -> tuple[bytes, bytes, Snapshot]:
    start = file.read(len(_MAGIC) + 32 + _LENGTH.size)
    if len(start) != len(_MAGIC) + 32 + _LENGTH.size or not start.startswith(_MAGIC):
        raise _damaged()
    (length,) = _LENGTH.unpack(start[-_LENGTH.size :])
    if length > _MAX_HEAD:
        raise _damaged()
    head = file.read(length)
    try:
        meta = json.loads(head)
        size = file.seek(0, 2)
        file.seek(len(start) + length)
        snapshot = Snapshot(
            seq=int(meta["seq"]),
            automatic=bool(meta["automatic"]),
            made=float(meta["made"]),
            size=size,
            metadata=dict(meta["told"]),
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _damaged() from None
    return start[len(_MAGIC) : -_LENGTH.size], head, snapshot


def _damaged() -> IntegrityError:
    return IntegrityError(
        "A snapshot isn't there, or isn't what was written.",
        hint="Roll back to another snapshot, or restore the folder from its last backup.",
    )


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
    """Return the state by the whole log alone, without any snapshot."""
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
