"""Rmia: the share of other people whose likelihood ratio a person's ratio dominates."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from halfmask.assess.attacks.membership._answers import LEAST
from halfmask.assess.attacks.membership._area import Area
from halfmask.assess.attacks.membership._scores import MembershipScores
from halfmask.assess.attacks.membership._shadows import ShadowAttack

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.assess.attacks.membership._shadows import Shadows, ShadowScorer
    from halfmask.assess.attacks.membership._view import View

#: The values of a that are tried by the offline attack.
TRIED = np.linspace(0.0, 1.0, 11)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rmia(ShadowAttack, name="membership/rmia"):
    """Compare the ratio p(x | model) / p(x) with that of other people (RMIA).

    Parameters
    ----------
    n_shadows
        How many reference models, even and at least 4: the shadow models of the other attacks.
    online
        Whether reference models trained with the person are used too.
    gamma
        At least 1: by which factor a ratio must be above another's to dominate it. The paper has 2,
        its authors' code 1.

    Notes
    -----
    Zarifzadeh, Liu and Shokri, "Low-cost high-power membership inference attacks" (ICML 2024):
    LR(x, z) = [p(x | model) / p(x)] / [p(z | model) / p(z)], and the score is the share of z from
    the population, here the known non-members, with LR(x, z) >= gamma. p(x) is the mean of what
    models with and without x give; offline it is ((1 + a)·p_out + (1 - a)) / 2, with the a that
    attacks the first reference model best.

    The score falls into as many steps as there are z: true positives at 0.1 % need 1,000 of them.
    """

    n_shadows: int = field(default=16, metadata={"ge": 4})
    online: bool = True
    gamma: float = field(default=1.0, metadata={"ge": 1})

    def _scorer(self, trained: Shadows, rows: str) -> ShadowScorer:
        weight = None if self.online else best_weight(trained, rows)
        details = {} if weight is None else {"a": weight}

        def scores(
            seen: NDArray[np.float64],
            by_shadows: NDArray[np.float64],
            inside: NDArray[np.bool_],
            view: View,
        ) -> MembershipScores:
            ratio = seen / typical(by_shadows, inside, weight=weight)
            z = ratio[view.known & ~view.member]
            return MembershipScores.unlearned(dominated(ratio, z, self.gamma), view, **details)

        return scores


def typical(
    by_shadows: NDArray[np.float64], inside: NDArray[np.bool_], *, weight: float | None
) -> NDArray[np.float64]:
    """Return p(x): the mean probability of each label, over models with and without the person."""
    outside = np.where(inside, 0.0, by_shadows).sum(axis=0) / (~inside).sum(axis=0)
    if weight is None:
        within = np.where(inside, by_shadows, 0.0).sum(axis=0) / inside.sum(axis=0)
    else:
        within = weight * outside + 1 - weight
    mean: NDArray[np.float64] = ((within + outside) / 2).clip(LEAST)
    return mean


def dominated(
    ratio: NDArray[np.float64], z: NDArray[np.float64], gamma: float
) -> NDArray[np.float64]:
    """Return for each ratio the share of `z` that it is at least `gamma` times as large as.

    Sorted once, so that millions of pairs cost a search each and not a comparison.

    Examples
    --------
    >>> dominated(np.array([1.0, 4.0]), np.array([0.5, 1.0, 3.0]), 2.0).round(2).tolist()
    [0.33, 0.67]
    """
    found: NDArray[np.float64] = np.searchsorted(np.sort(z) * gamma, ratio, side="right") / len(z)
    return found


def best_weight(trained: Shadows, rows: str) -> float:
    """Return the a with which the other models attack the first reference model best."""
    by_shadows, inside = trained.of_truth[rows], trained.inside
    first, rest = by_shadows[0], slice(1, None)
    # A person inside the first model is outside at least n/2 of the rest, and the others n/2 - 1.
    areas = [
        Area.of(first / typical(by_shadows[rest], inside[rest], weight=float(a)), inside[0]).value
        for a in TRIED
    ]
    return float(TRIED[int(np.argmax(areas))])
