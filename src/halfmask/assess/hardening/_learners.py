"""How a model is trained: plainly, or with one of the defences."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING

from sklearn.base import clone
from sklearn.pipeline import Pipeline

from halfmask._foreign import foreign
from halfmask.assess._risk import row_text
from halfmask.assess.robustness import train_hardened
from halfmask.guarantees import KAnonymity
from halfmask.training import AnonymizedEstimator, PartitionedClassifier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.assess._arrays import Model, Rows, Values
    from halfmask.assess.attacks._targets import Train
    from halfmask.assess.robustness import AttackerBudget


def learners_of(
    estimator: Model,
    budget: AttackerBudget,
    *,
    partitions: int | None,
    hardened: bool,
    k: int | None,
    quasi_identifiers: Sequence[str] | None,
) -> dict[str, Train]:
    """Return the plain learner, and one for each defence that is asked for."""
    found: dict[str, Train] = {
        "plain": lambda rows, labels, seed: _fitted(_seeded(estimator, seed), rows, labels)
    }
    if hardened:
        found["hardened"] = lambda rows, labels, seed: train_hardened(
            _seeded(estimator, seed), rows, labels, budget=budget, random_state=seed
        )
    if partitions is not None:
        found[f"{partitions} partitions"] = lambda rows, labels, seed: PartitionedClassifier(
            estimator, n_partitions=partitions, random_state=seed
        ).fit(rows, labels)
    if k is not None:
        found[f"{k}-anonymous"] = lambda rows, labels, seed: _anonymized(
            _seeded(estimator, seed), k, quasi_identifiers, seed
        ).fit(rows, labels)
    return found


def _fitted(model: Model, rows: Rows, labels: Values) -> Model:
    with foreign(f"{type(model).__name__} couldn't be fitted to {row_text(len(labels))}"):
        return model.fit(rows, labels)


def _anonymized(estimator: Model, k: int, names: Sequence[str] | None, seed: int) -> Model:
    """Return the estimator on classes of k; the steps before it encode the raw rows."""
    encoder = None
    if isinstance(estimator, Pipeline):
        encoder, estimator = estimator[:-1] if len(estimator) > 1 else None, estimator[-1]
    return AnonymizedEstimator(
        estimator,
        guarantees=[KAnonymity(k=k)],
        quasi_identifiers=names,
        encoder=encoder,
        random_state=seed,
    )


def _seeded(estimator: Model, seed: int) -> Model:
    """Return a copy whose seeds are integers, so that the same rows give the same model."""
    copy = clone(estimator)
    settings = copy.get_params().items()
    seeds = [name for name, value in settings if not isinstance(value, Integral)]
    return copy.set_params(**{n: seed for n in seeds if n.split("__")[-1] == "random_state"})
