"""Who is attacked, who is known to the attacker, and what he guesses without the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import DataError
from halfmask.assess.attacks._answers import own_classes, pool_labels
from halfmask.assess.attacks.attributes._learning import Guesser, taught
from halfmask.assess.attacks.attributes._rows import column_names, column_of, taken
from halfmask.assess.attacks.attributes._secret import SecretColumn, factorised, secret_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.assess.attacks._targets import ModelTarget

__all__ = ["MOST_KNOWN", "NEEDED", "InferenceScene", "Party", "scene_of"]

#: How many people each party must have at least.
NEEDED = 50
#: How many known people teach the attacker at most: more take time and change little.
MOST_KNOWN = 20_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Party:
    """Some of the people.

    Parameters
    ----------
    places
        Where they stand among the members, or among the non-members.
    rows
        Their rows as the model takes them.
    labels
        The column of the model's output that is of their true label; -1 for a label it never saw.
    true
        Their true label itself.
    features
        Their other columns and their label, as numbers for a learner.
    secret
        The number of their value of the secret column.
    """

    places: NDArray[np.int64]
    rows: Any
    labels: NDArray[np.int64]
    true: NDArray[Any]
    features: NDArray[np.float64]
    secret: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.secret)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InferenceScene:
    """Everybody's part in one inference.

    Parameters
    ----------
    secret
        What is to be inferred.
    known
        Members whose secret the attacker knows; empty if he needs none.
    targets
        The members that are attacked.
    held_out
        Non-members whose secret he knows: what he'd learn without the model he learns of them.
    controls
        The non-members that are attacked.
    imputed
        His guess without the model.
    """

    secret: SecretColumn
    known: Party
    targets: Party
    held_out: Party
    controls: Party
    imputed: Guesser


def scene_of(  # who knows what
    target: ModelTarget,
    column: str | int,
    *,
    bins: int,
    positive: Any,  # noqa: ANN401 # a value of the column
    learner: Any,  # noqa: ANN401 # a classifier
    with_known: bool,
    random_state: int,
) -> InferenceScene:
    """Share the people out at random, and teach the attacker what he'd know without the model.

    Half of the non-members are held out, the others are controls. With known members there are as
    many of them as of those held out, so that neither teaches more by number.

    Raises
    ------
    DataError
        If a party would be too small, or a label is missing.
    """
    secret = secret_of(target.members, target.non_members, column, bins=bins, positive=positive)
    n_members, n_others = target.n_members, target.n_non_members
    n_held_out = min(n_others // 2, MOST_KNOWN, *([n_members // 2] if with_known else []))
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
    labels = _places(pooled, own_classes(target.model, pooled))

    def party(places: NDArray[np.int64], *, members: bool) -> Party:
        at = places if members else places + n_members
        return Party(
            places=places,
            rows=taken(target.members if members else target.non_members, places),
            labels=labels[at],
            true=pooled[at],
            features=features[at],
            secret=(secret.members if members else secret.non_members)[places],
        )

    held_out = party(theirs[:n_held_out], members=False)
    return InferenceScene(
        secret=secret,
        known=party(ours[:n_known], members=True),
        targets=party(ours[n_known:], members=True),
        held_out=held_out,
        controls=party(theirs[n_held_out:], members=False),
        imputed=taught(learner, held_out.features, held_out.secret, n_values=len(secret), rng=rng),
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
    return np.column_stack([_present(each.astype(np.float64)) for each in numbers])


def _present(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Put what is missing or infinite below all numbers: not every learner takes it."""
    there = np.isfinite(values)
    return np.where(there, values, values[there].min() - 1 if there.any() else 0.0)


def _places(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the place of everybody's label among the model's classes; -1 if it isn't there."""
    order = np.argsort(classes)
    places = order[np.minimum(np.searchsorted(classes, labels, sorter=order), len(classes) - 1)]
    return np.where(classes[places] == labels, places, -1).astype(np.int64)
