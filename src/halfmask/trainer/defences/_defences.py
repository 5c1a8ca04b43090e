"""Defences: what a model is defended by, as it is written down."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

from halfmask._errors import ParameterError
from halfmask._validation import integer_at_least
from halfmask.trainer.defences._caps import ClientCaps, NormClip
from halfmask.trainer.defences._guard import Guard

if TYPE_CHECKING:
    from collections.abc import Mapping

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
