"""Lira: the likelihood ratio of the model's confidence, with and without the person."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from halfmask.assess.attacks.membership._scores import MembershipScores
from halfmask.assess.attacks.membership._shadows import ShadowAttack

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.assess.attacks.membership._shadows import Shadows, ShadowScorer
    from halfmask.assess.attacks.membership._view import View

#: The smallest spread: the models' answers are no finer.
MIN_SPREAD = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Lira(ShadowAttack, name="membership/lira"):
    """Compare the model's confidence with that of shadow models (LiRA).

    Parameters
    ----------
    n_shadows
        How many shadow models, even and at least 6; shared with the other attacks that have any.
    online
        Whether shadow models trained with the person are used too. Without them (offline), the
        score is how unusually high the confidence is among the others.
    per_person_spread
        Whether each person has their own spread instead of a common one: better only from about 64
        shadow models on (section VI.C of the paper), since half of them estimate each.
    clip
        In (0, 0.5): confidences are clipped this far from 0 and 1. A forest of T trees has no steps
        finer than 1/T, and 0 and 1 have no logit.

    Notes
    -----
    Carlini, Chien, Nasr, Song, Terzis and Tramèr, "Membership inference attacks from first
    principles" (S&P 2022): confidences are logit-scaled, log(p / (1 - p)), and taken for normal.
    The spread for all is the pooled one within persons; the authors' code takes it over all
    persons and models at once, which mixes people's differences into it. Shadow models train on
    both sides of splits of members and non-members (see ``balanced_splits``).

    **Guarantees.** The same seed gives the same scores; everyone is inside exactly half of the
    shadow models, member or not.
    """

    #: Two models without a person show no spread.
    n_shadows: int = field(default=16, metadata={"ge": 6})
    online: bool = True
    per_person_spread: bool = False
    clip: float = field(default=1e-3, metadata={"gt": 0, "lt": 0.5})

    def _scorer(self, trained: Shadows, rows: str) -> ShadowScorer:  # noqa: ARG002 # one learns
        return self._scores

    def _scores(
        self,
        seen: NDArray[np.float64],
        by_shadows: NDArray[np.float64],
        inside: NDArray[np.bool_],
        view: View,
    ) -> MembershipScores:
        ratios = likelihood_ratios(
            logits(seen, self.clip),
            logits(by_shadows, self.clip),
            inside,
            online=self.online,
            per_person_spread=self.per_person_spread,
        )
        return MembershipScores.unlearned(ratios, view)


def logits(right: NDArray[np.float64], clip: float) -> NDArray[np.float64]:
    """Return log(p / (1 - p)) of probabilities, held away from 0 and 1."""
    held = right.clip(clip, 1 - clip)
    scaled: NDArray[np.float64] = np.log(held) - np.log1p(-held)
    return scaled


def likelihood_ratios(
    seen: NDArray[np.float64],
    by_shadows: NDArray[np.float64],
    inside: NDArray[np.bool_],
    *,
    online: bool,
    per_person_spread: bool,
) -> NDArray[np.float64]:
    """Return each person's score, higher for likelier members.

    Examples
    --------
    >>> by_shadows = np.array([[2.0], [0.0], [2.2], [0.2]])
    >>> inside = np.array([[True], [False], [True], [False]])
    >>> found = likelihood_ratios(
    ...     np.array([2.1]), by_shadows, inside, online=True, per_person_spread=False
    ... )
    >>> bool(found[0] > 0)
    True
    """
    out_mean, out_spread = _normal(by_shadows, ~inside, per_person_spread=per_person_spread)
    out_distance = (seen - out_mean) / out_spread
    if not online:
        return out_distance
    in_mean, in_spread = _normal(by_shadows, inside, per_person_spread=per_person_spread)
    in_distance = (seen - in_mean) / in_spread
    return (out_distance**2 - in_distance**2) / 2 + np.log(out_spread) - np.log(in_spread)


def _normal(
    by_shadows: NDArray[np.float64], used: NDArray[np.bool_], *, per_person_spread: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and spread of each person over the models that are used."""
    count = used.sum(axis=0)
    mean = np.where(used, by_shadows, 0.0).sum(axis=0) / count
    squares = np.where(used, (by_shadows - mean) ** 2, 0.0).sum(axis=0)
    if per_person_spread:
        return mean, np.sqrt(squares / count).clip(MIN_SPREAD)
    # A mean was estimated for each person: that many squares are missing.
    spread = squares.sum() / max(1, (count - 1).sum())
    return mean, np.full(len(mean), np.sqrt(spread).clip(MIN_SPREAD))
