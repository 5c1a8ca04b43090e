"""What a mechanism did, as a frozen value: all that accounting needs, and nothing of the data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import ClassVar

from halfmask._errors import ParameterError
from halfmask._validation import integer_at_least, number_between

#: Total variation, per coordinate, between our noise on a grid and continuous noise rounded to it.
#: Noise has a scale s of at least 2**40 steps: 1/(8 s**2) for Laplace, less for Gaussian noise.
SAMPLED_DISTANCE = 2.0**-83
#: The log of the ratio of both probabilities, per coordinate; for Gaussian noise within 32 standard
#: deviations, and the probability beyond: see docs/explanation/differential-privacy.md.
SAMPLED_RATIOS = {"laplace": 2.0**-41, "gaussian": 2.0**-74}
SAMPLED_BEYOND = 2.0**-700
#: What our noise adds, per coordinate, to the Renyi cost of continuous noise at orders of 2 to 513.
SAMPLED_RENYI = 2.0**-72


@dataclass(frozen=True)
class MechanismEvent:
    """What one mechanism did: the kinds of events have it in common.

    Notes
    -----
    An event holds nothing of the data, so it may be published. Equal events are composed together.
    """

    mechanism: ClassVar[str]

    @property
    def pure_epsilon(self) -> float:
        """Epsilon at delta 0; infinite for Gaussian noise."""
        return math.inf

    @property
    def spent_delta(self) -> float:
        """The part of delta that the event costs at any epsilon."""
        return 0.0

    def to_json(self) -> dict[str, str | float | int]:
        """Return the event as an object of JSON: ``mechanism`` and its parameters."""
        return {"mechanism": self.mechanism, **asdict(self)}


@dataclass(frozen=True, kw_only=True)
class LaplaceEvent(MechanismEvent):
    """Laplace noise was added to a vector.

    Parameters
    ----------
    noise_multiplier
        Scale of the noise, divided by the L1 sensitivity of the vector. Epsilon is its inverse.
    coordinates
        Entries of the vector, at least 1.

    Examples
    --------
    >>> LaplaceEvent(noise_multiplier=2.0, coordinates=1).pure_epsilon
    0.5
    """

    mechanism: ClassVar[str] = "laplace"
    noise_multiplier: float
    coordinates: int

    def __post_init__(self) -> None:
        _positive(type(self).__name__, noise_multiplier=self.noise_multiplier)
        integer_at_least(1, owner=type(self).__name__, coordinates=self.coordinates)

    @property
    def pure_epsilon(self) -> float:
        """Epsilon at delta 0."""
        return 1.0 / self.noise_multiplier


@dataclass(frozen=True, kw_only=True)
class GaussianEvent(MechanismEvent):
    """Gaussian noise was added to a vector.

    Parameters
    ----------
    noise_multiplier
        Standard deviation of the noise, divided by the L2 sensitivity of the vector.
    coordinates
        Entries of the vector, at least 1.
    """

    mechanism: ClassVar[str] = "gaussian"
    noise_multiplier: float
    coordinates: int

    def __post_init__(self) -> None:
        _positive(type(self).__name__, noise_multiplier=self.noise_multiplier)
        integer_at_least(1, owner=type(self).__name__, coordinates=self.coordinates)


@dataclass(frozen=True, kw_only=True)
class SampledGaussianEvent(MechanismEvent):
    """Gaussian noise was added to sums over Poisson samples of the rows.

    Parameters
    ----------
    noise_multiplier
        Standard deviation of the noise, divided by the L2 bound of a row's contribution.
    sampling_probability
        With which each row is in a sample, independently of all others; in (0, 1].
    steps
        Sums that were taken, each over a sample of its own, at least 1.
    coordinates
        Entries of each sum, at least 1.

    Notes
    -----
    Holds for the neighbouring relation "one row is added or removed" alone.
    """

    mechanism: ClassVar[str] = "poisson-sampled-gaussian"
    noise_multiplier: float
    sampling_probability: float
    steps: int
    coordinates: int

    def __post_init__(self) -> None:
        owner = type(self).__name__
        _positive(owner, noise_multiplier=self.noise_multiplier)
        number_between(
            0, 1, owner=owner, low_open=True, sampling_probability=self.sampling_probability
        )
        integer_at_least(1, owner=owner, steps=self.steps, coordinates=self.coordinates)


@dataclass(frozen=True, kw_only=True)
class ExponentialEvent(MechanismEvent):
    """One of several candidates was chosen by the exponential mechanism.

    Parameters
    ----------
    epsilon
        Of the choice: probabilities are proportional to exp(epsilon * score / (2 sensitivity)).
    """

    mechanism: ClassVar[str] = "exponential"
    epsilon: float

    def __post_init__(self) -> None:
        _positive(type(self).__name__, epsilon=self.epsilon)

    @property
    def pure_epsilon(self) -> float:
        """Epsilon at delta 0."""
        return self.epsilon


@dataclass(frozen=True, kw_only=True)
class ObjectivePerturbationEvent(MechanismEvent):
    """A penalised logistic loss with a Gaussian linear term was minimised exactly.

    Parameters
    ----------
    noise_multiplier
        Standard deviation of the linear term, divided by the L2 bound of a row's gradient.
    curvature
        The square of the L2 bound of a row, divided by the strength of the penalty. Above 0.
    classes
        Labels, at least 2. Two have one score, more have one each.
    coordinates
        Entries of the linear term, at least 1.

    Notes
    -----
    Kifer, Smith, Thakurta 2012. A minimum that is found inexactly needs noise of its own, which is
    a `GaussianEvent`.
    """

    mechanism: ClassVar[str] = "objective-perturbation"
    noise_multiplier: float
    curvature: float
    classes: int
    coordinates: int

    def __post_init__(self) -> None:
        owner = type(self).__name__
        _positive(owner, noise_multiplier=self.noise_multiplier, curvature=self.curvature)
        integer_at_least(2, owner=owner, classes=self.classes)
        integer_at_least(1, owner=owner, coordinates=self.coordinates)

    @property
    def determinant_loss(self) -> float:
        """The most that a row's curvature adds to the privacy loss: no noise lowers it."""
        if self.classes == 2:
            return math.log1p(self.curvature / 4)
        return (self.classes - 1) * math.log1p(self.curvature / self.classes)


