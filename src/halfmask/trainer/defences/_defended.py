"""DefendedLearner: a learner that one client can't spoil, as far as canaries and caps reach."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from halfmask._errors import HalfmaskError, ParameterError
from halfmask._validation import integer_at_least
from halfmask.trainer.defences._defences import Defences, restore_learner, save_learner
from halfmask.trainer.defences._tally import Memory, RollbackNotice

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.hashing import HashedRows
    from halfmask.trainer.defences._caps import ClientCaps, NormClip
    from halfmask.trainer.defences._guard import Guard, Quality, Verdict
    from halfmask.trainer.defences._tally import DefenceTally

#: A stretch of rows is judged when it takes as much memory, however few rows it has.
STRETCH_BYTES = 64 << 20


class Learner(Protocol):
    """An online learner, such as :class:`~halfmask.trainer.learner.OnlineLearner`."""

    def learn(self, rows: HashedRows) -> Any:  # noqa: ANN401 # its progress
        """Learn rows in their order."""

    def predict(self, rows: HashedRows) -> NDArray[np.floating]:
        """Predict rows."""

    def to_bytes(self) -> bytes:
        """Return all that was learned."""

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return what was learned from its bytes."""

    def digest(self) -> str:
        """Return the SHA-256 of what was learned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What became of rows that a client sent.

    Parameters
    ----------
    rows
        How many of them were learned; 0 if they were refused.
    loss
        The mean loss before each was learned; 0 without any.
    accuracy
        The share predicted rightly before it was learned, where the loss has classes.
    weight
        The part of their weight that was left after clipping and caps, in [0, 1].
    counted
        The weight that they were learned with, in all.
    rollback
        What the guard took back with these rows; ``None`` if it took nothing or wasn't asked.
    """

    rows: int
    loss: float = 0.0
    accuracy: float | None = None
    weight: float = 1.0
    counted: float = 0.0
    rollback: RollbackNotice | None = None


