"""The setup of an attribute inference: the secret, targets, controls, known people, imputation."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import DataError, ParameterError
from halfmask._foreign import foreign
from halfmask.assess.attacks._answers import classes_of_model, pool_labels
from halfmask.assess.attacks._rows import column_names, column_of, take_rows
from halfmask.data.arrays import is_missing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.assess._arrays import Bools, Floats, Ints, Model, Rows, Value, Values
    from halfmask.assess.attacks._targets import ModelTarget


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SecretColumn:
    """A column's values as numbers."""

    column: str | int
    members: Ints
    non_members: Ints
    candidates: Values
    positive: int = -1

    def __len__(self) -> int:
        return len(self.candidates)

    def __repr__(self) -> str:
        return f"Secret({self.column!r}, {len(self)} values)"


def secret_of(
    members: Rows, non_members: Rows, column: str | int, *, bins: int, positive: Value
) -> SecretColumn:
    """Give each value a number; numbers of more values than `bins` are cut at quantiles.

    What is missing has a number of its own, whatever stands for it.
    """
    ours, theirs = column_of(members, column), column_of(non_members, column)
    values = np.concatenate([ours, theirs])
    codes, there = factorised(values)
    if values.dtype.kind in "iuf" and len(there) > bins:
        origin = origin_of(values)
        numbers = numbers_apart(values, origin)
        found = numbers[len(ours) :][np.isfinite(theirs)]
        cuts = np.unique(np.quantile(found, np.arange(1, bins) / bins)) if len(found) else [0.0]
        used, codes = np.unique(_binned(numbers, cuts), return_inverse=True)
        middles = [np.median(numbers[codes.ravel() == each]) for each in range(len(used))]
        there = np.array([int(it) + origin if origin else it for it in middles], values.dtype)
        places = np.flatnonzero(used == _bin_of(positive, cuts, origin))
    else:
        places = np.flatnonzero(_same(there, positive))
    if len(there) < 2:
        raise DataError(f"Column {column!r} has one value only: there is nothing to infer.")
    if positive is not None and not len(places):
        raise ParameterError(f"The 'positive' parameter is no value of column {column!r}.")
    return SecretColumn(
        column=column,
        members=codes.ravel()[: len(ours)].astype(np.int64),
        non_members=codes.ravel()[len(ours) :].astype(np.int64),
        candidates=there,
        positive=int(places[0]) if positive is not None else -1,
    )


def factorised(values: Values) -> tuple[Ints, Values]:
    """Return a number for each value, the same for equal ones, and the values by number.

    What is missing among objects comes last; a text that reads like it is another value.
    """
    if values.dtype.kind != "O":
        _, first, codes = np.unique(values, return_index=True, return_inverse=True)
        return codes.ravel().astype(np.int64), values[first]
    gone = np.fromiter(map(is_missing, values), dtype=np.bool_, count=len(values))
    present = values[~gone]
    _, first, numbered = np.unique(present.astype(str), return_index=True, return_inverse=True)
    codes = np.full(len(values), len(first), dtype=np.int64)
    codes[~gone] = numbered.ravel()
    return codes, np.concatenate([present[first], values[gone][:1]])


def _same(values: NDArray[np.generic], wanted: Value) -> Bools:
    """Return which values are the one that is wanted; what is missing is none."""
    nothing = np.zeros(len(values), dtype=np.bool_)
    if not _is_value(wanted):
        return nothing
    if values.dtype.kind != "O":
        found = np.asarray(values == wanted)
        return found if found.shape == nothing.shape else nothing
    return np.array([not is_missing(each) and bool(each == wanted) for each in values])


def origin_of(values: Values) -> int:
    """Return where integers that floats don't hold are measured from, the least; else 0."""
    if values.dtype.kind not in "iu":
        return 0
    least, most = int(values.min()), int(values.max())
    return least if max(-least, most) > 2**53 else 0


def numbers_apart(values: Values, origin: int) -> Floats:
    """Return how far numbers are from an origin, which keeps their differences; 0: as they are."""
    if not origin:
        return values.astype(np.float64)
    # Differences of signed integers may be larger than these.
    return (values.astype(np.uint64) - np.uint64(origin % 2**64)).astype(np.float64)