@dataclass(frozen=True, kw_only=True)
class EpsilonDeltaEvent(MechanismEvent):
    """A mechanism was used, and only its epsilon and delta are known.

    Parameters
    ----------
    epsilon
        Above 0.
    delta
        From 0 to below 1.
    """

    mechanism: ClassVar[str] = "epsilon-delta"
    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        _positive(type(self).__name__, epsilon=self.epsilon)
        number_between(0, 1, owner=type(self).__name__, high_open=True, delta=self.delta)

    @property
    def pure_epsilon(self) -> float:
        """Epsilon once ``delta`` was paid."""
        return self.epsilon

    @property
    def spent_delta(self) -> float:
        """The event's own delta."""
        return self.delta


_KINDS: dict[str, type[MechanismEvent]] = {
    kind.mechanism: kind
    for kind in (
        LaplaceEvent,
        GaussianEvent,
        SampledGaussianEvent,
        ExponentialEvent,
        ObjectivePerturbationEvent,
        EpsilonDeltaEvent,
    )
}


def event_from_json(written: Mapping[str, object]) -> MechanismEvent:
    """Return the event that ``MechanismEvent.to_json`` wrote.

    Parameters
    ----------
    written
        ``mechanism`` and exactly its parameters.

    Examples
    --------
    >>> event = GaussianEvent(noise_multiplier=4.0, coordinates=3)
    >>> event_from_json(event.to_json()) == event
    True
    """
    named = dict(written)
    kind = _KINDS.get(str(named.pop("mechanism", None)))
    if kind is None:
        raise ParameterError(
            f"The 'mechanism' of an event must be one of {', '.join(map(repr, _KINDS))}."
        )
    expected = {field.name for field in fields(kind)}
    if set(named) != expected:
        raise ParameterError(
            f"An event of {kind.mechanism!r} must have exactly the parameters "
            f"{', '.join(map(repr, sorted(expected)))}. Got {len(named)} parameters."
        )
    return kind(**named)


def _positive(owner: str, **named: float) -> None:
    number_between(0, math.inf, owner=owner, low_open=True, **named)  # type: ignore[arg-type] # names are the caller's
