"""The exponential mechanism: one candidate, the likelier the better its score."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from halfmask._errors import DataError
from halfmask._optional import need
from halfmask._validation import number_between
from halfmask.dp.noise._fixed_point import FixedPoint

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

_BITS: Final = 30
_ROUNDED_UP: Final = 1 + 1e-12
#: Scores beyond 2**62 steps, which are 2**31 times the sensitivity, are clipped.
_BITS_OF_STEPS: Final = 62


@lru_cache(maxsize=64)
def _opendp_choice(scale: float) -> Callable[[list[int]], int]:
    """Return OpenDP's report noisy max with Gumbel noise, which is the exponential mechanism."""
    import opendp.prelude as opendp  # noqa: PLC0415 # 1.3 s

    opendp.enable_features("contrib")
    scores = opendp.vector_domain(opendp.atom_domain(T="i64"))
    return opendp.m.make_noisy_max(
        scores,
        opendp.linf_distance(T="i64"),
        opendp.zero_concentrated_divergence(),
        scale=scale,
    )


def choose(scores: ArrayLike, *, sensitivity: float, epsilon: float) -> int:
    """Return the place of one score, by the exponential mechanism.

    Parameters
    ----------
    scores
        Of the candidates; a higher one is likelier. Candidates may not depend on the data.
    sensitivity
        The most by which one row changes any score, above 0.
    epsilon
        Of the choice, above 0.

    Guarantees
    ----------
    The choice costs :class:`halfmask.dp.accounting.ExponentialEvent` with this epsilon.

    Notes
    -----
    McSherry and Talwar 2007; sampled as report noisy max with Gumbel noise by OpenDP. Scores become
    whole steps of a grid first; epsilon pays for the rounding.

    Examples
    --------
    >>> choose([0.0, 5000.0, 10.0], sensitivity=1.0, epsilon=1.0)
    1
    """
    need("opendp")
    number_between(
        0, math.inf, owner="choose", low_open=True, sensitivity=sensitivity, epsilon=epsilon
    )
    scale = 2 * sensitivity / epsilon
    grid = FixedPoint.below(sensitivity, bits=_BITS)
    flat = np.asarray(scores)
    if flat.dtype.kind not in "iuf" or flat.ndim != 1 or flat.size == 0:
        raise DataError("A choice needs a list of at least one number as score.")
    # Clipping and rounding depend on no other row; rounding adds a step to the sensitivity.
    if flat.dtype.kind == "f" and np.isfinite(flat).all():
        largest = math.ldexp(1.0, grid.exponent + _BITS_OF_STEPS)
        flat = np.clip(flat, -largest, largest)
    clipped = np.clip(grid.rounded(flat), -(2**_BITS_OF_STEPS), 2**_BITS_OF_STEPS)
    steps = math.ldexp(scale, -grid.exponent) * (1 + grid.step / sensitivity) * _ROUNDED_UP
    return int(_opendp_choice(steps)([int(each) for each in clipped]))
