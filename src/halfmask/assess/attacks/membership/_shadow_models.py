"""ShadowModels: an attack model that is trained on answers of shadow models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from halfmask.assess.attacks._targets import ModelTarget
from halfmask.assess.attacks.membership._answers import features
from halfmask.assess.attacks.membership._attack_model import checked_widths, learn
from halfmask.assess.attacks.membership._reference_model import reference_view
from halfmask.assess.attacks.membership._scores import MembershipScores, measured
from halfmask.assess.attacks.membership._shadows import LACKS_TRAIN, check_shadows, shadow
from halfmask.assess.attacks.membership._view import ORIGINAL, views

if TYPE_CHECKING:
    from halfmask.assess.attacks._outcome import Outcome
    from halfmask.assess.attacks.membership._attack_model import LearnedAttack
    from halfmask.assess.attacks.membership._shadows import Shadow
    from halfmask.assess.attacks.membership._view import View

#: The attack model is trained on so many answers, in all.
MAX_ANSWERS = 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowModels:
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

    Raises
    ------
    ParameterError
        If a number is too small, or `n_shadows` is odd.

    Notes
    -----
    Shokri, Stronati, Song and Shmatikov, "Membership inference attacks against machine learning
    models" (S&P 2017). It trains one attack model for each class; here the one-hot label is an
    input, so that rare classes don't have one that learned from a handful.

    Examples
    --------
    >>> ShadowModels(n_shadows=8).n_shadows
    8
    """

    name: ClassVar[str] = "membership/shadow"
    attacks: ClassVar[type] = ModelTarget
    n_shadows: int = 16
    hidden: tuple[int, ...] = (64, 32)
    trees: int = 100

    def __post_init__(self) -> None:
        check_shadows(self.n_shadows, owner="ShadowModels")
        hidden = checked_widths(self.hidden, self.trees, owner="ShadowModels")
        object.__setattr__(self, "hidden", hidden)

    def missing_inputs(self, target: ModelTarget) -> str:
        """Return that it needs a way to train, if the target has none."""
        return LACKS_TRAIN if target.train is None else ""

    def run(self, target: ModelTarget, *, random_state: int) -> tuple[Outcome, ...]:
        """Train shadow models once, attack, and return what was measured.

        Raises
        ------
        DataError
            If there are too few people, or a model can't be trained or fails to answer.
        """
        seen = views(target, random_state=random_state)
        trained = [
            shadow(target, number, random_state=random_state) for number in range(self.n_shadows)
        ]
        learned = self._learn(trained, random_state)
        found: list[Outcome] = []
        for view in seen:
            other = reference_view(target, view, random_state=random_state)
            reference = None if other is None else (other, _scores(learned, other))
            scores = _scores(learned, view)
            found += measured(
                self.name, view, scores, random_state=random_state, reference=reference
            )
        return tuple(found)

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


def _scores(learned: LearnedAttack, view: View) -> MembershipScores:
    values = learned.scores(features(view.probabilities, view.truth))
    areas = {f"{name}, choosing AUC": area for name, area in learned.areas.items()}
    return MembershipScores.unlearned(values, view, **areas)
