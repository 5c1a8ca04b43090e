"""Membership by a threshold on one score of a person: correctness, loss, or a learned score.

By trained rows it is compared with a reference model, the first shadow model, which was trained on
other people. It is one model, and no interval covers its luck in separating rows: intervals cover
the draw of people. So nothing is beyond doubt there with fewer trials than a measure needs. Attack
again with other seeds if a finding is near the tolerance.
`benchmarks/quality/false_alarms.py` counts how often this luck occurs.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import DataError
from halfmask.assess.attacks._answers import LACKS_CLASSES, is_regressor
from halfmask.assess.attacks._attack import DeclaredAttack, Found
from halfmask.assess.attacks._targets import ModelTarget
from halfmask.assess.attacks.membership._scores import (
    ORIGINAL,
    TRAINED,
    Area,
    MembershipScores,
    features,
    measured,
    of_truth,
    views,
)
from halfmask.assess.attacks.membership._shadows import LACKS_TRAIN, check_even, shadow

if TYPE_CHECKING:
    from collections.abc import Callable

    from halfmask.assess._arrays import Bools, Floats, Ints
    from halfmask.assess.attacks._attack import Outcome
    from halfmask.assess.attacks.membership._scores import View
    from halfmask.assess.attacks.membership._shadows import Shadow


#: More rows don't make a model of a handful of inputs better, only slower.
MAX_ROWS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LearnedAttack:
    """An attack model that was chosen on rows that it didn't learn from."""

    model: Any
    held: Ints
    areas: dict[str, float]

    def scores(self, inputs: Floats) -> Floats:
        """Return the probability that each row is of a member, in [0, 1]."""
        return np.asarray(self.model.predict_proba(inputs), dtype=np.float64)[:, 1]


def learn(
    inputs: Floats, member: Bools, *, hidden: tuple[int, ...], trees: int, random_state: int
) -> LearnedAttack:
    """Train a network and a forest on two thirds of the rows, and keep the better on the last.

    Learns from as many members as non-members, of whichever there are fewer.
    """
    rng = np.random.default_rng((random_state, 3))
    held = np.zeros(len(member), dtype=bool)
    training_rows: list[Ints] = []
    sides = [rng.permutation(np.flatnonzero(member == side)) for side in (True, False)]
    if min(len(side) for side in sides) < 3:
        raise DataError("An attack model needs at least 3 known members and 3 known non-members.")
    most = min(*(len(side) - len(side) // 3 for side in sides), MAX_ROWS // 2)
    for side in sides:
        held[side[: len(side) // 3]] = True
        training_rows.append(side[len(side) // 3 :][:most])
    places = rng.permutation(np.concatenate(training_rows))
    areas: dict[str, float] = {}
    models: dict[str, Any] = {}
    for name, model in _candidates(hidden, trees, len(places), int(rng.integers(2**31))):
        with warnings.catch_warnings():
            # A network that could learn longer is judged by what it has learnt.
            warnings.filterwarnings("ignore", message="Stochastic Optimizer")
            model.fit(inputs[places], member[places])
        models[name] = model
        of_member = model.predict_proba(inputs[held])[:, 1]
        areas[name] = Area.of(of_member, member[held]).value
    best = max(areas, key=lambda name: areas[name])
    return LearnedAttack(model=models[best], held=np.flatnonzero(held), areas=areas)


def _candidates(
    hidden: tuple[int, ...], trees: int, n_rows: int, random_state: int
) -> list[tuple[str, Any]]:
    from sklearn.ensemble import RandomForestClassifier  # noqa: PLC0415 # loads late
    from sklearn.neural_network import MLPClassifier  # noqa: PLC0415 # the same
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415 # the same
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415 # the same

    network = MLPClassifier(
        hidden,
        early_stopping=n_rows >= 200,  # of fewer a tenth doesn't show when to stop
        n_iter_no_change=5,
        max_iter=60,
        random_state=random_state,
    )
    # Ten rows to a leaf: it must rank confidences, not memorize people.
    forest = RandomForestClassifier(trees, min_samples_leaf=10, random_state=random_state, n_jobs=1)
    return [("network", make_pipeline(StandardScaler(), network)), ("forest", forest)]


def reference_view(target: ModelTarget, view: View, *, random_state: int) -> View | None:
    """Return the reference model's view, by trained rows, of people who didn't train it.

    Its predictions separate members from non-members only by their *rows*: the protection changed
    members' rows and not the others'. ``None`` for original rows, where nothing but membership
    differs, and for a target without `train`.
    """
    if view.rows != TRAINED or target.train is None:
        return None
    probabilities = (
        shadow(target, 0, random_state=random_state).probabilities[TRAINED].astype(np.float64)
    )
    return replace(view, probabilities=probabilities).only(
        held_out(target, random_state=random_state)
    )


def held_out(target: ModelTarget, *, random_state: int) -> Bools:
    """Return the people who didn't train the reference model."""
    return ~shadow(target, 0, random_state=random_state).inside


class ThresholdAttack(DeclaredAttack, target=ModelTarget):
    """An attack that scores the people of a view, one after the other."""

    __slots__ = ()

    def _measure(self, target: ModelTarget, random_state: int) -> Found:
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
