"""The privacy loss of objective perturbation, from the numbers of a claim."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

#: The mechanism of such events.
OBJECTIVE: Final = "objective-perturbation"
#: Losses that are rarer are counted as infinite.
_RARE: Final = 1e-18
#: Parts of the losses that depend on the curvature; each counts as its largest.
_PARTS: Final = 16_000


def curvature_loss(curvature: float, classes: float) -> float:
    """Return the most that a row's curvature changes the log of a determinant."""
    if classes == 2:
        return math.log(1 + curvature / 4)
    return (classes - 1) * math.log(1 + curvature / classes)


def objective_losses(
    noise_multiplier: float, curvature: float, classes: int, step: float
) -> PrivacyLossDistribution:
    """Return the distribution of the loss, each rounded up to a multiple of the step."""
    from dp_accounting.pld import pld_pmf  # noqa: PLC0415 # for claims of privacy alone
    from dp_accounting.pld import privacy_loss_distribution as pld  # noqa: PLC0415 # the same

    masses: dict[int, float] = {}
    before, place = 1.0, 0
    while before > _RARE:
        above = math.exp(_log_above(place * step, 1 / noise_multiplier, curvature, classes))
        masses[place] = before - above
        before, place = above, place + 1
    return pld.PrivacyLossDistribution(
        pld_pmf.create_pmf(masses, step, infinity_mass=before, pessimistic_estimate=True)
    )


def objective_renyi(
    noise_multiplier: float, curvature: float, classes: int, orders: Sequence[int]
) -> list[float]:
    """Return Renyi differential privacy at each order, rounded up."""
    from scipy.special import log_ndtr, logsumexp  # noqa: PLC0415 # for claims of privacy alone

    spread, bend = 1 / noise_multiplier, curvature - 0.5 / noise_multiplier**2

    def gaussian(a: int, least: float) -> float:
        """Return the log of the part of E[exp(a G)] where the Gaussian loss is above a number."""
        at = (least - spread**2 / 2) / spread - a * spread
        return a * (a + 1) * spread**2 / 2 + float(log_ndtr(-at))

    small: tuple[list[float], list[float]] = ([], [])
    if classes == 2 and bend > 0:
        ends = [bend * (part / _PARTS) ** 2 for part in range(_PARTS + 1)]
        above = [0.0, *(_log_above(end, spread, curvature, 2) for end in ends)]
        weights = [
            before + math.log(-math.expm1(after - before)) if after < before else -math.inf
            for before, after in pairwise(above)
        ]
        small = (ends, weights)
    found = []
    for a in (order - 1 for order in orders):
        scores = classes - 1
        rest = float(log_ndtr(-spread / 2))  # where the Gaussian loss is below 0
        one = float(logsumexp([rest, gaussian(a, 0.0)]))
        many = one + math.log(scores - (scores - 1) * math.exp(-one))
        bound = curvature_loss(curvature, classes) + many / a
        if small[0]:
            terms = [a * end + weight for end, weight in zip(*small, strict=True)]
            bound = min(bound, float(logsumexp([*terms, gaussian(a, bend)])) / a)
        elif classes == 2:
            bound = min(bound, one / a)
        found.append(bound)
    return found


def _log_above(loss: float, spread: float, curvature: float, classes: int) -> float:
    """Return the log of the most that the probability of a larger loss can be.

    The noise along the row is a standard normal variable z. With the residual t of the row, the
    loss of a model with one score is at most ``t (1 - t) curvature + t^2 spread^2 / 2 + t spread
    z`` for some t from 0 to 1; the z at which it reaches ``loss`` is found for the worst t.
    """
    shift = curvature_loss(curvature, classes)
    bounds = [0.0]
    if loss >= shift:
        bounds.append(math.log(classes - 1) + _log_beyond((loss - shift) / spread - spread / 2))
    if classes == 2:
        bend = curvature - spread**2 / 2
        worst = min(1.0, math.sqrt(loss / bend)) if bend > 0 else 1.0
        reached = loss / worst + worst * bend if worst > 0 else 0.0
        bounds.append(_log_beyond((reached - curvature) / spread))
    return min(bounds)


def _log_beyond(z: float) -> float:
    from scipy.special import log_ndtr  # noqa: PLC0415 # for claims of privacy alone

    return float(log_ndtr(-z))
