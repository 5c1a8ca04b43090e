"""View: the model's answers and whose membership is known, and the inputs of attacks in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import DataError
from halfmask.assess.attacks._answers import ModelQueries

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.assess._arrays import Bools, Floats, Ints
    from halfmask.assess.attacks._targets import ModelTarget


ORIGINAL = "original rows"
TRAINED = "trained rows"

#: Fewer can't be split into a known half and a judged half.
MIN_PEOPLE = 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class View:
    """A target's answers about all people, members first and then non-members."""

    rows: str
    probabilities: Floats
    truth: Ints
    member: Bools
    known: Bools
    group: Ints | None

    def only(self, who: Bools) -> View:
        """Return the view of some of the people."""
        return View(
            rows=self.rows,
            probabilities=self.probabilities[who],
            truth=self.truth[who],
            member=self.member[who],
            known=self.known[who],
            group=None if self.group is None else self.group[who],
        )


def views(target: ModelTarget, *, random_state: int) -> tuple[View, ...]:
    """Ask the model about everyone: by original rows and, where they differ, by trained rows.

    Non-members have only original rows. Both views know the same half.
    """
    counts = target.n_members, target.n_non_members
    if min(counts) < MIN_PEOPLE:
        raise DataError(
            f"Membership inference needs at least {MIN_PEOPLE} members and as many non-members. "
            f"Got {counts[0]} and {counts[1]}."
        )
    queries = ModelQueries.of(target)
    asked = [(ORIGINAL, target.members)]
    if target.trained_rows is not None:
        asked.append((TRAINED, target.trained_rows))
    others = queries.answers(target.model, target.non_members, counts[0], who="The model")
    member = np.arange(sum(counts)) < counts[0]
    known = _half_of_each(counts, random_state)
    return tuple(
        View(
            rows=name,
            probabilities=np.concatenate(
                [queries.answers(target.model, rows, 0, who="The model"), others]
            ),
            truth=queries.truth,
            member=member,
            known=known,
            group=None if target.groups is None else np.asarray(target.groups[1], dtype=np.int64),
        )
        for name, rows in asked
    )


def _half_of_each(counts: tuple[int, int], random_state: int) -> Bools:
    """Return the known people: a random half of the members and of the non-members."""
    rng = np.random.default_rng((random_state, 1))
    return np.concatenate([rng.permutation(n) < n // 2 for n in counts])


#: Below this a probability counts as this, where its logarithm is taken.
LEAST = 1e-6


def of_truth(probabilities: Floats, truth: Ints) -> Floats:
    """Return the probability of each row's true label."""
    found: Floats = np.take_along_axis(probabilities, truth[:, None], axis=1)[:, 0].clip(0.0, 1.0)
    return found


def features(probabilities: NDArray[np.floating[Any]], truth: Ints) -> Floats:
    """Return the attack model's inputs: f(x), the one-hot label, the label's probability and loss.

    The first two are the paper's figure 6; the others are functions of them that a small network
    would have to learn first.
    """
    right = of_truth(np.asarray(probabilities, dtype=np.float64), truth)
    one_hot = np.eye(probabilities.shape[1])[truth]
    loss = -np.log(right.clip(LEAST))
    return np.column_stack([probabilities, one_hot, right, loss])
