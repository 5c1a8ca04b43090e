"""Worst case: one client sends what harms a model most, with the weight that it may claim."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from halfmask._foreign import foreign
from halfmask.assess.attacks._arms import Certain
from halfmask.assess.attacks._attack import DeclaredAttack, given, required
from halfmask.assess.attacks._outcome import Outcome
from halfmask.assess.attacks._trainer_target import TrainerTarget
from halfmask.assess.attacks.hashing._picking import labels_of, picked
from halfmask.assess.attacks.hashing._poison import batches_of, lost, n_poisoned, trained, woven
from halfmask.assess.attacks.hashing._predictions import predicted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.assess.attacks.hashing._poison import Trained
    from halfmask.hashing import HashedRows

    #: Which of the public rows are sent, and under which labels.
    _Recipe: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]

_PLACES = ("last", "late", "spread")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstCasePoisoning(
    DeclaredAttack,
    name="hashing/worst-case-poisoning",
    target=TrainerTarget,
    needs=(given("public", "public rows"),),
):
    """Send the rows that cost the model most, as one client, by several recipes.

    Parameters
    ----------
    share
        The poisoned rows' share of all, in (0, 0.5].
    weights
        What importance the rows are sent with; each is tried. ``1``: no weight is claimed.

    Notes
    -----
    Recipes: rows drawn at random with flipped labels; the rows with the surest predictions of a
    model of the public rows, flipped; the most usual rows of the more frequent class, under the
    other label. Each is sent at the end, where nothing comes after it, after nine tenths, where a
    defence has time to see it, and spread over the stream, with each of the weights. After
    Jagielski et al., "Manipulating machine learning" (S&P 2018), and Wang and Chaudhuri, "Data
    poisoning attacks against online learning" (2018), who show that the end of a stream is where it
    hurts. No search finds the true worst: this is a lower bound of the harm.
    """

    share: float = field(default=0.03, metadata={"gt": 0, "le": 0.5})
    weights: tuple[float, ...] = field(
        default=(1.0, 1000.0), metadata={"of": "weights", "gt": 0, "le": 1e6}
    )

    def run(self, target: TrainerTarget, *, random_state: int) -> tuple[Outcome, ...]:
        """Train once without and once with each poison; return the worst loss."""
        public = required(target.public, "public rows")
        rng = np.random.default_rng(random_state)
        honest = list(target.stream)
        before = trained(target, honest)
        n = n_poisoned(target, self.share)
        recipes = {
            "random": _random(public, n, rng),
            "surest": _surest(target, public, n),
            "usual": _usual(public, n),
        }
        after: dict[str, Trained] = {}
        for (recipe, (places, labels)), weight, where in product(
            recipes.items(), self.weights, _PLACES
        ):
            claimed = None if weight == 1 else weight
            rows = picked(public, places, labels=labels, weight=claimed)
            stream = woven(honest, batches_of(target, rows), where)
            after[f"{recipe}, weight {weight:g}, {where}"] = trained(target, stream)
        worst = min(after, key=lambda each: after[each].accuracy)
        return (
            Outcome(
                attack=self.name,
                measure="accuracy lost",
                success=lost(before, after[worst], rng),
                control=Certain(0.0),
                needed=500,
                needed_of="rows held out",
                details={
                    "accuracy without attack": before.accuracy,
                    **{f"accuracy under {each}": found.accuracy for each, found in after.items()},
                    "batches refused": float(after[worst].refused),
                },
            ),
        )


def _random(rows: HashedRows, n: int, rng: np.random.Generator) -> _Recipe:
    places = rng.choice(len(rows), n, replace=n > len(rows))
    return places, 1 - labels_of(rows)[places]


def _surest(target: TrainerTarget, rows: HashedRows, n: int) -> _Recipe:
    """Return the rows whose label a model of the attacker's own is surest of, flipped."""
    with foreign("The trainer failed to learn"):
        surrogate = target.make()
        surrogate.learn(rows, client="public")
    labels = labels_of(rows)
    order = np.argsort(np.abs(predicted(surrogate, rows) - labels), kind="stable")
    places = np.resize(order[: max(1, min(n, len(rows) // 2))], n)
    return places, 1 - labels[places]


def _usual(rows: HashedRows, n: int) -> _Recipe:
    """Return the most usual rows of the more frequent class under the other label."""
    labels = labels_of(rows)
    frequent = int(labels.mean() >= 0.5)
    bounds, indices, _ = rows.flat()
    seen, number = np.unique(indices, return_inverse=True)
    counts = np.bincount(number.ravel(), minlength=len(seen))[number.ravel()]
    of_row = np.repeat(np.arange(len(rows)), np.diff(bounds))
    total = np.bincount(of_row, weights=np.log(counts), minlength=len(rows))
    usual = total / np.maximum(np.diff(bounds), 1)
    order = np.argsort(np.where(labels == frequent, -usual, np.inf), kind="stable")
    places = np.resize(order[: max(1, min(n, int((labels == frequent).sum())))], n)
    return places, np.full(n, 1 - frequent, dtype=np.int64)
