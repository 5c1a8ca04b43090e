"""The privacy loss of objective perturbation, bounded for all tables, rows and labels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution
    from numpy.typing import ArrayLike, NDArray

    from halfmask.dp.accounting._events import ObjectivePerturbationEvent

#: Larger losses are counted as infinite, at this probability.
_NEVER: Final = 1e-18
#: Parts into which the losses of small noise are cut, each counted at its largest.
_CELLS: Final = 8000


def loss_tail(event: ObjectivePerturbationEvent, losses: ArrayLike) -> NDArray[np.float64]:
    """Return the most that the probability of a loss above each of these can be.

    Notes
    -----
    With s = 1 / noise_multiplier, let G be the loss of Gaussian noise, of mean s**2 / 2 and
    standard deviation s. The loss is at most c + max(0, G) for one score, where c bounds the log
    of the change of a determinant. For more scores it is the largest of classes - 1 such
    variables. For one score, a row whose residual is t changes the determinant by
    1 + t (1 - t) curvature alone, and t is 1 where its gradient is longest, so that the tail is
    that of G. docs/explanation/differential-privacy.md has the proof.
    """
    return np.exp(_log_tail(event, np.asarray(losses, dtype=np.float64)))


def _log_tail(event: ObjectivePerturbationEvent, t: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithms of `loss_tail`, which floats hold however small it is."""
    from scipy.special import log_ndtr  # noqa: PLC0415 # 0.1 s

    s = 1 / event.noise_multiplier

    def above(loss: NDArray[np.float64]) -> NDArray[np.float64]:
        tail: NDArray[np.float64] = log_ndtr(s / 2 - loss / s)
        return tail

    shift = event.determinant_loss
    tail = np.where(t >= shift, math.log(event.classes - 1) + above(t - shift), 0.0)
    if event.classes == 2:
        width = 2 * event.curvature - s**2
        between = log_ndtr((event.curvature - np.sqrt(2 * t * max(width, 0.0))) / s)
        tail = np.minimum(tail, np.where(t >= width / 2, above(t), between))
    return np.minimum(tail, 0.0)


def usual_loss(event: ObjectivePerturbationEvent) -> float:
    """Return a loss that is rarely exceeded."""
    return event.determinant_loss + 1 / event.noise_multiplier**2


def objective_losses(event: ObjectivePerturbationEvent, step: float) -> PrivacyLossDistribution:
    """Return the distribution of the privacy loss, rounded up to multiples of a step."""
    from dp_accounting.pld.pld_pmf import create_pmf  # noqa: PLC0415 # 0.6 s
    from dp_accounting.pld.privacy_loss_distribution import (  # noqa: PLC0415 # 0.6 s
        PrivacyLossDistribution,
    )

    s = 1 / event.noise_multiplier
    largest = event.determinant_loss + s**2 / 2 + 10 * s
    tail = loss_tail(event, np.arange(math.ceil(largest / step) + 1) * step)
    tail = tail[: int((tail > _NEVER).sum()) + 1]
    mass = -np.diff(tail, prepend=1.0)
    kept = {place: float(each) for place, each in enumerate(mass)}
    return PrivacyLossDistribution(
        create_pmf(kept, step, infinity_mass=float(tail[-1]), pessimistic_estimate=True)
    )


def objective_renyi(event: ObjectivePerturbationEvent, order: float) -> float:
    """Return Renyi differential privacy at an order: log E exp((order - 1) loss) / (order - 1)."""
    from scipy.special import log_ndtr  # noqa: PLC0415 # 0.1 s

    s, a = 1 / event.noise_multiplier, order - 1

    def tilted(least: float) -> float:
        """Return log E[exp(a G); G > least]."""
        return a * order * s**2 / 2 + float(log_ndtr(s / 2 + a * s - least / s))

    others = event.classes - 1
    one = float(np.logaddexp(log_ndtr(-s / 2), tilted(0.0)))  # of max(0, G), at least 0
    many = one + math.log(others) + math.log1p(-(others - 1) / others * math.exp(-one))
    found = event.determinant_loss + many / a
    width = 2 * event.curvature - s**2
    if event.classes > 2 or width <= 0:
        return min(found, one / a) if event.classes == 2 else found
    # The loss is (curvature + s z)**2 / (2 width) from where it is 0 to where it is G.
    loss = np.linspace(0.0, 1.0, _CELLS + 1) * math.sqrt(width / 2)
    tail = np.append(0.0, _log_tail(event, loss**2))
    with np.errstate(divide="ignore"):  # a part without mass
        small = tail[:-1] + np.log(-np.expm1(np.diff(tail))) + a * loss**2
    exact = np.logaddexp(np.logaddexp.reduce(small), tilted(width / 2))
    return min(found, float(exact) / a)