class DefendedLearner:
    """Wrap a learner: clip rows, cap clients, and take back what harms canaries.

    Parameters
    ----------
    learner
        A fresh or a trained learner; it belongs to the wrapper from now on.
    clip
        Bounds of each row; ``None``: none.
    caps
        Bounds of each client; ``None``: none.
    guard
        Judges by canaries after each stretch of rows; ``None``: no canaries.
    canaries
        Labelled rows that no client sends, for the guard; ``None``: `judge_by` gives them later.
    every
        How many rows a stretch has at least, 1 or more. At its start the learner is copied,
        and its rows are held in memory: up to `every` rows and one batch, or 64 MiB and one batch.
    pause
        For how many rows *of others* a client is refused whose rows were taken back, at least 0;
        with each time it doubles.

    Raises
    ------
    ParameterError
        If there are too few canaries for the guard, or a number is out of range.

    Notes
    -----
    **Guarantees.** Everything follows from the learner, the settings, and the clients' batches in
    their order: a replay gives the same weights, bit by bit, whenever it was saved between.
    With a guard no weights answer that weren't judged: predictions are those of the last judgement,
    up to `every` rows and one batch ago.
    Rows that are taken back have no effect on the weights: after a bad stretch the learner returns
    to its start, and learns the stretch again client by client, each judged by itself. Rows of a
    client that fails are removed from the stretch; the others' rows stay, all of them.

    **Edge cases.** A guard without canaries lets nothing in: `learn` raises until it has some.
    A fresh model knows nothing, and a guard takes whatever is better than that: let it learn from
    rows that you trust first. Rows of one client alone are kept or taken back together. Several
    clients who work together share neither cap nor blame: caps bound each, the drift of the guard
    bounds all.

    Examples
    --------
    >>> from halfmask.trainer.defences import ClientCaps, NormClip
    >>> from halfmask.trainer.learner import OnlineLearner
    >>> from halfmask.hashing import HashedRows
    >>> rows = HashedRows(
    ...     indices=np.array([[1], [2]] * 50, dtype=np.uint32),
    ...     labels=np.array([0, 1] * 50, dtype=np.int32),
    ...     bits=4,
    ... )
    >>> learner = DefendedLearner(
    ...     OnlineLearner(bits=4), clip=NormClip(weight=1.0), caps=ClientCaps(share=0.5, free=100.0)
    ... )
    >>> [learner.learn(rows, client="a").rows for _ in range(2)], learner.learned_of("a")
    ([100, 0], 100.0)
    """

    def __init__(
        self,
        learner: Learner,
        *,
        clip: NormClip | None = None,
        caps: ClientCaps | None = None,
        guard: Guard | None = None,
        canaries: HashedRows | None = None,
        every: int = 10_000,
        pause: int = 100_000,
    ) -> None:
        integer_at_least(1, owner="DefendedLearner", every=every)
        integer_at_least(0, owner="DefendedLearner", pause=pause)
        self.clip, self.caps, self.guard = clip, caps, guard
        self.canaries: HashedRows | None = None
        self.every, self.pause = int(every), int(pause)
        self._learner = learner
        self._answering = learner
        self._memory = Memory()
        if guard is not None and canaries is not None:
            self.judge_by(canaries)

    def learn(self, rows: HashedRows, *, client: str = "") -> Learned:
        """Learn rows of a client, as far as the defences let them.

        Parameters
        ----------
        rows
            Hashed rows of one client.
        client
            The client, by its id.

        Raises
        ------
        DataError, ParameterError
            If the learner refuses the rows, or the guard has no canaries; nothing has changed then.
        """
        memory, tally = self._memory, self._memory.tally
        if self.guard is not None and self.canaries is None:
            raise ParameterError("A guard needs canaries.", hint="Hold labelled rows back.")
        if memory.refuses(client):
            tally.refused += len(rows)
            return Learned(rows=0, weight=0.0)
        clipped = rows if self.clip is None else self.clip.clipped(rows)
        light = self._capped(clipped, client)
        claimed, weight = _weight(rows), _weight(light)
        done = None
        if not (len(rows) and weight <= 0 < claimed):
            done = self._learner.learn(light)
        if self.clip is not None and clipped is not rows:
            tally.clipped += self.clip.beyond(rows)
        if light is not clipped:
            tally.capped += len(rows)
        if done is None:
            return Learned(rows=0, weight=0.0)
        memory.ledger.add(client, weight)
        memory.count(client, len(light))
        rollback = None
        if self.guard is not None:
            memory.add(client, light)
            if memory.rows >= self.every or memory.size >= STRETCH_BYTES:
                rollback = self._judged()
        return Learned(
            rows=done.rows,
            loss=done.loss,
            accuracy=done.accuracy,
            weight=weight / claimed if claimed else 1.0,
            counted=weight,
            rollback=rollback,
        )

    def judge_by(self, canaries: HashedRows) -> RollbackNotice | None:
        """Judge later rows by other canaries.

        Parameters
        ----------
        canaries
            Labelled rows that no client sends. How well they are predicted now is the best that
            was seen.

        Returns
        -------
        Rollback
            What those before took back; ``None`` if they took nothing. Of the same canaries
            nothing follows.

        Raises
        ------
        ParameterError
            If there is no guard, or there are too few canaries for it, or ones of other bits or
            without labels; nothing has changed then.
        """
        guard, memory = self.guard, self._memory
        if guard is None:
            raise ParameterError("Canaries are for a guard, and this learner has none.")
        if self.canaries is not None and self.canaries.equals(canaries):
            return None
        guard.judge(self._answering, self._answering, canaries)
        rollback = self._judged() if memory.stretch else None
        self.canaries = canaries
        memory.best = memory.last = guard.quality(self._learner, canaries)
        self._begin_stretch()
        return rollback

    def predict(self, rows: HashedRows) -> NDArray[np.floating]:
        """Predict rows; with a guard, by the learner as it was last judged.

        Parameters
        ----------
        rows
            Hashed rows, of as many bits.
        """
        return self._answering.predict(rows)

    def digest(self) -> str:
        """Return the SHA-256 of what was learned, judged or not."""
        return self._learner.digest()

    def learned_of(self, client: str) -> float:
        """Return the weight that was learned of a client.

        Parameters
        ----------
        client
            The name of the client.
        """
        return self._memory.ledger.learned.get(client, 0.0)

    @property
    def refused(self) -> tuple[str, ...]:
        """The clients whose rows are refused now."""
        return tuple(sorted(each for each in self._memory.strikes if self._memory.refuses(each)))

    @property
    def defences(self) -> Defences:
        """What it is defended by."""
        return Defences(
            clip=self.clip, caps=self.caps, guard=self.guard, every=self.every, pause=self.pause
        )

    @property
    def tally(self) -> DefenceTally:
        """What the defences did so far."""
        return self._memory.tally

    def to_bytes(self) -> bytes:
        """Return the learner, the defences and all that they remember, without pickle."""
        return save_learner(self)

    @classmethod
    def from_bytes(cls, data: bytes, *, kind: type[Learner] | None = None) -> Self:
        """Return what `to_bytes` gave.

        Parameters
        ----------
        data
            The bytes.
        kind
            The type of the learner within; ``None``: `halfmask.trainer.learner.OnlineLearner`.

        Raises
        ------
        IntegrityError
            If the bytes aren't those that were written.
        """
        return restore_learner(cls, data, kind)

    def _capped(self, rows: HashedRows, client: str) -> HashedRows:
        """Return rows of no more weight than their client may have learned now."""
        if self.caps is None:
            return rows
        weight, allowed = _weight(rows), self.caps.allowed(self._memory.ledger, client)
        return _lighter(rows, allowed / weight) if weight > allowed else rows

    def _judged(self) -> RollbackNotice | None:
        """Judge the stretch, take back what harms, and begin the next one."""
        memory = self._memory
        if self.guard is None or self.canaries is None:
            return None
        verdict = self.guard.judge(memory.last, self._learner, self.canaries, best=memory.best)
        rollback = None if verdict.accepted else self._taken_back(verdict)
        now = (
            verdict.after if rollback is None else self.guard.quality(self._learner, self.canaries)
        )
        memory.last = now
        memory.best = memory.best.better(now)
        if rollback is not None:
            memory.tally.add(rollback)
        self._begin_stretch()
        return rollback

    def _begin_stretch(self) -> None:
        """Keep the learner as it was judged, to answer and to go back to."""
        self._memory.begin()
        self._answering = _twin(self._learner)

    def _taken_back(self, verdict: Verdict) -> RollbackNotice:
        """Learn the stretch again client by client, and keep what doesn't harm."""
        memory = self._memory
        guilty: list[tuple[str, int]] = []
        start, last = self._answering, memory.last
        for client in dict.fromkeys(who for who, _ in memory.stretch):
            batches = [rows for who, rows in memory.stretch if who == client]
            self._learner = _twin(start)
            alone = self._learned_alone(batches, last)
            if alone is not None:
                start, last = self._learner, alone
                continue
            memory.ledger.add(client, -sum(map(_weight, batches)))
            guilty.append((client, sum(map(len, batches))))
        self._learner = _twin(start)
        for client, _ in guilty:
            memory.punish(client, self.pause)
        return RollbackNotice(verdict=verdict, clients=tuple(guilty), rows=memory.rows)

    def _learned_alone(self, batches: list[HashedRows], last: Quality) -> Quality | None:
        """Learn one client's rows; return how canaries are predicted then, None if they harm."""
        guard, canaries = self.guard, self.canaries
        assert guard is not None  # noqa: S101 # the caller's
        assert canaries is not None  # noqa: S101 # the same
        try:
            for rows in batches:
                self._learner.learn(rows)
        except HalfmaskError:
            # In another company they could be learned; alone they make learning diverge.
            return None
        verdict = guard.judge(last, self._learner, canaries, best=self._memory.best)
        return verdict.after if verdict.accepted else None


def _twin(learner: Learner) -> Learner:
    """Return a learner that goes on from here by itself."""
    copy = getattr(learner, "copy", None)
    twin: Learner = copy() if callable(copy) else type(learner).from_bytes(learner.to_bytes())
    return twin


def _weight(rows: HashedRows) -> float:
    return float(len(rows)) if rows.weights is None else float(rows.weights.sum(dtype=np.float64))


def _lighter(rows: HashedRows, by: float) -> HashedRows:
    weights = np.ones(len(rows), dtype=np.float32) if rows.weights is None else rows.weights
    return replace(rows, weights=(weights * np.float32(by)).astype(np.float32))
