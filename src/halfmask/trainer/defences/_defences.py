"""Defences as they are written down, and all of a defended learner as bytes."""

from __future__ import annotations

import hashlib
import io
import json
import struct
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self, TypeVar

from halfmask._errors import DataError, HalfmaskError, IntegrityError, ParameterError
from halfmask._validation import integer_at_least
from halfmask.hashing import HashedRows
from halfmask.trainer.defences._caps import ClientCaps, Ledger, NormClip
from halfmask.trainer.defences._guard import Guard, Quality
from halfmask.trainer.defences._tally import DefenceTally, Memory, Strike

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halfmask.trainer.defences._defended import DefendedLearner, Learner


@dataclass(frozen=True, slots=True, kw_only=True)
class Defences:
    """What a model is defended by.

    Parameters
    ----------
    clip, caps, guard
        Bounds of each row, bounds of each client, and what judges by canaries; ``None``: without.
    every
        How many rows the guard judges at once, 1 or more.
    pause
        For how many rows of others a client is refused whose rows were taken back, 0 or more.

    Raises
    ------
    ParameterError
        If a number is out of range.

    Notes
    -----
    **Edge cases.** Canaries aren't in it: defences may be public, canaries must stay secret.

    Examples
    --------
    >>> defences = Defences(caps=ClientCaps(share=0.2), guard=Guard(tolerance=0.01, drift=0.02))
    >>> Defences.from_dict(defences.to_dict()) == defences
    True
    """

    clip: NormClip | None = None
    caps: ClientCaps | None = None
    guard: Guard | None = None
    every: int = 10_000
    pause: int = 100_000

    def __post_init__(self) -> None:
        integer_at_least(1, owner="Defences", every=self.every)
        integer_at_least(0, owner="Defences", pause=self.pause)

    def around(self, learner: Learner) -> DefendedLearner:
        """Return a learner that is defended by these; a guard waits for its canaries.

        Parameters
        ----------
        learner
            The learner to defend.
        """
        from halfmask.trainer.defences._defended import DefendedLearner  # noqa: PLC0415 # numpy

        return DefendedLearner(learner, **self.named())

    def named(self) -> dict[str, Any]:
        """Return them by the names that `DefendedLearner` has for them."""
        return {each: getattr(self, each) for each in ("clip", "caps", "guard", "every", "pause")}

    def to_dict(self) -> dict[str, Any]:
        """Return them as JSON holds them."""
        found = asdict(self)
        if self.caps is not None:
            found["caps"]["trusted"] = sorted(self.caps.trusted)
        return found

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return what `to_dict` gave.

        Parameters
        ----------
        values
            What `to_dict` returned.

        Raises
        ------
        ParameterError
            If they can't be.
        """
        try:
            clip, caps, guard = (values.get(each) for each in ("clip", "caps", "guard"))
            rest = {name: values[name] for name in ("every", "pause") if name in values}
            if caps is not None:
                caps = {**caps, "trusted": frozenset(caps.get("trusted", ()))}
            return cls(
                clip=None if clip is None else NormClip(**clip),
                caps=None if caps is None else ClientCaps(**caps),
                guard=None if guard is None else Guard(**guard),
                **rest,
            )
        except (TypeError, AttributeError):
            raise ParameterError("These are no defences.") from None


_MAGIC = b"HMD1"
_DIGEST = 32
_LENGTH = struct.Struct("<Q")
_Kind = TypeVar("_Kind", bound="DefendedLearner")


def save_learner(defended: DefendedLearner) -> bytes:
    """Return all of a defended learner; in a stretch, its start and what was learned since."""
    memory = defended._memory  # noqa: SLF001 # this module is its second half
    learner = defended._answering.to_bytes()  # noqa: SLF001 # the same
    head = {
        "settings": defended.defences.to_dict(),
        "tally": memory.tally.to_dict(),
        "learned": memory.ledger.learned,
        "total": memory.ledger.total,
        "strikes": {name: [each.times, each.left] for name, each in memory.strikes.items()},
        "best": asdict(memory.best),
        "last": asdict(memory.last),
        "clients": [client for client, _ in memory.stretch],
    }
    parts = [
        json.dumps(head).encode(),
        learner,
        b"" if defended.canaries is None else _arrow(defended.canaries),
        *(_arrow(rows) for _, rows in memory.stretch),
    ]
    body = b"".join(_LENGTH.pack(len(part)) + part for part in parts)
    return _MAGIC + hashlib.sha256(body).digest() + body


def restore_learner(kind: type[_Kind], data: bytes, within: type[Learner] | None) -> _Kind:
    """Return a defended learner as it was saved."""
    if within is None:
        from halfmask.trainer.learner import OnlineLearner  # noqa: PLC0415 # numba takes a second

        within = OnlineLearner
    head, body = data[: len(_MAGIC) + _DIGEST], data[len(_MAGIC) + _DIGEST :]
    if head[:4] != _MAGIC or head[4:] != hashlib.sha256(body).digest():
        raise IntegrityError("These bytes are no defended learner, or were altered.")
    try:
        first, learner, canaries, *stretch = _parts(body)
        head = json.loads(first)
        defences = Defences.from_dict(head["settings"])
        made = kind(
            within.from_bytes(learner),
            canaries=_rows(canaries) if canaries else None,
            **defences.named(),
        )
        made._memory = _memory(head)  # noqa: SLF001 # this module is its second half
        for client, part in zip(head["clients"], stretch, strict=True):
            rows = _rows(part)
            made._learner.learn(rows)  # noqa: SLF001 # the same
            made._memory.add(client, rows)  # noqa: SLF001 # the same
    except (DataError, KeyError, TypeError, ValueError, struct.error) as error:
        if isinstance(error, HalfmaskError) and not isinstance(error, DataError):
            raise
        raise IntegrityError("These bytes are of another version of a defended learner.") from None
    return made


def _memory(head: dict[str, Any]) -> Memory:
    return Memory(
        ledger=Ledger(learned=dict(head["learned"]), total=head["total"]),
        strikes={name: Strike(times=t, left=left) for name, (t, left) in head["strikes"].items()},
        best=Quality(**head["best"]),
        last=Quality(**head["last"]),
        tally=DefenceTally.from_dict(head["tally"]),
    )


def _parts(body: bytes) -> Sequence[bytes]:
    found, at = [], 0
    while at < len(body):
        (length,) = _LENGTH.unpack_from(body, at)
        at += _LENGTH.size
        found.append(body[at : at + length])
        at += length
    return found


def _arrow(rows: HashedRows) -> bytes:
    from pyarrow import ipc  # noqa: PLC0415 # pyarrow takes 0.2 s

    batch, sink = rows.to_batch(), io.BytesIO()
    with ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def _rows(data: bytes) -> HashedRows:
    from pyarrow import ArrowInvalid, ipc  # noqa: PLC0415 # the same

    try:
        with ipc.open_stream(data) as reader:
            return HashedRows.from_batch(reader.read_next_batch())
    except (ArrowInvalid, StopIteration):
        raise DataError("These bytes are no hashed rows.") from None
