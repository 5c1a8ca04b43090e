"""Shadows: models trained as the owner trains, on people of whom the attacker knows who."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from halfmask._errors import DataError, HalfmaskError, ParameterError
from halfmask._validation import integer_at_least
from halfmask.assess.attacks.membership._answers import answers, classes_of, of_truth
from halfmask.assess.attacks.membership._rows import joined, taken
from halfmask.assess.attacks.membership._view import ORIGINAL, TRAINED, pool_labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.assess.attacks._targets import ModelTarget

__all__ = ["LACKS_TRAIN", "Shadows", "check_shadows", "halves", "shadows"]

#: What a target lacks that can't train a shadow model.
LACKS_TRAIN = "'train', which trains shadow models as the owner trains"

#: What was trained for a target, as long as the target lives: by seed and number of models.
_TRAINED: WeakKeyDictionary[ModelTarget, dict[tuple[int, int], Shadows]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shadows:
    """What shadow models answer about everyone, members first and then non-members.

    Parameters
    ----------
    inside
        (models, people): who trained which model; everyone trained exactly half of them.
    of_truth
        (models, people): the probability of each person's true label, by the kind of rows that
        members were scored by.
    probabilities
        (models, people, classes), by original rows.
    truth
        The number of each person's true class.
    """

    inside: NDArray[np.bool_]
    of_truth: dict[str, NDArray[np.float64]]
    probabilities: NDArray[np.float32]
    truth: NDArray[np.int64]


def check_shadows(n_shadows: int, *, owner: str) -> None:
    """Raise ParameterError unless the number of shadow models is even and at least 4."""
    integer_at_least(4, owner=owner, n_shadows=n_shadows)
    if n_shadows % 2:
        raise ParameterError(
            f"The 'n_shadows' parameter of {owner} must be even. Got {n_shadows}.",
            hint="Both halves of each split of the people train a model.",
        )


def halves(n_people: int, n_models: int, *, seed: int) -> NDArray[np.bool_]:
    """Return who trains which model: each random split of all people serves two models, disjoint.

    So everyone is inside exactly half of the models, members and non-members alike, and how often
    somebody is inside says nothing of who he is. Models on overlapping samples of a small pool do
    not have that, and are biased in the attacker's favour (Jälkö et al., arXiv 2605.25819, 2026).

    Examples
    --------
    >>> halves(6, 4, seed=0).sum(axis=0).tolist()
    [2, 2, 2, 2, 2, 2]
    """
    rng = np.random.default_rng((seed, 4))
    inside = np.zeros((n_models, n_people), dtype=bool)
    for pair in range(n_models // 2):
        first = rng.permutation(n_people) < n_people // 2
        inside[2 * pair], inside[2 * pair + 1] = first, ~first
    return inside


def shadows(target: ModelTarget, n_models: int, *, seed: int) -> Shadows:
    """Return the target's shadow models, trained once for a target and a seed.

    Each is trained by ``target.train`` on the original rows of its half of members and non-members,
    protection included.

    Raises
    ------
    DataError
        If a model can't be trained, or its answers are no probabilities of all rows.
    """
    kept = _TRAINED.setdefault(target, {})
    if (seed, n_models) not in kept:
        kept[seed, n_models] = _train_all(target, n_models, seed)
    return kept[seed, n_models]


def _train_all(target: ModelTarget, n_models: int, seed: int) -> Shadows:
    labels = pool_labels(target)
    classes = classes_of(target.model, labels)
    truth = np.searchsorted(classes, labels).astype(np.int64)
    inside = halves(len(labels), n_models, seed=seed)
    seeds = np.random.default_rng((seed, 5)).integers(2**31, size=n_models)
    everyone = joined(target.members, target.non_members)
    vectors = np.empty((n_models, len(labels), len(classes)), dtype=np.float32)
    original = np.empty((n_models, len(labels)))
    trained = None if target.trained_rows is None else np.empty_like(original)
    for number in range(n_models):
        who = f"Shadow model {number + 1} of {n_models}"
        places = np.flatnonzero(inside[number])
        model = _train(target, taken(everyone, places), labels[places], int(seeds[number]), who)
        given = answers(model, everyone, classes, who=who)
        vectors[number] = given
        original[number] = of_truth(given, truth)
        if trained is not None:
            given = answers(model, target.trained_rows, classes, who=who)
            trained[number] = original[number]
            trained[number, : len(given)] = of_truth(given, truth[: len(given)])
    by_rows = {ORIGINAL: original} | ({} if trained is None else {TRAINED: trained})
    return Shadows(inside=inside, of_truth=by_rows, probabilities=vectors, truth=truth)


def _train(
    target: ModelTarget,
    rows: Any,  # noqa: ANN401 # a frame or an array
    labels: NDArray[Any],
    seed: int,
    who: str,
) -> Any:  # noqa: ANN401 # any model
    if target.train is None:
        raise DataError(f"{who} can't be trained: the target lacks {LACKS_TRAIN}.")
    try:
        return target.train(rows, labels, seed)
    except HalfmaskError:
        raise
    except Exception as error:  # noqa: BLE001 # whatever a stranger's training raises
        # Its own text may quote a cell, so only the type is told.
        raise DataError(f"{who} couldn't be trained: {type(error).__name__}.") from None
