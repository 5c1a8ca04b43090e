"""ShadowModels: an attack model learns from shadow models what membership looks like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from halfmask._validation import integer_at_least
from halfmask.assess.attacks._targets import ModelTarget
from halfmask.assess.attacks.membership._answers import features
from halfmask.assess.attacks.membership._learner import learn
from halfmask.assess.attacks.membership._scores import Scores, measured
from halfmask.assess.attacks.membership._shadows import LACKS_TRAIN, check_shadows, shadows
from halfmask.assess.attacks.membership._view import views

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.assess.attacks._outcome import Outcome
    from halfmask.assess.attacks.membership._learner import Learned
    from halfmask.assess.attacks.membership._shadows import Shadows

__all__ = ["ShadowModels"]

#: Of so many answers of shadow models the attack model learns, in all.
MOST_ANSWERS = 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowModels:
    """Learn to tell members by their answers from shadow models, of which all members are known.

    Nobody's membership in the attacked model is needed but to choose the threshold.

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
        for width in self.hidden:
            integer_at_least(1, owner="ShadowModels", hidden=width)
        integer_at_least(1, owner="ShadowModels", trees=self.trees)

    def lacks(self, target: ModelTarget) -> str:
        """Return that it needs a way to train, if the target has none."""
        return LACKS_TRAIN if target.train is None else ""

    def run(self, target: ModelTarget, *, seed: int) -> tuple[Outcome, ...]:
        """Train shadow models once, attack, and return what was measured.

        Raises
        ------
        DataError
            If there are too few people, or a model can't be trained or fails to answer.
        """
        seen = views(target, seed=seed)
        learned = self._learn(shadows(target, self.n_shadows, seed=seed), seed)
        found: list[Outcome] = []
        for view in seen:
            values = learned.scores(features(view.probabilities, view.truth))
            scores = Scores.unlearned(
                values, view, **{f"{name}, choosing AUC": a for name, a in learned.areas.items()}
            )
            found += measured(self.name, view, scores, seed=seed)
        return tuple(found)

    def _learn(self, trained: Shadows, seed: int) -> Learned:
        """Learn from answers of all shadow models, at random."""
        n_models, n_people = trained.inside.shape
        rng = np.random.default_rng((seed, 6))
        size = min(MOST_ANSWERS, n_models * n_people)
        places: NDArray[np.int64] = rng.choice(n_models * n_people, size=size, replace=False)
        model, person = np.divmod(places, n_people)
        inputs = features(trained.probabilities[model, person], trained.truth[person])
        return learn(
            inputs, trained.inside[model, person], hidden=self.hidden, trees=self.trees, seed=seed
        )
