"""Imputation: a classifier of the secret, fitted to people whose secret is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._foreign import foreign

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The weight of the values' frequencies in a guess: no value is ever ruled out by a learner.
DOUBT = 0.02


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Imputation:
    """A fitted classifier of the secret column."""

    model: Any
    frequencies: NDArray[np.float64]

    def chances(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each row the chance of each value: (rows, values)."""
        chances = np.zeros((len(features), len(self.frequencies)))
        with foreign("The attacker's learner failed to predict"):
            chances[:, self.model.classes_] = self.model.predict_proba(features)
        return (1 - DOUBT) * chances + DOUBT * self.frequencies


def fitted_imputation(
    learner: Any,  # noqa: ANN401 # a classifier of scikit-learn
    features: NDArray[np.float64],
    secret: NDArray[np.int64],
    *,
    n_values: int,
    rng: np.random.Generator,
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
        drawn = [name for name in sorted(model.get_params()) if _is_a_random_state(name)]
        if drawn:
            model.set_params(**{name: int(rng.integers(2**31 - 1)) for name in drawn})
        model = model.fit(features, secret)
    return Imputation(model=model, frequencies=counts / counts.sum())


def _is_a_random_state(parameter: str) -> bool:
    return parameter.rpartition("__")[2] == "random_state"
