"""Shadow models: trained as the owner trains, on known people, and the attacks by them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from halfmask._errors import DataError, ParameterError
from halfmask._foreign import foreign
from halfmask.assess.attacks._answers import ModelQueries, pool_labels
from halfmask.assess.attacks._attack import DeclaredAttack, Found, given
from halfmask.assess.attacks._rows import join_rows, take_rows
from halfmask.assess.attacks._targets import ModelTarget
from halfmask.assess.attacks.membership._scores import (
    LEAST,
    ORIGINAL,
    TRAINED,
    Area,
    MembershipScores,
    View,
    measured,
    of_truth,
    views,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from halfmask.assess._arrays import Bools, Floats, Ints, Model, Rows, Values
    from halfmask.assess.attacks._attack import Outcome


#: The missing input of a target that can't train shadow models.
TRAIN = "'train', which trains shadow models as the owner trains"
LACKS_TRAIN = given("train", TRAIN)

#: Scores: answers of the model, those of shadow models, who is inside of these, and the view.
ShadowScorer: TypeAlias = "Callable[[Floats, Floats, Bools, View], MembershipScores]"
#: Shadow models of each target, as long as it lives: by seed and number of the model.
_TRAINED: WeakKeyDictionary[ModelTarget, dict[tuple[int, int], Shadow]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shadow:
    """The answers of one shadow model about everyone, members first and then non-members."""

    inside: Bools
    probabilities: dict[str, NDArray[np.float32]]
    of_truth: dict[str, Floats]
    truth: Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shadows:
    """The answers of all shadow models."""

    inside: Bools
    of_truth: dict[str, Floats]


class ShadowAttack(DeclaredAttack, target=ModelTarget, needs=(LACKS_TRAIN,)):
    """An attack that compares the model's answers with those of shadow models, trained once."""

    __slots__ = ()
    n_shadows: int

    def __post_init__(self) -> None:
        DeclaredAttack.__post_init__(self)
        check_even(self)

    def _measure(self, target: ModelTarget, random_state: int) -> Found:
        asked = views(target, random_state=random_state)
        trained = shadows(target, self.n_shadows, random_state=random_state)
        score = self._scorer(trained, asked[0].rows)
        found: list[Outcome] = []
        for view in asked:
            by_shadows, inside = trained.of_truth[view.rows], trained.inside
            scores = score(of_truth(view.probabilities, view.truth), by_shadows, inside, view)
            reference = None
            if view.rows == TRAINED:  # the reference model, on people who didn't train it
                who, rest = ~inside[0], slice(1, None)
                arrays = by_shadows[0, who], by_shadows[rest, who], inside[rest, who]
                reference = view.only(who), score(*arrays, view.only(who))
            found += measured(
                self.name, view, scores, random_state=random_state, reference=reference
            )
        return tuple(found)

    def _scorer(self, trained: Shadows, rows: str) -> ShadowScorer:
        """Return what scores the people of a view; `rows` are those of the first."""
        raise NotImplementedError


def check_even(attack: Any) -> None:  # noqa: ANN401 # an attack with shadow models
    """Raise unless the number of shadow models is even."""
    if attack.n_shadows % 2:
        raise ParameterError(
            f"The 'n_shadows' parameter of {type(attack).__name__} must be even. "
            f"Got {attack.n_shadows}.",
            hint="Each split of the people trains two models, one on each side.",
        )


