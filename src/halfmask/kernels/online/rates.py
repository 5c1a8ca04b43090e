"""The rate of an example, and where learning is a divergence."""

from __future__ import annotations

import math

from halfmask.kernels.compiling import njit_unchecked

__all__ = ["FAR", "TINY", "decayed"]

#: A prediction or a step beyond it is a divergence: what follows wouldn't fit 32 bits.
FAR = 1e15
#: A pull below it changes nothing: its square wouldn't fit 32 bits.
TINY = 1e-15


@njit_unchecked
def decayed(rate: float, decay: float, seen: float) -> float:
    """Return the rate after some examples: ``rate / (1 + seen) ** decay``."""
    if decay == 0.0:
        return rate
    if decay == 0.5:
        return rate / math.sqrt(1.0 + seen)
    return rate / math.pow(1.0 + seen, decay)
