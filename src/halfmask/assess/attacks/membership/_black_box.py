"""BlackBox: an attack model learns from answers about known members and non-members."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from halfmask.assess.attacks._targets import ModelTarget
from halfmask.assess.attacks.membership._answers import features
from halfmask.assess.attacks.membership._attack_model import checked_widths, learn
from halfmask.assess.attacks.membership._reference_model import held_out, reference_view
from halfmask.assess.attacks.membership._scores import MembershipScores, measured
from halfmask.assess.attacks.membership._view import views

if TYPE_CHECKING:
    from halfmask.assess.attacks._outcome import Outcome
    from halfmask.assess.attacks.membership._view import View


@dataclass(frozen=True, slots=True, kw_only=True)
class BlackBox:
    """Learn membership from half of the members and non-members; test on the rest.

    Parameters
    ----------
    hidden
        The widths of the network's hidden layers, each at least 1.
    trees
        How many trees the forest has, at least 1.

    Raises
    ------
    ParameterError
        If a layer has no unit, or the forest no tree.

    Notes
    -----
    The attack of Goldsteen et al., "Anonymizing machine learning models" (2021), figure 6, which is
    a shallower form of Nasr, Shokri and Houmansadr, "Machine learning with membership privacy using
    adversarial regularization" (CCS 2018): its inputs are f(x) and the one-hot label, with equal
    shares of members and non-members. A forest is trained in addition to the network.

    **Guarantees.** The better of the two and its threshold are chosen on a third of the known half,
    which neither was trained on; balanced accuracy, areas and rates are of the other half. The
    details have both areas of that third.

    Examples
    --------
    >>> BlackBox(hidden=(32,)).missing_inputs(None)
    ''
    """

    name: ClassVar[str] = "membership/black_box"
    attacks: ClassVar[type] = ModelTarget
    hidden: tuple[int, ...] = (64, 32)
    trees: int = 100

    def __post_init__(self) -> None:
        hidden = checked_widths(self.hidden, self.trees, owner="BlackBox")
        object.__setattr__(self, "hidden", hidden)

    def missing_inputs(self, target: ModelTarget) -> str:  # noqa: ARG002 # an Attack's
        """Return nothing: every target has what this attack needs."""
        return ""

    def run(self, target: ModelTarget, *, random_state: int) -> tuple[Outcome, ...]:
        """Attack, and return what was measured for everyone and the worst subgroup.

        Raises
        ------
        DataError
            If there are too few people, or the model fails to answer.
        """
        found: list[Outcome] = []
        for view in views(target, random_state=random_state):
            other = reference_view(target, view, random_state=random_state)
            reference, seen = None, view
            if other is not None:  # both are trained on as many people
                reference = other, self._scores(other, random_state)
                seen = view.only(held_out(target, random_state=random_state))
            scores = self._scores(seen, random_state)
            found += measured(
                self.name, seen, scores, random_state=random_state, reference=reference
            )
        return tuple(found)

    def _scores(self, view: View, random_state: int) -> MembershipScores:
        inputs = features(view.probabilities, view.truth)
        known = np.flatnonzero(view.known)
        learned = learn(
            inputs[known],
            view.member[known],
            hidden=self.hidden,
            trees=self.trees,
            random_state=random_state,
        )
        choosing = np.zeros(len(view.known), dtype=bool)
        choosing[known[learned.held]] = True
        return MembershipScores(
            values=learned.scores(inputs),
            choosing=choosing,
            judged=~view.known,
            ranked=~view.known,
            details={f"{name}, choosing AUC": area for name, area in learned.areas.items()},
        )
