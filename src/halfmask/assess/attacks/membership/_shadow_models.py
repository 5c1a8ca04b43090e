"""ShadowModels: an attack model that is trained on answers of shadow models."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from halfmask.assess.attacks.membership._answers import features
from halfmask.assess.attacks.membership._attack_model import learn
from halfmask.assess.attacks.membership._scores import MembershipScores
from halfmask.assess.attacks.membership._shadows import LACKS_TRAIN, check_even, shadow
from halfmask.assess.attacks.membership._threshold import ThresholdAttack, choosing_areas
from halfmask.assess.attacks.membership._view import ORIGINAL

if TYPE_CHECKING:
    from collections.abc import Callable

    from halfmask.assess.attacks._targets import ModelTarget
    from halfmask.assess.attacks.membership._attack_model import LearnedAttack
    from halfmask.assess.attacks.membership._shadows import Shadow
    from halfmask.assess.attacks.membership._view import View

#: The attack model is trained on so many answers, in all.
MAX_ANSWERS = 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowModels(ThresholdAttack, name="membership/shadow", needs=(LACKS_TRAIN,)):
    """Learn membership from the answers of shadow models.

    Known memberships of the attacked model are needed only to choose the threshold.

    Parameters
    ----------
    n_shadows
        How many shadow models, even and at least 4; shared with the other attacks that have any.
    hidden
        The widths of the attack network's hidden layers, each at least 1.
    trees
        How many trees the attack forest has, at least 1.

    Notes
    -----
    Shokri, Stronati, Song and Shmatikov, "Membership inference attacks against machine learning
    models" (S&P 2017). It trains one attack model for each class; here the one-hot label is an
    input, so that rare classes don't have one that learned from a handful.
    """

    n_shadows: int = field(default=16, metadata={"ge": 4})
    hidden: tuple[int, ...] = field(
        default=(64, 32), metadata={"of": "widths", "or_none": True, "ge": 1}
    )
    trees: int = field(default=100, metadata={"ge": 1})

    def __post_init__(self) -> None:
        ThresholdAttack.__post_init__(self)
        check_even(self)

    def _scorer(self, target: ModelTarget, random_state: int) -> Callable[[View], MembershipScores]:
        learned = self._learn(
            [shadow(target, number, random_state=random_state) for number in range(self.n_shadows)],
            random_state,
        )

        def scores(view: View) -> MembershipScores:
            values = learned.scores(features(view.probabilities, view.truth))
            return MembershipScores.unlearned(values, view, **choosing_areas(learned))

        return scores

    def _learn(self, trained: list[Shadow], random_state: int) -> LearnedAttack:
        """Learn from answers of all shadow models, of each about as many people at random."""
        rng = np.random.default_rng((random_state, 6))
        n_people = len(trained[0].inside)
        size = min(MAX_ANSWERS // len(trained), n_people)
        people = [rng.choice(n_people, size=size, replace=False) for _ in trained]
        inputs = [
            features(each.probabilities[ORIGINAL][who], each.truth[who])
            for each, who in zip(trained, people, strict=True)
        ]
        inside = [each.inside[who] for each, who in zip(trained, people, strict=True)]
        return learn(
            np.concatenate(inputs),
            np.concatenate(inside),
            hidden=self.hidden,
            trees=self.trees,
            random_state=random_state,
        )
