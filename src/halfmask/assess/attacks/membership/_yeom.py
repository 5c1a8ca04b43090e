"""Yeom: membership inference by a threshold on the loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from halfmask.assess.attacks._targets import ModelTarget
from halfmask.assess.attacks.membership._answers import of_truth
from halfmask.assess.attacks.membership._reference_model import reference_view
from halfmask.assess.attacks.membership._scores import MembershipScores, measured
from halfmask.assess.attacks.membership._view import views

if TYPE_CHECKING:
    from halfmask.assess.attacks._outcome import Outcome
    from halfmask.assess.attacks.membership._view import View


@dataclass(frozen=True, slots=True, kw_only=True)
class Yeom:
    """Call a person a member if the model's loss on their row is low.

    Notes
    -----
    The adversary 1 of Yeom, Giacomelli, Fredrikson and Jha, "Privacy risk in machine learning:
    analyzing the connection to overfitting" (CSF 2018), whose threshold is the mean training loss.
    A forest's loss is 0 for most members and huge for few, and its mean far from the best
    threshold; so here it is the one that is best on the half of the people that the attacker knows,
    which is never a weaker attack. The cross-entropy -log p(label) falls as p(label) rises: scores
    are p(label) itself. Of a regressor, as in the paper, the loss is the squared error.

    Examples
    --------
    >>> Yeom().missing_inputs(None)
    ''
    """

    name: ClassVar[str] = "membership/yeom"
    attacks: ClassVar[type] = ModelTarget

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
            reference = None if other is None else (other, _scores(other))
            found += measured(
                self.name, view, _scores(view), random_state=random_state, reference=reference
            )
        return tuple(found)


def _scores(view: View) -> MembershipScores:
    return MembershipScores.unlearned(of_truth(view.probabilities, view.truth), view)
