"""Label flip: a few of the rows come with the wrong label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from halfmask._errors import ParameterError
from halfmask._validation import number_between
from halfmask.assess.attacks._arms import Certain
from halfmask.assess.attacks._outcome import Outcome
from halfmask.assess.attacks._trainer_target import TrainerTarget
from halfmask.assess.attacks.hashing._picking import labels_of, picked
from halfmask.assess.attacks.hashing._poison import batches_of, lost, n_poisoned, trained, woven

if TYPE_CHECKING:
    from halfmask.hashing import HashedRows


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelFlip:
    """Send rows of the population with the wrong label, spread over the stream.

    Parameters
    ----------
    share
        The poisoned rows' share of all, in (0, 0.5].

    Notes
    -----
    Biggio, Nelson and Laskov, "Poisoning attacks against support vector machines" (ICML 2012), with
    rows drawn at random. Measured is the accuracy lost on held-out rows, compared with the same
    trainer without the attack. Without a defence random flips cost an online learner little, too:
    the attack then has no positive control, and its finding is INVALID.

    Examples
    --------
    >>> LabelFlip().name
    'hashing/label-flip'
    """

    name: ClassVar[str] = "hashing/label-flip"
    attacks: ClassVar[type] = TrainerTarget

    share: float = 0.03

    def __post_init__(self) -> None:
        number_between(0, 0.5, owner="LabelFlip", low_open=True, share=self.share)

    def missing_inputs(self, target: TrainerTarget) -> str:
        """Return what is missing: public rows."""
        return "" if target.public is not None else "public rows"

    def run(self, target: TrainerTarget, *, random_state: int) -> tuple[Outcome, ...]:
        """Train with and without the poisoned rows, and return the accuracy lost."""
        if target.public is None:
            raise ParameterError("This attack needs public rows.")
        rng = np.random.default_rng(random_state)
        before = trained(target, list(target.stream))
        poison = batches_of(target, _flipped(target.public, n_poisoned(target, self.share), rng))
        after = trained(target, woven(list(target.stream), poison, "spread"))
        return (
            Outcome(
                attack=self.name,
                measure="accuracy lost",
                success=lost(before, after, rng),
                control=Certain(0.0),
                needed=500,
                needed_of="rows held out",
                details={
                    "accuracy without attack": before.accuracy,
                    "accuracy under attack": after.accuracy,
                    "batches refused": float(after.refused),
                },
            ),
        )


def _flipped(rows: HashedRows, n: int, rng: np.random.Generator) -> HashedRows:
    places = rng.choice(len(rows), n, replace=n > len(rows))
    return picked(rows, places, labels=1 - labels_of(rows)[places])
