"""What an attacker learns of people whose secret he knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._foreign import foreign

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Guesser", "taught"]

#: The weight of the values' frequencies in a guess: no value is ever ruled out by a learner.
DOUBT = 0.02


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Guesser:
    """A learner that was taught to tell a value of the rest.

    Parameters
    ----------
    model
        The fitted classifier.
    frequencies
        How often each value is, in those that taught it.
    """

    model: Any
    frequencies: NDArray[np.float64]

    def chances(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each row the chance of each value: (rows, values)."""
        chances = np.zeros((len(features), len(self.frequencies)))
        with foreign("The intruder's learner failed to predict"):
            chances[:, self.model.classes_] = self.model.predict_proba(features)
        return (1 - DOUBT) * chances + DOUBT * self.frequencies


def taught(
    learner: Any,  # noqa: ANN401 # a classifier of scikit-learn
    features: NDArray[np.float64],
    secret: NDArray[np.int64],
    *,
    n_values: int,
    rng: np.random.Generator,
) -> Guesser:
    """Teach a copy of a learner; without one, a forest of a hundred trees of leaves of five.

    Every ``random_state`` of it is drawn from ``rng``, those within a pipeline too.
    """
    from sklearn.base import clone  # noqa: PLC0415 # sklearn loads late
    from sklearn.ensemble import RandomForestClassifier  # noqa: PLC0415 # the same

    model = RandomForestClassifier(min_samples_leaf=5, n_jobs=1) if learner is None else learner
    counts = np.bincount(secret, minlength=n_values) + 1.0
    with foreign("The intruder's learner couldn't be trained"):
        model = clone(model)
        drawn = [name for name in sorted(model.get_params()) if _is_a_random_state(name)]
        if drawn:
            model.set_params(**{name: int(rng.integers(2**31 - 1)) for name in drawn})
        model = model.fit(features, secret)
    return Guesser(model=model, frequencies=counts / counts.sum())


def _is_a_random_state(parameter: str) -> bool:
    return parameter.rpartition("__")[2] == "random_state"
