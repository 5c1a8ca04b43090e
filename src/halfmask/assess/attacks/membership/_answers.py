"""Inputs of membership attacks: the true label's probability, and features of an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Below this a probability counts as this, where its logarithm is taken.
LEAST = 1e-6


def of_truth(probabilities: NDArray[np.float64], truth: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the probability of each row's true label."""
    found: NDArray[np.float64] = np.take_along_axis(probabilities, truth[:, None], axis=1)[
        :, 0
    ].clip(0.0, 1.0)
    return found


def features(
    probabilities: NDArray[np.floating[Any]], truth: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the attack model's inputs: f(x), the one-hot label, the label's probability and loss.

    The first two are the paper's figure 6; the others are functions of them that a small network
    would have to learn first.
    """
    right = of_truth(np.asarray(probabilities, dtype=np.float64), truth)
    one_hot = np.eye(probabilities.shape[1])[truth]
    loss = -np.log(right.clip(LEAST))
    return np.column_stack([probabilities, one_hot, right, loss])
