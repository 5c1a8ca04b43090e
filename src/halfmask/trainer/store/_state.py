"""What a model has learned: a learner and its curve, moved on by one record of the log at a time.

The service, a restart and a replay of the log all move it on by the same code, so that the same
records in the same order give the same weights, bit by bit.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

from halfmask._errors import HalfmaskError
from halfmask.trainer.store._curve import Curve, Point
from halfmask.trainer.store._record import CANARIES, MAX_BODY
from halfmask.trainer.store._stream import unpack

if TYPE_CHECKING:
    from threading import Event

    import numpy as np
    from numpy.typing import NDArray

    from halfmask.hashing import HashedRows
    from halfmask.trainer.defences import Defences, DefendedLearner
    from halfmask.trainer.learner import OnlineLearner
    from halfmask.trainer.store._record import Entry


class RWLock:
    """A lock that readers share, and that its one writer has alone.

    Phase-fair: a reader that waits for the writer goes before the writer's next turn, and the
    writer goes before readers that come after it (Brandenburg and Anderson, "Spin-based
    reader-writer synchronization for multiprocessor real-time systems", 2010, section 3).

    Examples
    --------
    >>> lock = RWLock()
    >>> with lock.reading(), lock.reading():
    ...     pass
    >>> with lock.writing():
    ...     pass
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._readers = 0
        self._waiting = 0
        self._phase = 0
        self._writer = False

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Take a reader's turn."""
        with self._changed:
            if self._writer:
                phase = self._phase
                self._waiting += 1
                while self._phase == phase:
                    self._changed.wait()
            else:
                self._readers += 1
        try:
            yield
        finally:
            with self._changed:
                self._readers -= 1
                if not self._readers:
                    self._changed.notify_all()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Take the writer's turn. There is one writer."""
        with self._changed:
            self._writer = True
            while self._readers:
                self._changed.wait()
        try:
            yield
        finally:
            with self._changed:
                self._writer = False
                # Those who wait are let in here, so that the writer can't overtake them.
                self._readers += self._waiting
                self._waiting = 0
                self._phase += 1
                self._changed.notify_all()


#: How many rows are learned under one lock: readers wait for no more.
TURN_ROWS = 4_096
#: One kind compiles at a time: a thread that waits for its kind mustn't wait for all of them.
_COMPILING = Lock()
#: The key of the defences in a model's settings; the other keys are the learner's.
DEFENCES = "defences"


def new_learner(settings: dict[str, Any]) -> OnlineLearner | DefendedLearner:
    """Return a learner that has seen nothing, with the defences of the settings."""
    learner, defences = _parts(settings)
    return learner if defences is None else defences.around(learner)


def complete_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings with those that weren't given, or raise as `new_learner` does."""
    learner, defences = _parts(settings)
    return learner.settings | ({} if defences is None else {DEFENCES: defences.to_dict()})


def _parts(settings: dict[str, Any]) -> tuple[OnlineLearner, Defences | None]:
    from halfmask.trainer.defences import Defences  # noqa: PLC0415 # --help needs no numpy
    from halfmask.trainer.learner import OnlineLearner  # noqa: PLC0415 # numba takes a second

    of_learner = {name: each for name, each in settings.items() if name != DEFENCES}
    defences = settings.get(DEFENCES)
    learner = OnlineLearner(**of_learner)
    return learner, None if defences is None else Defences.from_dict(defences)


def _defended(learner: OnlineLearner | DefendedLearner) -> DefendedLearner | None:
    """Return a learner if it is a defended one."""
    from halfmask.trainer.defences import DefendedLearner  # noqa: PLC0415 # as above

    return learner if isinstance(learner, DefendedLearner) else None


def warm_up(settings: dict[str, Any]) -> None:
    """Let a small learner of the same kind learn: the first one waits for a compiler."""
    softmax, optimizer = settings["loss"] == "softmax", settings["optimizer"]
    # One loop has all losses of numbers, one all optimizers of classes.
    kind = ("softmax", "sgd") if softmax else ("logistic", optimizer)
    with _COMPILING:
        _warm(*kind, bool(settings["normalized"]))


def warm_up_all(stopped: Event) -> None:
    """Warm up each kind of model, until `stopped` is set; a model that is needed goes first."""
    for settings in ({}, {"optimizer": "sgd"}, {"optimizer": "ftrl"}, {"loss": "softmax"}):
        if stopped.wait(0.01):
            return
        warm_up(complete_settings({"bits": 1, **settings}))


@cache
def _warm(loss: str, optimizer: str, normalized: bool) -> None:  # noqa: FBT001 # as it is cached by
    import numpy as np  # noqa: PLC0415 # --help needs none

    from halfmask.hashing import HashedRows  # noqa: PLC0415 # the same

    settings = {"loss": loss, "optimizer": optimizer, "normalized": normalized, "bits": 1}
    learner = new_learner(settings)
    indices = np.array([[0], [1]], np.uint32)
    labels = np.array([0, 1], np.int32)
    for values in (None, np.ones((2, 1), np.float32)):
        rows = HashedRows(indices=indices, bits=1, values=values, labels=labels)
        learner.learn(rows)
        learner.predict(rows)


@dataclass(slots=True, kw_only=True)
class StoredState:
    """A learner and its curve.

    Guarantees
    ----------
    Predictions read the live weights and wait for nothing. Each weight is whole, but one row may
    be being learned meanwhile, so that a prediction may be made with some of the row's weights as
    they were before it and others as they are after it. Digests, curves and snapshots are of a
    moment between two steps of learning.
    """

    learner: OnlineLearner | DefendedLearner
    seq: int = 0
    curve: Curve = field(default_factory=Curve)
    skipped: int = 0
    skipped_rows: int = 0
    lock: RWLock = field(default_factory=RWLock)

    def take(self, entry: Entry, parts: tuple[HashedRows, ...]) -> None:
        """Apply a record of the log, whose body these rows are."""
        if entry.kind == CANARIES:
            self.judge_by(parts)
        else:
            self.learn(parts, entry.client.hex())

    def replay(self, entry: Entry) -> None:
        """Apply a record of the log."""
        self.take(entry, unpack(entry.body, most=MAX_BODY).parts)

    def learn(self, parts: tuple[HashedRows, ...], client: str = "") -> None:
        """Learn rows of a client, a piece at a time."""
        left = sum(map(len, parts))
        try:
            for part in parts:
                for start in range(0, len(part), TURN_ROWS):
                    piece = part.slice(start, start + TURN_ROWS)
                    with self.lock.writing():
                        self._learn(piece, client)
                    left -= len(piece)
        except HalfmaskError:
            # It refuses the same rows in the same way when the log is replayed.
            with self.lock.writing():
                self.skipped += 1
                self.skipped_rows += left

    def _learn(self, piece: HashedRows, client: str) -> None:
        defended = _defended(self.learner)
        if defended is None:
            done = cast("OnlineLearner", self.learner).learn(piece)
            self.curve.classes = done.right_sum is not None
            point = Point(
                rows=done.rows, weight=done.weight, loss=done.loss_sum, right=done.right_sum or 0.0
            )
        else:
            learned = defended.learn(piece, client=client)
            if not learned.counted:
                return
            self.curve.classes = learned.accuracy is not None
            point = Point(
                rows=learned.rows,
                weight=learned.counted,
                loss=learned.loss * learned.counted,
                right=(learned.accuracy or 0.0) * learned.counted,
            )
        self.curve.add(point)

    def judge_by(self, parts: tuple[HashedRows, ...]) -> None:
        """Judge by these rows from now on."""
        from halfmask.hashing import HashedRows  # noqa: PLC0415 # --help needs none

        defended = _defended(self.learner)
        try:
            with self.lock.writing():
                if defended is not None:
                    defended.judge_by(HashedRows.concat(parts))
        except HalfmaskError:
            self.skipped += 1  # as above

    def defended(self) -> dict[str, Any] | None:
        """Return what the defences did so far; None where there are none."""
        defended = _defended(self.learner)
        return None if defended is None else defended.tally.to_dict() | {"canaries": self.canaries}

    @property
    def canaries(self) -> int:
        """By how many rows a guard judges; 0 where there is no guard, or it has none yet."""
        defended = _defended(self.learner)
        return 0 if defended is None or defended.canaries is None else len(defended.canaries)

    def predict(self, rows: HashedRows) -> NDArray[np.float32]:
        """Return what the learner expects of rows."""
        import numpy as np  # noqa: PLC0415 # --help needs none

        found = self.learner.predict(rows)
        if np.isfinite(found).all():
            return found
        # Learning has diverged and is being taken back at this moment.
        with self.lock.reading():
            return self.learner.predict(rows)

    def digest(self) -> str:
        """Return the SHA-256 of what the learner has learned."""
        with self.lock.reading():
            return str(self.learner.digest())

    def summary(self) -> dict[str, Any]:
        """Return how it did, all of it of the same moment, and the last record that is in it."""
        learned = self.seq  # before the rest, so that the rows of this record are in the summary
        with self.lock.reading():
            return self.curve.summary() | {
                "learned": learned,
                "skipped": self.skipped,
                "skipped_rows": self.skipped_rows,
                "defences": self.defended(),
            }

    def metadata(self) -> dict[str, Any]:
        """Return what a snapshot stores with the learner's bytes."""
        return {
            "curve": self.curve.to_dict(),
            "skipped": self.skipped,
            "skipped_rows": self.skipped_rows,
        }

    def restore(self, learner: bytes, metadata: dict[str, Any]) -> None:
        """Restore what a snapshot kept; the caller sets the number of the record.

        A guard goes on judging by the canaries that it has: newer ones are there for a reason.
        """
        before, now = type(self.learner).from_bytes(learner), _defended(self.learner)
        back = _defended(before)
        if now is not None and back is not None and now.canaries is not None:
            back.judge_by(now.canaries)
        with self.lock.writing():
            self.learner = before
            self.curve = Curve.from_dict(metadata["curve"])
            self.skipped = int(metadata["skipped"])
            self.skipped_rows = int(metadata["skipped_rows"])
