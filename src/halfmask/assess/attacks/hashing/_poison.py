"""What a poisoner sends, where in the stream, and how much accuracy it costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import HalfmaskError
from halfmask._foreign import foreign
from halfmask.assess.attacks._arms import Resampled
from halfmask.assess.attacks.hashing._picking import labels_of
from halfmask.assess.attacks.hashing._predictions import predicted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.assess.attacks._trainer_target import TrainerTarget
    from halfmask.hashing import HashedRows

INTRUDER = "the attacker"
_REPLICATES = 200


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trained:
    """What came of a stream: for each row held out whether it is predicted rightly."""

    right: NDArray[np.bool_]
    refused: int

    @property
    def accuracy(self) -> float:
        """The share of rows held out that are predicted rightly."""
        return float(self.right.mean())


def trained(target: TrainerTarget, stream: list[tuple[str, HashedRows]]) -> Trained:
    """Train on a stream; a batch that the trainer refuses is lost to its client alone."""
    refused = 0
    # around the whole stream: a crash is no refusal
    with foreign("The trainer failed to learn"):
        trainer = target.make()
        for client, rows in stream:
            try:
                trainer.learn(rows, client=client)
            except HalfmaskError:
                refused += 1
    predicted_positive = predicted(trainer, target.holdout) >= 0.5
    right = predicted_positive == (labels_of(target.holdout) == 1)
    return Trained(right=right, refused=refused)


def n_poisoned(target: TrainerTarget, share: float) -> int:
    """Return how many rows are this share of all, their own number among them."""
    honest = sum(len(rows) for _, rows in target.stream)
    return max(1, round(share * honest / (1 - share)))


def batches_of(target: TrainerTarget, rows: HashedRows) -> list[tuple[str, HashedRows]]:
    """Return a poisoner's rows in batches as large as the honest ones."""
    size = int(np.median([len(each) for _, each in target.stream]))
    starts = range(0, len(rows), size)
    return [(INTRUDER, rows.slice(start, start + size)) for start in starts]


def woven(
    honest: list[tuple[str, HashedRows]], poison: list[tuple[str, HashedRows]], place: str
) -> list[tuple[str, HashedRows]]:
    """Return both streams as one: the poison ``"last"``, ``"late"``, or ``"spread"`` evenly."""
    if place != "spread":
        at = len(honest) if place == "last" else round(0.9 * len(honest))
        return [*honest[:at], *poison, *honest[at:]]
    after = (np.arange(len(poison)) + 1) * len(honest) // (len(poison) + 1)
    found: list[tuple[str, HashedRows]] = []
    for at, each in enumerate(honest):
        found += [batch for batch, where in zip(poison, after, strict=True) if where == at]
        found.append(each)
    return found


def lost(before: Trained, after: Trained, rng: np.random.Generator) -> Resampled:
    """Return the accuracy that was lost, rows held out resampled."""
    change = before.right.astype(np.float64) - after.right
    n = len(change)
    weights = rng.multinomial(n, np.full(n, 1 / n), _REPLICATES)
    return Resampled.of(float(change.mean()), weights @ change / n, n)
