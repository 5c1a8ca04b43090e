"""Noise: OpenDP's discrete mechanisms, on grids fine enough for numbers with fractions.

Start with :class:`GaussianMechanism` or :class:`LaplaceMechanism`, which add noise to a vector, and
:func:`choose`, which picks one candidate by its score. Each names the event that it costs, for
:mod:`halfmask.dp.accounting`. All noise comes from the operating system's randomness.
"""

from __future__ import annotations

from halfmask.dp.noise._fixed_point import FixedPoint as FixedPoint
from halfmask.dp.noise._mechanisms import (
    GaussianMechanism,
    LaplaceMechanism,
    NoiseMechanism,
    choose,
)

# Public names are in `__all__`; the others are for other rooms.
__all__ = [
    "GaussianMechanism",
    "LaplaceMechanism",
    "NoiseMechanism",
    "choose",
]
