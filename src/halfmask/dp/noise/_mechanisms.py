"""Mechanisms: Laplace and Gaussian noise on a vector; the choice of a candidate by its score."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from halfmask._errors import DataError
from halfmask._foreign import need
from halfmask._validation import integer_at_least, number_between
from halfmask.dp.accounting import GaussianEvent, LaplaceEvent, MechanismEvent, calibrate
from halfmask.dp.noise._fixed_point import FixedPoint

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

#: At least so many bits lie between the grid's step and the scale: see `SAMPLED_DISTANCE`.
_BITS: Final = 40
#: Scales that leave room for noise in 64 bits, in steps.
_LARGEST_SCALE: Final = 2.0**55
_ROUNDED_UP: Final = 1 + 1e-12


@lru_cache(maxsize=64)
def _opendp_noise(law: str, scale: float) -> Callable[[list[int]], list[int]]:
    """Return OpenDP's mechanism on vectors of 64-bit integers."""
    import opendp.prelude as opendp  # noqa: PLC0415 # 1.3 s

    opendp.enable_features("contrib")
    integers = opendp.vector_domain(opendp.atom_domain(T="i64"))
    if law == "laplace":
        return opendp.m.make_laplace(integers, opendp.l1_distance(T="i64"), scale=scale)
    return opendp.m.make_gaussian(integers, opendp.l2_distance(T="f64"), scale=scale)


