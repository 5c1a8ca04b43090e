"""The noise of objective perturbation: in the loss, and on the minimum that a solver finds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Self

from halfmask._errors import BudgetError
from halfmask.dp.accounting import GaussianEvent, ObjectivePerturbationEvent, calibrate
from halfmask.dp.noise import GaussianMechanism

if TYPE_CHECKING:
    from halfmask.dp.accounting import MechanismEvent

#: How far from 0 the gradient at the released minimum may be, relative to what one row adds.
_TOLERANCE: Final = 1e-5
#: Noise on the minimum has a multiplier so much larger, and costs 1 % of the loss.
_RATIO: Final = 10.0
#: Half the step of the grid of noise in the loss, divided by its scale, is at most this.
_HALF_STEP: Final = 2.0**-41


@dataclass(frozen=True, kw_only=True)
class ObjectiveNoise:
    """Both noises of approximate minima perturbation, and what they cost together."""

    lipschitz: float
    penalty: float
    event: ObjectivePerturbationEvent

    @classmethod
    def calibrated(
        cls,
        *,
        lipschitz: float,
        longest: float,
        penalty: float,
        classes: int,
        coordinates: int,
        epsilon: float,
        delta: float,
    ) -> Self:
        """Return the least noise that fits a budget."""
        if delta == 0:
            raise BudgetError(
                "Objective perturbation needs a delta above 0.",
                hint="Choose perturbation='output' for a delta of 0.",
            )
        curvature = longest**2 / penalty
        if _event(1.0, curvature, classes, coordinates).determinant_loss >= epsilon:
            # As far as ObjectivePerturbationEvent.determinant_loss stays below epsilon.
            scores, flat = (1, 4) if classes == 2 else (classes - 1, classes)
            most = flat * math.expm1(epsilon / scores) / longest**2
            raise BudgetError(
                f"No noise keeps objective perturbation with C = {1 / penalty:g} within epsilon "
                f"{epsilon:g}.",
                hint=f"Choose C below {most:.2g}, best below a quarter of that.",
            )
        noise = _multiplier(curvature, classes, coordinates, float(epsilon), float(delta))
        event = _event(noise, curvature, classes, coordinates)
        found = cls(lipschitz=lipschitz, penalty=penalty, event=event)
        if found.tolerance < found._distance / 2:
            raise BudgetError(
                f"Noise for epsilon {epsilon:g} is too coarse for a solver of floats.",
                hint="Choose a larger epsilon, or fewer columns.",
            )
        return found

    @property
    def events(self) -> list[MechanismEvent]:
        """What both noises cost."""
        return _events(self.event)

    @property
    def in_the_loss(self) -> GaussianMechanism:
        """The noise whose draw is the linear term of the loss."""
        scale = self.event.noise_multiplier * self.lipschitz
        return GaussianMechanism(sensitivity=self.lipschitz, scale=scale)

    @property
    def tolerance(self) -> float:
        """What is left for the solver of the gradient's distance from 0.

        Continuous noise is rounded to the grid of our noise by at most half a step in each entry,
        which moves the gradient by as much.
        """
        grid = _HALF_STEP * self.in_the_loss.scale * math.sqrt(self.event.coordinates)
        return (self._distance - grid) * (1 - 1e-9)

    @property
    def on_the_minimum(self) -> GaussianMechanism:
        """The noise that covers where a solver ends within the tolerance."""
        apart = 2 * self._distance / self.penalty
        scale = _RATIO * self.event.noise_multiplier * apart
        return GaussianMechanism(sensitivity=apart, scale=scale)

    @property
    def _distance(self) -> float:
        return _TOLERANCE * self.lipschitz


@lru_cache(maxsize=64)
def _multiplier(
    curvature: float, classes: int, coordinates: int, epsilon: float, delta: float
) -> float:
    return calibrate(
        lambda noise: _events(_event(noise, curvature, classes, coordinates)),
        epsilon=epsilon,
        delta=delta,
    )


def _event(
    noise: float, curvature: float, classes: int, coordinates: int
) -> ObjectivePerturbationEvent:
    return ObjectivePerturbationEvent(
        noise_multiplier=noise, curvature=curvature, classes=classes, coordinates=coordinates
    )


def _events(event: ObjectivePerturbationEvent) -> list[MechanismEvent]:
    output = _RATIO * event.noise_multiplier
    return [event, GaussianEvent(noise_multiplier=output, coordinates=event.coordinates)]
