"""Shadows: models trained as the owner trains, on people of whom the attacker knows who."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from halfmask._errors import DataError, ParameterError
from halfmask._foreign import foreign
from halfmask._validation import integer_at_least
from halfmask.assess.attacks._answers import pool_labels
from halfmask.assess.attacks._asking import Asking
from halfmask.assess.attacks.membership._answers import of_truth
from halfmask.assess.attacks.membership._rows import joined, taken
from halfmask.assess.attacks.membership._view import ORIGINAL, TRAINED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.assess.attacks._targets import ModelTarget

__all__ = ["LACKS_TRAIN", "Shadow", "Shadows", "check_shadows", "halves", "shadow", "shadows"]

#: What a target lacks that can't train a shadow model.
LACKS_TRAIN = "'train', which trains shadow models as the owner trains"

#: What was trained for a target, as long as the target lives: by seed and number of the model.
_TRAINED: WeakKeyDictionary[ModelTarget, dict[tuple[int, int], Shadow]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shadow:
    """What one shadow model answers about everyone, members first and then non-members.

    Parameters
    ----------
    inside
        (people,): who trained it.
    probabilities
        (people, classes), by the kind of rows that members were scored by; by trained rows only of
        the first model, which stands for one that the owner didn't train.
    of_truth
        (people,): the probability of each one's true label, by the same.
    truth
        The number of each person's true class.
    """

    inside: NDArray[np.bool_]
    probabilities: dict[str, NDArray[np.float32]]
    of_truth: dict[str, NDArray[np.float64]]
    truth: NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shadows:
    """What all shadow models answer.

    Parameters
    ----------
    inside
        (models, people): who trained which model; everyone trained exactly half of them.
    of_truth
        (models, people): the probability of each person's true label, by the kind of rows that
        members were scored by.
    """

    inside: NDArray[np.bool_]
    of_truth: dict[str, NDArray[np.float64]]


def check_shadows(n_shadows: int, *, owner: str, least: int = 4) -> None:
    """Raise ParameterError unless the number of shadow models is even and not below the least."""
    integer_at_least(least, owner=owner, n_shadows=n_shadows)
    if n_shadows % 2:
        raise ParameterError(
            f"The 'n_shadows' parameter of {owner} must be even. Got {n_shadows}.",
            hint="Both halves of each split of the people train a model.",
        )


def halves(n_people: int, n_models: int, *, random_state: int) -> NDArray[np.bool_]:
    """Return who trains which model: each random split of all people serves two models, disjoint.

    So everyone is inside exactly half of the models, members and non-members alike, and how often
    somebody is inside says nothing of who he is. Models on overlapping samples of a small pool do
    not have that, and are biased in the attacker's favour (Jälkö et al., arXiv 2605.25819, 2026).

    Examples
    --------
    >>> halves(6, 4, random_state=0).sum(axis=0).tolist()
    [2, 2, 2, 2, 2, 2]
    """
    inside = np.zeros((n_models, n_people), dtype=bool)
    for pair in range(n_models // 2):
        # Drawn by its number, so that eight models are the first eight of sixteen.
        first = np.random.default_rng((random_state, 4, pair)).permutation(n_people) < n_people // 2
        inside[2 * pair], inside[2 * pair + 1] = first, ~first
    return inside


def shadows(target: ModelTarget, n_models: int, *, random_state: int) -> Shadows:
    """Return the target's shadow models, each trained once for a target and a seed.

    Raises
    ------
    DataError
        If a model can't be trained, or its answers are no probabilities of all rows.
    """
    trained = [shadow(target, number, random_state=random_state) for number in range(n_models)]
    kinds = trained[0].of_truth
    return Shadows(
        inside=np.stack([each.inside for each in trained]),
        of_truth={kind: np.stack([each.of_truth[kind] for each in trained]) for kind in kinds},
    )


def shadow(target: ModelTarget, number: int, *, random_state: int) -> Shadow:
    """Return one shadow model, trained by ``target.train`` on original rows, protection included.

    Raises
    ------
    DataError
        If it can't be trained, or its answers are no probabilities of all rows.
    """
    kept = _TRAINED.setdefault(target, {})
    if (random_state, number) not in kept:
        kept[random_state, number] = _trained(target, number, random_state)
    return kept[random_state, number]


def _trained(target: ModelTarget, number: int, random_state: int) -> Shadow:
    asking = Asking.of(target)
    labels, truth = pool_labels(target), asking.truth
    inside = halves(len(labels), number // 2 * 2 + 2, random_state=random_state)[number]
    everyone = joined(target.members, target.non_members)
    who = f"Shadow model {number + 1}"
    places = np.flatnonzero(inside)
    model = _train(target, taken(everyone, places), labels[places], (random_state, 5, number), who)
    given = {ORIGINAL: asking.answers(model, everyone, 0, who=who)}
    if target.trained_rows is not None:
        changed = asking.answers(model, target.trained_rows, 0, who=who)
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
    target: ModelTarget,
    rows: Any,  # noqa: ANN401 # a frame or an array
    labels: NDArray[Any],
    seeds: tuple[int, ...],
    who: str,
) -> Any:  # noqa: ANN401 # any model
    if target.train is None:
        raise DataError(f"{who} can't be trained: the target lacks {LACKS_TRAIN}.")
    drawn = int(np.random.default_rng(seeds).integers(2**31))
    with foreign(f"{who} couldn't be trained"):
        return target.train(rows, labels, drawn)
