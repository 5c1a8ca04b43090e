"""Shadow models: trained as the owner trains, on people that the attacker knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from halfmask._errors import DataError, ParameterError
from halfmask._foreign import foreign
from halfmask._validation import integer_at_least
from halfmask.assess.attacks._answers import pool_labels
from halfmask.assess.attacks._model_queries import ModelQueries
from halfmask.assess.attacks.membership._answers import of_truth
from halfmask.assess.attacks.membership._rows import joined, taken
from halfmask.assess.attacks.membership._view import ORIGINAL, TRAINED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.assess.attacks._targets import ModelTarget

#: The missing input of a target that can't train shadow models.
LACKS_TRAIN = "'train', which trains shadow models as the owner trains"

#: Shadow models of each target, as long as it lives: by seed and number of the model.
_TRAINED: WeakKeyDictionary[ModelTarget, dict[tuple[int, int], Shadow]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shadow:
    """The answers of one shadow model about everyone, members first and then non-members."""

    inside: NDArray[np.bool_]
    probabilities: dict[str, NDArray[np.float32]]
    of_truth: dict[str, NDArray[np.float64]]
    truth: NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shadows:
    """The answers of all shadow models."""

    inside: NDArray[np.bool_]
    of_truth: dict[str, NDArray[np.float64]]


def check_shadows(n_shadows: int, *, owner: str, least: int = 4) -> None:
    """Raise ParameterError unless the number of shadow models is even and not below the least."""
    integer_at_least(least, owner=owner, n_shadows=n_shadows)
    if n_shadows % 2:
        raise ParameterError(
            f"The 'n_shadows' parameter of {owner} must be even. Got {n_shadows}.",
            hint="Each split of the people trains two models, one on each side.",
        )


def balanced_splits(n_people: int, n_models: int, *, random_state: int) -> NDArray[np.bool_]:
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
    everyone = joined(target.members, target.non_members)
    who = f"Shadow model {number + 1}"
    places = np.flatnonzero(inside)
    model = _train(target, taken(everyone, places), labels[places], (random_state, 5, number), who)
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