def discrete_noise(law: str, n: int, *, scale: float) -> NDArray[np.int64]:
    """Return ``n`` whole numbers of discrete noise by OpenDP."""
    need("opendp")
    number_between(0, _LARGEST_SCALE, owner="discrete_noise", low_open=True, scale=scale)
    return np.array(_opendp_noise(law, float(scale))([0] * n), dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class NoiseMechanism(ABC):
    """A vector in, the vector with noise out: what both mechanisms have in common.

    Parameters
    ----------
    sensitivity
        The most by which one row changes the vector, above 0: in the L1 norm for Laplace, in the
        L2 norm for Gaussian noise.
    scale
        Of the noise, above 0: its mean absolute value for Laplace, its standard deviation for
        Gaussian noise.
    """

    sensitivity: float
    scale: float

    def __post_init__(self) -> None:
        number_between(
            0,
            math.inf,
            owner=type(self).__name__,
            low_open=True,
            sensitivity=self.sensitivity,
            scale=self.scale,
        )
        # Noise that is too fine or too coarse for the grid's exponents is refused here.
        _ = self._grid
        number_between(
            2.0**-30, 2.0**30, owner=type(self).__name__, noise_multiplier=self.noise_multiplier
        )

    @property
    def noise_multiplier(self) -> float:
        """The scale, divided by the sensitivity."""
        return self.scale / self.sensitivity

    @property
    @abstractmethod
    def deviation(self) -> float:
        """The standard deviation of the noise of an entry."""

    @property
    def _grid(self) -> FixedPoint:
        return FixedPoint.below(self.scale, bits=_BITS)

    def release(self, vector: ArrayLike) -> NDArray[np.float64]:
        """Return the vector with noise; each call costs another event.

        Parameters
        ----------
        vector
            Finite numbers in an array of any shape.

        Raises
        ------
        DataError
            If a number isn't finite.

        Guarantees
        ----------
        The noise is discrete, on a grid whose step is at most 2**-40 of the scale. Its scale is
        raised by what rounding to the grid can add to the sensitivity.
        """
        steps = self._grid.rounded(vector)
        flat = steps.ravel()
        if flat.size == 0:
            return np.zeros(steps.shape)
        scale = math.ldexp(self.scale, -self._grid.exponent) * self._raised(flat.size)
        noise = discrete_noise(self._law, flat.size, scale=scale)
        if flat.dtype == object or float(np.abs(flat.astype(np.float64)).max()) > 2.0**61:
            flat, noise = flat.astype(object), noise.astype(object)
        return self._grid.numbers((flat + noise).reshape(steps.shape))

    def _raised(self, coordinates: int) -> float:
        """Return the factor of the scale that covers rounding: each entry moves by half a step."""
        added = self._grid.step * self._rounding_norm(coordinates)
        return (1 + added / self.sensitivity) * _ROUNDED_UP

    @property
    @abstractmethod
    def _law(self) -> str: ...

    @staticmethod
    @abstractmethod
    def _rounding_norm(coordinates: int) -> float: ...

    @abstractmethod
    def event(self, coordinates: int = 1) -> MechanismEvent:
        """Return what one release costs.

        Parameters
        ----------
        coordinates
            Entries of the vector.
        """

    @abstractmethod
    def margin(self, confidence: float) -> float:
        """Return how far the noise of an entry lies from 0 at most, with a confidence.

        Parameters
        ----------
        confidence
            Between 0 and 1, both excluded, such as 0.95.
        """


class LaplaceMechanism(NoiseMechanism):
    """Laplace noise by the L1 sensitivity of a vector; see `NoiseMechanism`.

    Guarantees
    ----------
    Each release is epsilon-differentially private with epsilon = sensitivity / scale.

    Notes
    -----
    Dwork, McSherry, Nissim, Smith 2006; discrete noise by Canonne, Kamath, Steinke 2020.

    See Also
    --------
    GaussianMechanism : Less noise for vectors of many entries.

    Examples
    --------
    >>> count = LaplaceMechanism.calibrated(sensitivity=1.0, epsilon=0.5)
    >>> round(count.scale, 6), round(count.margin(0.95), 2)
    (2.0, 5.99)
    >>> noisy = count.release([120.0])
    >>> count.event().pure_epsilon <= 0.5
    True
    """

    @classmethod
    def calibrated(cls, *, sensitivity: float, epsilon: float) -> Self:
        """Return the mechanism that costs at most epsilon at a delta of 0.

        Parameters
        ----------
        sensitivity, epsilon
            Above 0; the sensitivity in the L1 norm.
        """
        owner = "LaplaceMechanism.calibrated"
        number_between(
            0, math.inf, owner=owner, low_open=True, sensitivity=sensitivity, epsilon=epsilon
        )
        return cls(sensitivity=sensitivity, scale=sensitivity / epsilon * (1 + 1e-8))

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise of an entry."""
        return math.sqrt(2) * self.scale

    @property
    def _law(self) -> str:
        return "laplace"

    @staticmethod
    def _rounding_norm(coordinates: int) -> float:
        return float(coordinates)

    def event(self, coordinates: int = 1) -> LaplaceEvent:
        """Return what one release of a vector costs."""
        integer_at_least(1, owner="LaplaceMechanism.event", coordinates=coordinates)
        return LaplaceEvent(noise_multiplier=self.noise_multiplier, coordinates=coordinates)

    def margin(self, confidence: float) -> float:
        """Return how far the noise of an entry lies from 0 at most, with a confidence."""
        _confidence(confidence)
        return -self.scale * math.log1p(-confidence)


class GaussianMechanism(NoiseMechanism):
    """Gaussian noise by the L2 sensitivity of a vector; see `NoiseMechanism`.

    Guarantees
    ----------
    Each release is rho-zero-concentrated differentially private with
    rho = (sensitivity / scale)**2 / 2; :func:`halfmask.dp.accounting.epsilon_of` has its epsilon.

    Notes
    -----
    Discrete Gaussian noise by Canonne, Kamath, Steinke 2020; calibration by Balle, Wang 2018.

    See Also
    --------
    LaplaceMechanism : Needs no delta.

    Examples
    --------
    >>> total = GaussianMechanism.calibrated(sensitivity=1.0, epsilon=1.0, delta=1e-6)
    >>> round(total.scale, 1)
    4.2
    >>> total.release([3.5, 4.5]).shape
    (2,)
    """

    @classmethod
    def calibrated(cls, *, sensitivity: float, epsilon: float, delta: float) -> Self:
        """Return the mechanism that costs at most epsilon at a delta.

        Parameters
        ----------
        sensitivity, epsilon, delta
            Above 0; the sensitivity in the L2 norm, delta below 1.

        Raises
        ------
        BudgetError
            If no noise fits, such as with a delta of 0.
        """
        owner = "GaussianMechanism.calibrated"
        number_between(0, math.inf, owner=owner, low_open=True, sensitivity=sensitivity)
        multiplier = calibrate(
            lambda noise: [GaussianEvent(noise_multiplier=noise, coordinates=1)],
            epsilon=epsilon,
            delta=delta,
        )
        return cls(sensitivity=sensitivity, scale=multiplier * sensitivity)

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise of an entry."""
        return self.scale

    @property
    def _law(self) -> str:
        return "gaussian"

    @staticmethod
    def _rounding_norm(coordinates: int) -> float:
        return math.sqrt(coordinates)

    def event(self, coordinates: int = 1) -> GaussianEvent:
        """Return what one release of a vector costs."""
        integer_at_least(1, owner="GaussianMechanism.event", coordinates=coordinates)
        return GaussianEvent(noise_multiplier=self.noise_multiplier, coordinates=coordinates)

    def margin(self, confidence: float) -> float:
        """Return how far the noise of an entry lies from 0 at most, with a confidence."""
        _confidence(confidence)
        return self.scale * NormalDist().inv_cdf((1 + confidence) / 2)


def _confidence(confidence: float) -> None:
    number_between(0, 1, owner="margin", low_open=True, high_open=True, confidence=confidence)


_SCORE_BITS: Final = 30

#: Scores beyond 2**62 steps, which are 2**31 times the sensitivity, are clipped.
_BITS_OF_STEPS: Final = 62


@lru_cache(maxsize=64)
def _opendp_choice(scale: float) -> Callable[[list[int]], int]:
    """Return OpenDP's report noisy max with Gumbel noise, which is the exponential mechanism."""
    import opendp.prelude as opendp  # noqa: PLC0415 # 1.3 s

    opendp.enable_features("contrib")
    scores = opendp.vector_domain(opendp.atom_domain(T="i64"))
    return opendp.m.make_noisy_max(
        scores, opendp.linf_distance(T="i64"), opendp.zero_concentrated_divergence(), scale=scale
    )


def choose(scores: ArrayLike, *, sensitivity: float, epsilon: float) -> int:
    """Return the place of one score, by the exponential mechanism.

    Parameters
    ----------
    scores
        Of the candidates; a higher one is likelier. Candidates may not depend on the data.
    sensitivity, epsilon
        The most by which one row changes any score, and what the choice costs; above 0.

    Raises
    ------
    DataError
        If there is no score, or one isn't finite.

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
    grid = FixedPoint.below(sensitivity, bits=_SCORE_BITS)
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
