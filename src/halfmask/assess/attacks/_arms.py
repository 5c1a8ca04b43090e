"""Arms of an attack: how often it was right, with the interval that the trials allow.

Every attack has three arms (attack, control, baseline) after Giomi et al., "A unified framework for
quantifying privacy risk in synthetic data" (PoPETs 2023). An arm is a value that knows its bounds
at any level, so that a battery can share one error among many attacks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from halfmask._errors import ParameterError
from halfmask._validation import integer_at_least, number_between

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

__all__ = ["Arm", "Certain", "Combined", "Counted", "Resampled", "balanced", "difference"]


class Arm(Protocol):
    """A number that was measured in trials."""

    @property
    def value(self) -> float:
        """The number itself."""

    @property
    def trials(self) -> int:
        """How many trials it rests on; 0 for a number that is known."""

    def bounds(self, error: float) -> tuple[float, float]:
        """Return a lower and an upper bound, each wrong with at most this probability."""


@dataclass(frozen=True, slots=True)
class Certain:
    """A number that is known and not measured, such as what guessing reaches."""

    value: float
    trials: int = 0

    def bounds(self, error: float) -> tuple[float, float]:  # noqa: ARG002 # an Arm's
        """Return the value twice."""
        return self.value, self.value


@dataclass(frozen=True, slots=True)
class Counted:
    """A share of trials that succeeded.

    Parameters
    ----------
    successes
        How many trials were right.
    trials
        How many there were; without any the share may be anything in [0, 1].

    Notes
    -----
    Bounds are those of Clopper and Pearson, "The use of confidence or fiducial limits illustrated
    in the case of the binomial" (Biometrika 1934): never narrower than they must be.

    Examples
    --------
    >>> low, high = Counted(0, 100).bounds(0.05)
    >>> low, round(high, 4)
    (0.0, 0.0295)
    """

    successes: int
    trials: int

    def __post_init__(self) -> None:
        integer_at_least(0, owner="Counted", successes=self.successes, trials=self.trials)
        if self.successes > self.trials:
            raise ParameterError(
                "An arm can't succeed more often than it tries. "
                f"Got {self.successes} of {self.trials}."
            )

    @property
    def value(self) -> float:
        """The share, in [0, 1]; a half without trials."""
        return self.successes / self.trials if self.trials else 0.5

    def bounds(self, error: float) -> tuple[float, float]:
        """Return the share's lower and upper bound, each wrong with at most this probability."""
        _check(error)
        from scipy.special import betaincinv  # noqa: PLC0415 # scipy loads late

        right, wrong = self.successes, self.trials - self.successes
        low = float(betaincinv(right, wrong + 1, error)) if right else 0.0
        high = float(betaincinv(right + 1, wrong, 1 - error)) if wrong else 1.0
        return low, high


@dataclass(frozen=True, slots=True)
class Resampled:
    """A number with what came of it in bootstrap resamples of its trials.

    Parameters
    ----------
    value
        The number, of all trials.
    replicates
        The same number of each resample.
    trials
        How many trials there were.

    Notes
    -----
    Bounds are percentiles of the replicates: Efron, "Bootstrap methods: another look at the
    jackknife" (1979). At an error below one in the number of replicates they are the extremes.
    """

    value: float
    replicates: tuple[float, ...]
    trials: int

    @classmethod
    def of(cls, value: float, replicates: ArrayLike, trials: int) -> Resampled:
        """Make one of an array of replicates."""
        return cls(float(value), tuple(np.asarray(replicates, dtype=float).tolist()), int(trials))

    def __repr__(self) -> str:
        return f"Resampled({self.value:.4g}, {len(self.replicates)} replicates, {self.trials})"

    def bounds(self, error: float) -> tuple[float, float]:
        """Return percentiles, widened to hold the value itself."""
        _check(error)
        if not self.replicates:
            return self.value, self.value
        low, high = np.quantile(self.replicates, [error, 1 - error])
        return min(float(low), self.value), max(float(high), self.value)


@dataclass(frozen=True, slots=True)
class Combined:
    """A weighted sum of independent arms.

    Notes
    -----
    Bounds by the method of variance estimates recovery: Zou and Donner, "Construction of confidence
    limits about effect measures" (Statistics in Medicine 2008); for the difference of two shares
    this is Newcombe's hybrid score interval (1998, method 10) with the arms' own bounds.
    """

    arms: tuple[Arm, ...]
    weights: tuple[float, ...]

    @property
    def value(self) -> float:
        """The weighted sum of the arms' values."""
        return float(sum(w * arm.value for w, arm in zip(self.weights, self.arms, strict=True)))

    @property
    def trials(self) -> int:
        """The trials of the arm that has fewest; 0 if none was measured."""
        measured = [arm.trials for arm in self.arms if arm.trials]
        return min(measured, default=0)

    def bounds(self, error: float) -> tuple[float, float]:
        """Return the sum's lower and upper bound."""
        below = above = 0.0
        for weight, arm in zip(self.weights, self.arms, strict=True):
            low, high = arm.bounds(error)
            down, up = weight * (arm.value - low), weight * (high - arm.value)
            if weight < 0:
                down, up = -up, -down
            below, above = below + down * down, above + up * up
        return self.value - below**0.5, self.value + above**0.5


def difference(arm: Arm, other: Arm) -> Combined:
    """Return how much larger an arm is than another, in [-1, 1] for shares."""
    return Combined((arm, other), (1.0, -1.0))


def balanced(arms: Sequence[Arm]) -> Combined:
    """Return the mean of arms, such as balanced accuracy of those right of each class."""
    return Combined(tuple(arms), (1.0 / len(arms),) * len(arms))


def _check(error: float) -> None:
    number_between(0, 0.5, owner="an arm's bounds", low_open=True, error=error)
