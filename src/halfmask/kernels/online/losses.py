"""Losses of online learning: what a prediction costs, and how far an example moves it.

A step is what an example adds to each weight, divided by the slot's value and rate. While a row is
learnt, all its steps move its prediction by ``step * reach``, where the reach is the sum over its
slots of squared value times rate.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from halfmask.kernels.compiling import njit_unchecked

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "HINGE",
    "LOGISTIC",
    "QUANTILE",
    "SQUARED",
    "invariant_step",
    "loss_of",
    "pull",
    "summed_losses",
]

LOGISTIC = 0
HINGE = 1
SQUARED = 2
QUANTILE = 3
# Beyond it an example's pull is less than a rounding error of any weight.
_SURE = 40.0
# Below it the curve of the loss is indistinguishable from its tangent.
_SHORT = 1e-9


@njit_unchecked
def pull(loss: int, margin: float, label: float, tau: float) -> float:
    """Return how strongly an example pulls its prediction: minus the loss's derivative.

    Parameters
    ----------
    loss
        One of the constants of this module.
    margin
        The prediction, before any link.
    label
        0 or 1 for `LOGISTIC` and `HINGE`, else the number to predict.
    tau
        The quantile, of `QUANTILE` only.
    """
    if loss == LOGISTIC:
        sign = 2.0 * label - 1.0
        return sign / (1.0 + math.exp(sign * margin))
    if loss == HINGE:
        sign = 2.0 * label - 1.0
        return sign if sign * margin < 1.0 else 0.0
    if loss == SQUARED:
        return label - margin
    if label == margin:
        return 0.0
    return tau if label > margin else tau - 1.0


@njit_unchecked
def invariant_step(
    loss: int, margin: float, label: float, tau: float, weight: float, reach: float
) -> float:
    """Return the step of an example of an importance weight, in the limit of ever smaller steps.

    Parameters
    ----------
    loss, margin, label, tau
        As in `pull`.
    weight
        How often the example counts; at least 0.
    reach
        How far a step of one moves the prediction; at least 0.

    Notes
    -----
    Karampatziakis and Langford, "Online importance weight aware updates" (UAI 2011), table 1. No
    step goes beyond the label, and a weight of two is twice a weight of one.
    """
    distance = weight * reach
    if distance < _SHORT:
        return weight * pull(loss, margin, label, tau)
    if loss == LOGISTIC:
        sign = 2.0 * label - 1.0
        return sign * _glide(sign * margin, distance) / reach
    if loss == HINGE:
        sign = 2.0 * label - 1.0
        return sign * max(0.0, min(weight, (1.0 - sign * margin) / reach))
    if loss == SQUARED:
        return (label - margin) * -math.expm1(-distance) / reach
    if label >= margin:
        return min(weight * tau, (label - margin) / reach)
    return -min(weight * (1.0 - tau), (margin - label) / reach)


@njit_unchecked
def _glide(start: float, distance: float) -> float:
    """Return how far a margin gets on the logistic loss: d with ``d + E expm1(d) = distance``.

    E is e to the start. Halley's step from the root of the quadratic in between.
    """
    if start > _SURE:
        return 0.0
    odds = math.exp(start)
    steep = 1.0 + odds
    far = 2.0 * distance / (steep + math.sqrt(steep * steep + 2.0 * odds * distance))
    if far < 0.75:
        far = _halley(far, odds, distance)
        return far if far < 0.25 else _halley(far, odds, distance)
    # Newton's steps from above never overshoot, because the function is convex.
    far = distance / steep
    if far > 1.0:
        far = min(far, math.log1p(distance / odds))
    for _ in range(50):
        grown = odds * math.expm1(far)
        change = (far + grown - distance) / (steep + grown)
        far -= change
        if change <= 1e-7 * far:
            break
    return far


@njit_unchecked
def _halley(far: float, odds: float, distance: float) -> float:
    # Taylor to the tenth power: no call, and 1e-9 of the value at most.
    square = far * far
    low = 1.0 + far * (1 / 2 + far * (1 / 6 + far * (1 / 24)))
    middle = 1 / 120 + far * (1 / 720 + far * (1 / 5040 + far * (1 / 40320)))
    high = 1 / 362880 + far * (1 / 3628800)
    fourth = square * square
    grown = odds * far * (low + fourth * (middle + fourth * high))
    miss, slope = far + grown - distance, 1.0 + odds + grown
    return far - 2.0 * miss * slope / (2.0 * slope * slope - miss * (odds + grown))


@njit_unchecked
def loss_of(loss: int, margin: float, label: float, tau: float) -> float:
    """Return what a prediction costs; `SQUARED` is half of the square."""
    if loss == LOGISTIC:
        against = -margin if label > 0.5 else margin
        return max(against, 0.0) + math.log1p(math.exp(-abs(against)))
    if loss == HINGE:
        return max(0.0, 1.0 - (2.0 * label - 1.0) * margin)
    miss = label - margin
    if loss == SQUARED:
        return 0.5 * miss * miss
    return tau * miss if miss >= 0.0 else (tau - 1.0) * miss


@njit_unchecked
def summed_losses(
    loss: int,
    tau: float,
    margins: NDArray[np.float64],
    labels: NDArray[np.float32],
    weights: NDArray[np.float32],
    sums: NDArray[np.float64],
) -> None:
    """Write the weighted sums of losses, of right answers, and of weights, one after another."""
    cost, right, total = 0.0, 0.0, 0.0
    for i in range(len(margins)):
        cost += weights[i] * loss_of(loss, margins[i], labels[i], tau)
        right += weights[i] * ((margins[i] > 0.0) == (labels[i] > 0.5))
        total += weights[i]
    sums[0], sums[1], sums[2] = cost, right, total