def _bin_of(wanted: Value, cuts: Value, origin: int) -> int:
    """Return the number of a value's bin; one that no bin has, if it is no number."""
    try:
        if origin:
            wanted = (int(wanted) if isinstance(wanted, Integral) else float(wanted)) - origin
        number = np.array([wanted if _is_value(wanted) else "none"], dtype=np.float64)
    except (TypeError, ValueError):
        return -2
    return int(_binned(number, cuts)[0])


def _is_value(wanted: object) -> bool:
    return not is_missing(wanted) and not isinstance(wanted, list | tuple | np.ndarray)


def _binned(values: Floats, cuts: Value) -> Ints:
    """Return the number of each value's bin; what is missing has a bin of its own."""
    return np.where(np.isnan(values), -1, np.searchsorted(cuts, values, side="right"))


#: The weight of the values' frequencies in a guess: no value is ever ruled out by a learner.
DOUBT = 0.02


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Imputation:
    """A fitted classifier of the secret column."""

    model: Any
    frequencies: Floats

    def chances(self, features: Floats) -> Floats:
        """Return for each row the chance of each value: (rows, values)."""
        chances = np.zeros((len(features), len(self.frequencies)))
        with foreign("The attacker's learner failed to predict"):
            chances[:, self.model.classes_] = self.model.predict_proba(features)
        return (1 - DOUBT) * chances + DOUBT * self.frequencies


def fitted_imputation(
    learner: Model, features: Floats, secret: Ints, *, n_values: int, rng: np.random.Generator
) -> Imputation:
    """Fit a copy of a learner; without one, a forest of 100 trees with five rows a leaf.

    Every ``random_state`` of it is drawn from ``rng``, those within a pipeline too.
    """
    from sklearn.base import clone  # noqa: PLC0415 # sklearn loads late
    from sklearn.ensemble import RandomForestClassifier  # noqa: PLC0415 # the same

    model = RandomForestClassifier(min_samples_leaf=5, n_jobs=1) if learner is None else learner
    counts = np.bincount(secret, minlength=n_values) + 1.0
    with foreign("The attacker's learner couldn't be trained"):
        model = clone(model)
        drawn = [
            name
            for name in sorted(model.get_params())
            if name.rpartition("__")[2] == "random_state"
        ]
        if drawn:
            model.set_params(**{name: int(rng.integers(2**31 - 1)) for name in drawn})
        model = model.fit(features, secret)
    return Imputation(model=model, frequencies=counts / counts.sum())


#: The fewest people of each subpopulation.
NEEDED = 50
#: The most known people that the attacker trains on: more take time and change little.
MAX_KNOWN = 20_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Subpopulation:
    """A subpopulation: some of the members, or some of the non-members."""

    places: Ints
    rows: Any
    labels: Ints
    true: Values
    features: Floats
    secret: Ints

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
    positive: Value,
    learner: Model,
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

    def people(places: Ints, *, members: bool) -> Subpopulation:
        at = places if members else places + n_members
        return Subpopulation(
            places=places,
            rows=take_rows(target.members if members else target.non_members, places),
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


def _features(target: ModelTarget, secret: str | int, labels: Values) -> Floats:
    """Return the other columns and the label of members and then non-members, as numbers."""
    columns = [name for name in column_names(target.members) if name != secret]
    found = [
        np.concatenate([column_of(target.members, name), column_of(target.non_members, name)])
        for name in columns
    ]
    found.append(factorised(labels)[0])
    numbers = [each if each.dtype.kind in "iufb" else factorised(each)[0] for each in found]
    return np.column_stack([_present(numbers_apart(each, origin_of(each))) for each in numbers])


def _present(values: Floats) -> Floats:
    """Put missing and infinite values below all numbers: not every learner takes them."""
    there = np.isfinite(values)
    return np.where(there, values, values[there].min() - 1 if there.any() else 0.0)


def _places(labels: Values, classes: Values) -> Ints:
    """Return the place of each label among the model's classes; -1 if it isn't there."""
    order = np.argsort(classes)
    places = order[np.minimum(np.searchsorted(classes, labels, sorter=order), len(classes) - 1)]
    return np.where(classes[places] == labels, places, -1).astype(np.int64)
