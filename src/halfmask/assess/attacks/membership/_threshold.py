"""Membership by a threshold on one score of a person: correctness, loss, or a learned score."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from halfmask.assess.attacks._attack import DeclaredAttack
from halfmask.assess.attacks._model_queries import LACKS_CLASSES, is_regressor
from halfmask.assess.attacks._targets import ModelTarget
from halfmask.assess.attacks.membership._answers import features, of_truth
from halfmask.assess.attacks.membership._attack_model import learn
from halfmask.assess.attacks.membership._reference_model import held_out, reference_view
from halfmask.assess.attacks.membership._scores import MembershipScores, measured
from halfmask.assess.attacks.membership._view import views

if TYPE_CHECKING:
    from collections.abc import Callable

    from halfmask.assess.attacks._outcome import Outcome
    from halfmask.assess.attacks.membership._attack_model import LearnedAttack
    from halfmask.assess.attacks.membership._view import View


class ThresholdAttack(DeclaredAttack, target=ModelTarget):
    """An attack that scores the people of a view, one after the other."""

    __slots__ = ()

    def run(self, target: ModelTarget, *, random_state: int) -> tuple[Outcome, ...]:
        """Attack, and return what was measured for everyone and the worst subgroup."""
        found: list[Outcome] = []
        asked = views(target, random_state=random_state)
        score = self._scorer(target, random_state)
        for view in asked:
            seen, reference = view, None
            other = reference_view(target, view, random_state=random_state)
            if other is not None:
                reference = other, score(other)
                seen = self._beside(view, target, random_state)
            found += measured(
                self.name, seen, score(seen), random_state=random_state, reference=reference
            )
        return tuple(found)

    def _scorer(self, target: ModelTarget, random_state: int) -> Callable[[View], MembershipScores]:
        """Return what scores the people of a view."""
        raise NotImplementedError

    def _beside(self, view: View, target: ModelTarget, random_state: int) -> View:  # noqa: ARG002 # one learns
        """Return the people who are compared with those of the reference model."""
        return view


def lacking_classes(target: ModelTarget) -> str:
    """Return that an attack needs a classifier, if the model predicts numbers."""
    return LACKS_CLASSES if is_regressor(target.model, target.member_labels) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap(ThresholdAttack, name="membership/gap", needs=(lacking_classes,)):
    """Call a person a member if the model predicts their label correctly.

    Needs only predicted labels, and no known memberships. Its balanced accuracy is
    0.5 + (training accuracy - test accuracy) / 2; with two scores there is no curve to measure.

    Notes
    -----
    The adversary 2 of Yeom, Giacomelli, Fredrikson and Jha, "Privacy risk in machine learning:
    analyzing the connection to overfitting" (CSF 2018).

    **Edge cases.** A regressor is never quite right, and isn't attacked. Of classes that are
    equally likely the first counts as predicted.
    """

    def _scorer(self, target: ModelTarget, random_state: int) -> Callable[[View], MembershipScores]:  # noqa: ARG002 # nothing is drawn
        return _correctness


def _correctness(view: View) -> MembershipScores:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Yeom(ThresholdAttack, name="membership/yeom"):
    """Call a person a member if the model's loss on their row is low.

    Notes
    -----
    The adversary 1 of Yeom, Giacomelli, Fredrikson and Jha, "Privacy risk in machine learning:
    analyzing the connection to overfitting" (CSF 2018), whose threshold is the mean training loss.
    A forest's loss is 0 for most members and huge for few, and its mean far from the best
    threshold; so here it is the one that is best on the half of the people that the attacker knows,
    which is never a weaker attack. The cross-entropy -log p(label) falls as p(label) rises: scores
    are p(label) itself. Of a regressor, as in the paper, the loss is the squared error.
    """

    def _scorer(self, target: ModelTarget, random_state: int) -> Callable[[View], MembershipScores]:  # noqa: ARG002 # nothing is drawn
        return lambda view: MembershipScores.unlearned(
            of_truth(view.probabilities, view.truth), view
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BlackBox(ThresholdAttack, name="membership/black_box"):
    """Learn membership from half of the members and non-members; test on the rest.

    Parameters
    ----------
    hidden
        The widths of the network's hidden layers, each at least 1.
    trees
        How many trees the forest has, at least 1.

    Notes
    -----
    The attack of Goldsteen et al., "Anonymizing machine learning models" (2021), figure 6, which is
    a shallower form of Nasr, Shokri and Houmansadr, "Machine learning with membership privacy using
    adversarial regularization" (CCS 2018): its inputs are f(x) and the one-hot label, with equal
    shares of members and non-members. A forest is trained in addition to the network.

    **Guarantees.** The better of the two and its threshold are chosen on a third of the known half,
    which neither was trained on; balanced accuracy, areas and rates are of the other half. The
    details have both areas of that third.
    """

    hidden: tuple[int, ...] = field(
        default=(64, 32), metadata={"of": "widths", "or_none": True, "ge": 1}
    )
    trees: int = field(default=100, metadata={"ge": 1})

    def _beside(self, view: View, target: ModelTarget, random_state: int) -> View:
        # Both attack models are trained on as many people.
        return view.only(held_out(target, random_state=random_state))

    def _scorer(self, target: ModelTarget, random_state: int) -> Callable[[View], MembershipScores]:  # noqa: ARG002 # of views alone
        def scores(view: View) -> MembershipScores:
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
                details=choosing_areas(learned),
            )

        return scores


def choosing_areas(learned: LearnedAttack) -> dict[str, float]:
    """Return the areas that an attack model was chosen by, as details."""
    return {f"{name}, choosing AUC": area for name, area in learned.areas.items()}
