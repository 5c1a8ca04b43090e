"""Sums of clipped gradients of linear models, exact in whole steps, and their noisy descent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from halfmask._random import fresh_key, keyed_integers
from halfmask.dp.noise import FixedPoint, GaussianMechanism

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

#: Fractional bits of a residual and of a unit vector; their product is exact in a float.
_BITS: Final = 18
#: So many products of 36 bits sum up without rounding in a float's 53.
_CHUNK: Final = 2**16
_GRID: Final = FixedPoint(exponent=-_BITS)
_INSIDE: Final = 1 - 1e-12
#: Adam's constants (Kingma and Ba 2015).
_MOMENTUM: Final = 0.9
_SECOND: Final = 0.999


class PoissonSampler:
    """Each row is in a sample with one probability, independently, by a key of the system."""

    def __init__(self, n: int, probability: float) -> None:
        self._n = n
        self._below = int(probability * 2.0**64)
        self._key = fresh_key()
        self._samples = 0

    def next(self) -> NDArray[np.int64]:
        """Return the places of the rows in the next sample."""
        if self._below >= 2**64:
            return np.arange(self._n, dtype=np.int64)
        drawn = keyed_integers(self._n, key=self._key, stream=self._samples)
        self._samples += 1
        return np.flatnonzero(drawn < np.uint64(self._below)).astype(np.int64)


def unit_vectors(rows: Floats) -> tuple[Floats, Floats]:
    """Return rows as whole steps of vectors of a norm of at most 1, and their lengths."""
    largest = np.abs(rows).max(axis=1, initial=0.0, keepdims=True)
    largest[largest == 0] = 1.0
    shrunk = rows / largest
    norms = np.linalg.norm(shrunk, axis=1, keepdims=True)
    norms[norms == 0] = 1.0
    units = _GRID.toward_zero(shrunk / norms * _INSIDE).astype(np.float64)
    with np.errstate(over="ignore"):
        lengths = np.minimum(norms * largest, np.finfo(np.float64).max)
    return units, lengths[:, 0]


def clipped_sum(residuals: Floats, units: Floats, lengths: Floats, *, clip_norm: float) -> Floats:
    """Return the sum of gradients ``residual x row``, each of at most a norm.

    Notes
    -----
    A residual is cut to the clipped length and rounded toward zero, like the unit vectors, so that
    no product has a larger norm. Products and sums of whole steps are exact.
    """
    norms = np.linalg.norm(residuals, axis=1)
    norms[norms == 0] = 1.0
    with np.errstate(over="ignore"):
        kept = np.minimum(norms * lengths / clip_norm, 1.0) / norms * _INSIDE
    steps = _GRID.toward_zero(residuals * kept[:, None]).astype(np.float64)
    total = np.zeros((residuals.shape[1], units.shape[1]), dtype=np.int64)
    for start in range(0, len(units), _CHUNK):
        part = slice(start, start + _CHUNK)
        total += (steps[part].T @ units[part]).astype(np.int64)
    return np.ldexp(total.astype(np.float64), -2 * _BITS) * clip_norm


def noisy_descent(
    gradient_sum: Callable[[Floats, NDArray[np.int64]], Floats],
    sampler: PoissonSampler,
    start: Floats,
    *,
    mechanism: GaussianMechanism,
    steps: int,
    rows: float,
    learning_rate: float,
) -> Floats:
    """Return parameters after steps of Adam on noisy sums, averaged over the second half."""
    parameters, average = start.copy(), np.zeros_like(start)
    momentum, second = np.zeros_like(start), np.zeros_like(start)
    averaged = steps - steps // 2
    for step in range(1, steps + 1):
        noisy = mechanism.release(gradient_sum(parameters, sampler.next())) / rows
        momentum = _MOMENTUM * momentum + (1 - _MOMENTUM) * noisy
        second = _SECOND * second + (1 - _SECOND) * noisy**2
        ahead = momentum / (1 - _MOMENTUM**step)
        spread = np.sqrt(second / (1 - _SECOND**step)) + 1e-8
        parameters = parameters - learning_rate * (1 - 0.9 * step / steps) * ahead / spread
        if step > steps - averaged:
            average += parameters / averaged
    return average
