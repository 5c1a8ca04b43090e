"""How much of numbers came back: the share of their variance, with what resamples make of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.assess.attacks._arms import Resampled

if TYPE_CHECKING:
    from numpy.typing import NDArray

_REPLICATES = 200


def variance_recovered(truth: NDArray[np.float64], guess: NDArray[np.float64]) -> float:
    """Return the mean over columns of the variance that a guess explains, none below 0.

    A guess of the mean explains 0, the truth 1. What is missing at home isn't judged.
    """
    return float(_shares(np.ones((1, len(truth))), truth, guess)[0])


def recovered(
    truth: NDArray[np.float64], guess: NDArray[np.float64], rng: np.random.Generator
) -> Resampled:
    """Return the same as an arm, its rows resampled."""
    n = len(truth)
    weights = rng.multinomial(n, np.full(n, 1 / n), _REPLICATES).astype(np.float64)
    return Resampled.of(variance_recovered(truth, guess), _shares(weights, truth, guess), n)


def _shares(
    weights: NDArray[np.float64], truth: NDArray[np.float64], guess: NDArray[np.float64]
) -> NDArray[np.float64]:
    present = np.isfinite(truth)
    cells = np.where(present, truth, 0.0)
    wrong = np.where(present, (cells - guess) ** 2, 0.0)
    total = np.maximum(weights @ present, 1e-300)
    means = weights @ cells / total
    spread = weights @ cells**2 / total - means**2
    # Of a column that doesn't vary nothing can come back, and nothing is counted.
    varies = spread > 1e-12 * (1 + means**2)
    left = weights @ wrong / total / np.where(varies, spread, 1.0)
    share = np.where(varies, np.clip(1 - left, 0.0, 1.0), 0.0)
    return np.asarray(share.sum(axis=1) / np.maximum(varies.sum(axis=1), 1))
