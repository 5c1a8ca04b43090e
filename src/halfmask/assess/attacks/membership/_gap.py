"""Gap: membership inference by correct predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from halfmask.assess.attacks._model_queries import LACKS_CLASSES, is_regressor
from halfmask.assess.attacks._targets import ModelTarget
from halfmask.assess.attacks.membership._reference_model import reference_view
from halfmask.assess.attacks.membership._scores import MembershipScores, measured
from halfmask.assess.attacks.membership._view import views

if TYPE_CHECKING:
    from halfmask.assess.attacks._outcome import Outcome
    from halfmask.assess.attacks.membership._view import View


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Call a person a member if the model predicts their label correctly.

    Needs only predicted labels, and no known memberships. Its balanced accuracy is
    0.5 + (training accuracy - test accuracy) / 2; with two scores there is no curve to measure.

    Notes
    -----
    The adversary 2 of Yeom, Giacomelli, Fredrikson and Jha, "Privacy risk in machine learning:
    analyzing the connection to overfitting" (CSF 2018).

    **Edge cases.** A regressor is never quite right, and isn't attacked. Of classes that are
    equally likely the first counts as predicted.

    Examples
    --------
    >>> Gap().name
    'membership/gap'
    """

    name: ClassVar[str] = "membership/gap"
    attacks: ClassVar[type] = ModelTarget

    def missing_inputs(self, target: ModelTarget) -> str:
        """Return that it needs a classifier, if the model predicts numbers."""
        return LACKS_CLASSES if is_regressor(target.model, target.member_labels) else ""

    def run(self, target: ModelTarget, *, random_state: int) -> tuple[Outcome, ...]:
        """Attack, and return balanced accuracy for everyone and the worst subgroup.

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
    right = view.probabilities.argmax(axis=1) == view.truth
    everyone = np.ones(len(right), dtype=bool)
    return MembershipScores(
        values=right.astype(np.float64),
        choosing=view.known,  # a subgroup only: there is no threshold to choose
        judged=everyone,
        ranked=everyone,
        threshold=0.5,
        ranks=False,
    )
