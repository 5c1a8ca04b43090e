"""The privacy loss of objective perturbation, from the numbers of a claim."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

__all__ = ["OBJECTIVE", "curvature_loss", "objective_losses"]

#: The mechanism of such events.
OBJECTIVE: Final = "objective-perturbation"
#: Losses that are rarer are counted as infinite.
_RARE: Final = 1e-18


def curvature_loss(curvature: float, classes: float) -> float:
    """Return the most that a row's curvature changes the log of a determinant.

    Parameters
    ----------
    curvature
        The squared norm of a row, divided by the penalty.
    classes
        At least 2.
    """
    if classes == 2:
        return math.log(1 + curvature / 4)
    return (classes - 1) * math.log(1 + curvature / classes)


def objective_losses(
    noise_multiplier: float, curvature: float, classes: int, step: float
) -> PrivacyLossDistribution:
    """Return the distribution of the loss, each rounded up to a multiple of the step.

    Parameters
    ----------
    noise_multiplier, curvature, classes
        As an event states them.
    step
        Above 0.
    """
    from dp_accounting.pld import pld_pmf  # noqa: PLC0415 # for claims of privacy alone
    from dp_accounting.pld import privacy_loss_distribution as pld  # noqa: PLC0415 # the same

    masses: dict[int, float] = {}
    before, place = 1.0, 0
    while before > _RARE:
        above = _above(place * step, 1 / noise_multiplier, curvature, classes)
        masses[place] = before - above
        before, place = above, place + 1
    return pld.PrivacyLossDistribution(
        pld_pmf.create_pmf(masses, step, infinity_mass=before, pessimistic_estimate=True)
    )


def _above(loss: float, spread: float, curvature: float, classes: int) -> float:
    """Return the most that the probability of a larger loss can be.

    The noise along the row is a standard normal variable z. With the residual t of the row, the
    loss of a model with one score is at most ``t (1 - t) curvature + t^2 spread^2 / 2 + t spread
    z`` for some t from 0 to 1; the z at which it reaches ``loss`` is found for the worst t.
    """
    shift = curvature_loss(curvature, classes)
    bounds = [1.0]
    if loss >= shift:
        bounds.append((classes - 1) * _beyond((loss - shift) / spread - spread / 2))
    if classes == 2:
        bend = curvature - spread**2 / 2
        worst = min(1.0, math.sqrt(loss / bend)) if bend > 0 else 1.0
        if worst > 0:
            bounds.append(_beyond((loss / worst + worst * bend - curvature) / spread))
        else:
            bounds.append(_beyond(-curvature / spread))
    return min(bounds)


def _beyond(z: float) -> float:
    return 0.5 * math.erfc(z / math.sqrt(2))