def balanced_splits(n_people: int, n_models: int, *, random_state: int) -> Bools:
    """Return whose rows train which model: both sides of each random split train one.

    So everyone is inside exactly half of the models, members and non-members alike, and the number
    of models with a person reveals nothing about membership. Models on overlapping samples of a
    small pool lack this property, and are biased in the attacker's favour (Jälkö et al., arXiv
    2605.25819, 2026).

    Examples
    --------
    >>> balanced_splits(6, 4, random_state=0).sum(axis=0).tolist()
    [2, 2, 2, 2, 2, 2]
    """
    inside = np.zeros((n_models, n_people), dtype=bool)
    for pair in range(n_models // 2):
        # Drawn by its number, so that eight models are the first eight of sixteen.
        first = np.random.default_rng((random_state, 4, pair)).permutation(n_people) < n_people // 2
        inside[2 * pair], inside[2 * pair + 1] = first, ~first
    return inside


def shadows(target: ModelTarget, n_models: int, *, random_state: int) -> Shadows:
    """Return the target's shadow models, each trained once for a target and a seed."""
    trained = [shadow(target, number, random_state=random_state) for number in range(n_models)]
    kinds = trained[0].of_truth
    return Shadows(
        inside=np.stack([each.inside for each in trained]),
        of_truth={kind: np.stack([each.of_truth[kind] for each in trained]) for kind in kinds},
    )


def shadow(target: ModelTarget, number: int, *, random_state: int) -> Shadow:
    """Return a shadow model, trained by ``target.train`` on original rows, protection included."""
    kept = _TRAINED.setdefault(target, {})
    if (random_state, number) not in kept:
        kept[random_state, number] = _trained(target, number, random_state)
    return kept[random_state, number]


def _trained(target: ModelTarget, number: int, random_state: int) -> Shadow:
    queries = ModelQueries.of(target)
    labels, truth = pool_labels(target), queries.truth
    inside = balanced_splits(len(labels), number // 2 * 2 + 2, random_state=random_state)[number]
    everyone = join_rows(target.members, target.non_members)
    who = f"Shadow model {number + 1}"
    places = np.flatnonzero(inside)
    model = _train(
        target, take_rows(everyone, places), labels[places], (random_state, 5, number), who
    )
    given = {ORIGINAL: queries.answers(model, everyone, 0, who=who)}
    if target.trained_rows is not None:
        changed = queries.answers(model, target.trained_rows, 0, who=who)
        given[TRAINED] = np.concatenate([changed, given[ORIGINAL][len(changed) :]])
    return Shadow(
        inside=inside,
        probabilities={
            kind: each.astype(np.float32)
            for kind, each in given.items()
            if kind == ORIGINAL or not number
        },
        of_truth={kind: of_truth(each, truth) for kind, each in given.items()},
        truth=truth,
    )


def _train(
    target: ModelTarget, rows: Rows, labels: Values, seeds: tuple[int, ...], who: str
) -> Model:
    if target.train is None:
        raise DataError(f"{who} can't be trained: the target lacks {TRAIN}.")
    drawn = int(np.random.default_rng(seeds).integers(2**31))
    with foreign(f"{who} couldn't be trained"):
        return target.train(rows, labels, drawn)


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
        self, seen: Floats, by_shadows: Floats, inside: Bools, view: View
    ) -> MembershipScores:
        ratios = likelihood_ratios(
            logits(seen, self.clip),
            logits(by_shadows, self.clip),
            inside,
            online=self.online,
            per_person_spread=self.per_person_spread,
        )
        return MembershipScores.unlearned(ratios, view)


def logits(right: Floats, clip: float) -> Floats:
    """Return log(p / (1 - p)) of probabilities, held away from 0 and 1."""
    held = right.clip(clip, 1 - clip)
    return np.asarray(np.log(held) - np.log1p(-held))


def likelihood_ratios(
    seen: Floats, by_shadows: Floats, inside: Bools, *, online: bool, per_person_spread: bool
) -> Floats:
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


def _normal(by_shadows: Floats, used: Bools, *, per_person_spread: bool) -> tuple[Floats, Floats]:
    """Return mean and spread of each person over the models that are used."""
    count = used.sum(axis=0)
    mean = np.where(used, by_shadows, 0.0).sum(axis=0) / count
    squares = np.where(used, (by_shadows - mean) ** 2, 0.0).sum(axis=0)
    if per_person_spread:
        return mean, np.sqrt(squares / count).clip(MIN_SPREAD)
    # A mean was estimated for each person: that many squares are missing.
    spread = squares.sum() / max(1, (count - 1).sum())
    return mean, np.full(len(mean), np.sqrt(spread).clip(MIN_SPREAD))


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

        def scores(seen: Floats, by_shadows: Floats, inside: Bools, view: View) -> MembershipScores:
            ratio = seen / typical(by_shadows, inside, weight=weight)
            z = ratio[view.known & ~view.member]
            return MembershipScores.unlearned(dominated(ratio, z, self.gamma), view, **details)

        return scores


def typical(by_shadows: Floats, inside: Bools, *, weight: float | None) -> Floats:
    """Return p(x): the mean probability of each label, over models with and without the person."""
    outside = np.where(inside, 0.0, by_shadows).sum(axis=0) / (~inside).sum(axis=0)
    if weight is None:
        within = np.where(inside, by_shadows, 0.0).sum(axis=0) / inside.sum(axis=0)
    else:
        within = weight * outside + 1 - weight
    return np.asarray(((within + outside) / 2).clip(LEAST))


def dominated(ratio: Floats, z: Floats, gamma: float) -> Floats:
    """Return for each ratio the share of `z` that it is at least `gamma` times as large as.

    Sorted once, so that millions of pairs cost a search each and not a comparison.

    Examples
    --------
    >>> dominated(np.array([1.0, 4.0]), np.array([0.5, 1.0, 3.0]), 2.0).round(2).tolist()
    [0.33, 0.67]
    """
    return np.asarray(np.searchsorted(np.sort(z) * gamma, ratio, side="right") / len(z))


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
