"""Accounting: which (epsilon, delta) mechanisms cost together.

Start with :func:`epsilon_of`, which composes events, and :func:`calibrate`, which finds the least
noise that fits a budget. :func:`adaptive_epsilon_of` composes charges that depend on earlier
answers. An event is a frozen value that states what one mechanism did:

- :class:`LaplaceEvent`, :class:`GaussianEvent`: noise on a vector;
- :class:`SampledGaussianEvent`: Gaussian noise on Poisson samples of the rows, such as DP-SGD;
- :class:`ObjectivePerturbationEvent`: the minimum of a loss with a noisy linear term;
- :class:`ExponentialEvent`: one choice among candidates;
- :class:`EpsilonDeltaEvent`: any mechanism of which no more is known than its epsilon and delta.
"""

from __future__ import annotations

from halfmask.dp.accounting._adaptive import adaptive_epsilon_of
from halfmask.dp.accounting._composition import calibrate, epsilon_of
from halfmask.dp.accounting._events import (
    EpsilonDeltaEvent,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    MechanismEvent,
    ObjectivePerturbationEvent,
    SampledGaussianEvent,
    event_from_json,
)

__all__ = [
    "EpsilonDeltaEvent",
    "ExponentialEvent",
    "GaussianEvent",
    "LaplaceEvent",
    "MechanismEvent",
    "ObjectivePerturbationEvent",
    "SampledGaussianEvent",
    "adaptive_epsilon_of",
    "calibrate",
    "epsilon_of",
    "event_from_json",
]
