"""The setup of an attribute inference: targets, controls, known people, imputation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import DataError
from halfmask.assess.attacks._answers import classes_of_model, pool_labels
from halfmask.assess.attacks.attributes._imputation import Imputation, fitted_imputation
from halfmask.assess.attacks.attributes._rows import column_names, column_of, taken
from halfmask.assess.attacks.attributes._secret import (
    SecretColumn,
    factorised,
    numbers_apart,
    origin_of,
    secret_of,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.assess.attacks._targets import ModelTarget

#: The fewest people of each subpopulation.
NEEDED = 50
#: The most known people that the attacker trains on: more take time and change little.
MAX_KNOWN = 20_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Subpopulation:
    """A subpopulation: some of the members, or some of the non-members."""

    places: NDArray[np.int64]
    rows: Any
    labels: NDArray[np.int64]
    true: NDArray[Any]
    features: NDArray[np.float64]
    secret: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.secret)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InferenceSetup:
    """The subpopulations of one inference."""

    secret: SecretColumn
    known: Subpopulation
    targets: Subpopulation
    held_out: Subpopulation
    controls: Subpopulation
    imputed: Imputation


def inference_setup(
    target: ModelTarget,
    column: str | int,
    *,
    bins: int,
    positive: Any,  # noqa: ANN401 # a value of the column
    learner: Any,  # noqa: ANN401 # a classifier
    with_known: bool,
    random_state: int,
) -> InferenceSetup:
    """Split the people at random, and fit the imputation without the model.

    Half of the non-members are held out, the others are controls. There are as many known members
    as held-out people, so that both training sets are of one size.
    """
    secret = secret_of(target.members, target.non_members, column, bins=bins, positive=positive)
    n_members, n_others = target.n_members, target.n_non_members
    n_held_out = min(n_others // 2, MAX_KNOWN, *([n_members // 2] if with_known else []))
    n_known = n_held_out if with_known else 0
    least = min(n_held_out, n_members - n_known, n_others - n_held_out)
    if least < NEEDED:
        raise DataError(
            f"Attribute inference needs at least {2 * NEEDED} members and as many non-members. "
            f"Got {n_members} and {n_others}."
        )
    rng = np.random.default_rng(random_state)
    ours, theirs = rng.permutation(n_members), rng.permutation(n_others)
    pooled = pool_labels(target)
    features = _features(target, column, pooled)
    labels = _places(pooled, classes_of_model(target.model, pooled))

    def people(places: NDArray[np.int64], *, members: bool) -> Subpopulation:
        at = places if members else places + n_members
        return Subpopulation(
            places=places,
            rows=taken(target.members if members else target.non_members, places),
            labels=labels[at],
            true=pooled[at],
            features=features[at],
            secret=(secret.members if members else secret.non_members)[places],
        )

    held_out = people(theirs[:n_held_out], members=False)
    return InferenceSetup(
        secret=secret,
        known=people(ours[:n_known], members=True),
        targets=people(ours[n_known:], members=True),
        held_out=held_out,
        controls=people(theirs[n_held_out:], members=False),
        imputed=fitted_imputation(
            learner, held_out.features, held_out.secret, n_values=len(secret), rng=rng
        ),
    )


def _features(target: ModelTarget, secret: str | int, labels: NDArray[Any]) -> NDArray[np.float64]:
    """Return the other columns and the label of members and then non-members, as numbers."""
    columns = [name for name in column_names(target.members) if name != secret]
    found = [
        np.concatenate([column_of(target.members, name), column_of(target.non_members, name)])
        for name in columns
    ]
    found.append(factorised(labels)[0])
    numbers = [each if each.dtype.kind in "iufb" else factorised(each)[0] for each in found]
    return np.column_stack([_present(numbers_apart(each, origin_of(each))) for each in numbers])


def _present(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Put missing and infinite values below all numbers: not every learner takes them."""
    there = np.isfinite(values)
    return np.where(there, values, values[there].min() - 1 if there.any() else 0.0)


def _places(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the place of each label among the model's classes; -1 if it isn't there."""
    order = np.argsort(classes)
    places = order[np.minimum(np.searchsorted(classes, labels, sorter=order), len(classes) - 1)]
    return np.where(classes[places] == labels, places, -1).astype(np.int64)
