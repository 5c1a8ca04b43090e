"""Label flip: a few of the rows come with the wrong label."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from halfmask.assess.attacks._arms import Certain
from halfmask.assess.attacks._attack import DeclaredAttack, given, required
from halfmask.assess.attacks._outcome import Outcome
from halfmask.assess.attacks._trainer_target import TrainerTarget
from halfmask.assess.attacks.hashing._picking import labels_of, picked
from halfmask.assess.attacks.hashing._poison import batches_of, lost, n_poisoned, trained, woven

if TYPE_CHECKING:
    from halfmask.hashing import HashedRows


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelFlip(
    DeclaredAttack,
    name="hashing/label-flip",
    target=TrainerTarget,
    needs=(given("public", "public rows"),),
):
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
    """

    share: float = field(default=0.03, metadata={"gt": 0, "le": 0.5})

    def run(self, target: TrainerTarget, *, random_state: int) -> tuple[Outcome, ...]:
        """Train with and without the poisoned rows, and return the accuracy lost."""
        public = required(target.public, "public rows")
        rng = np.random.default_rng(random_state)
        before = trained(target, list(target.stream))
        poison = batches_of(target, _flipped(public, n_poisoned(target, self.share), rng))
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
