"""Arms of an attack: how often it was right, with the interval that the trials allow.

Every attack has three arms (attack, control, baseline) after Giomi et al., "A unified framework for
quantifying privacy risk in synthetic data" (PoPETs 2023). An arm is a value that knows its bounds
at any level, so that a battery can share one error among many attacks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from halfmask._errors import DataError, ParameterError
from halfmask._validation import integer_at_least, number_between

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike


class Arm(Protocol):
    """A number that was measured in trials."""

    @property
    def value(self) -> float:
        """The number itself."""

    @property
    def trials(self) -> int:
        """How many trials it rests on; 0 for a number that is known."""

    def bounds(self, error: float) -> tuple[float, float]:
        """Return a lower and an upper bound, each wrong with at most this probability.

        Parameters
        ----------
        error
            The probability with which each bound may be wrong, in (0, 1).
        """


@dataclass(frozen=True, slots=True)
class Certain:
    """A number that is known, not measured: a baseline, or a full count.

    Parameters
    ----------
    value
        The number.
    trials
        How many cases were counted; 0 if none.

    Raises
    ------
    DataError
        If the value is no finite number.
    """

    value: float
    trials: int = 0

    def __post_init__(self) -> None:
        _finite(self.value)

    def bounds(self, error: float) -> tuple[float, float]:  # noqa: ARG002 # an Arm's
        """Return the value twice."""
        return self.value, self.value


@dataclass(frozen=True, slots=True)
class SuccessCount:
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
    >>> low, high = SuccessCount(0, 100).bounds(0.05)
    >>> low, round(high, 4)
    (0.0, 0.0295)
    """

    successes: int
    trials: int

    def __post_init__(self) -> None:
        integer_at_least(0, owner="SuccessCount", successes=self.successes, trials=self.trials)
        object.__setattr__(self, "successes", int(self.successes))  # numpy's can't go into JSON
        object.__setattr__(self, "trials", int(self.trials))
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
        """Return lower and upper bounds, each wrong with at most this probability."""
        _check(error)
        return share_bounds(self.successes, self.trials - self.successes, error)


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
        How many trials there were; of pairs of groups, such as of an AUC, those of the smaller one.

    Raises
    ------
    DataError
        If the value or a replicate is no finite number.

    Notes
    -----
    Bounds are percentiles of the replicates: Efron, "Bootstrap methods: another look at the
    jackknife" (1979). Two things are added, since a bound that is too near makes a pass:

    - an error below one in the number of replicates can't be read off them: beyond the extremes the
      bounds go on as those of a normal distribution do;
    - resamples of what never happened never show it: no bound is nearer than that of a share that
      was 0 in as many trials, ``1 - error ** (1 / trials)``.

    Without replicates or trials a share may be anything in [0, 1].

    Examples
    --------
    >>> low, high = Resampled.of(0.0, [0.0] * 200, 100).bounds(0.05)
    >>> round(high, 4)
    0.0295
    """

    value: float
    replicates: tuple[float, ...]
    trials: int

    def __post_init__(self) -> None:
        _finite(self.value, *self.replicates)

    @classmethod
    def of(cls, value: float, replicates: ArrayLike, trials: int) -> Resampled:
        """Make one of an array of replicates.

        Parameters
        ----------
        value
            The measured value.
        replicates
            The same measure in each resample.
        trials
            The number of trials.
        """
        return cls(float(value), tuple(np.asarray(replicates, dtype=float).tolist()), int(trials))

    def __repr__(self) -> str:
        return f"Resampled({self.value:.4g}, {len(self.replicates)} replicates, {self.trials})"

    def bounds(self, error: float) -> tuple[float, float]:
        """Return percentiles, widened to hold the value and unseen extremes."""
        _check(error)
        if len(self.replicates) < 2 or not self.trials:
            return min(0.0, self.value), max(1.0, self.value)
        low, high = np.quantile(self.replicates, [error, 1 - error])
        down, up = self.value - float(low), float(high) - self.value
        finest = 1 / (len(self.replicates) + 1)
        if error < finest:
            from scipy.special import ndtri  # noqa: PLC0415 # scipy loads late

            further = float(ndtri(error) / ndtri(finest))
            down, up = down * further, up * further
        unseen = 1 - float(error) ** (1 / self.trials)
        return self.value - max(down, unseen), self.value + max(up, unseen)


@dataclass(frozen=True, slots=True)
class Combined:
    """A weighted sum of independent arms.

    Parameters
    ----------
    arms
        Independent arms.
    weights
        The weight of each in the sum.

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
        return fewest_trials(self.arms)

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


@dataclass(frozen=True, slots=True)
class Least:
    """The smallest of several numbers, such as an excess over whichever reference is highest.

    Notes
    -----
    Which one is smallest is itself seen in the trials, and the arm that looks smallest would have
    bounds that are too near. The lower bound is the lowest of all arms, which holds as often as
    that of the arm that truly is smallest. Above, the error is shared among the arms, and then all
    their bounds hold together, the lowest of them too.
    """

    arms: tuple[Arm, ...]

    @property
    def value(self) -> float:
        """The smallest value."""
        return min(arm.value for arm in self.arms)

    @property
    def trials(self) -> int:
        """The trials of the arm that has fewest; 0 if none was measured."""
        return fewest_trials(self.arms)

    def bounds(self, error: float) -> tuple[float, float]:
        """Return the smallest number's lower and upper bound."""
        low = min(arm.bounds(error)[0] for arm in self.arms)
        high = min(arm.bounds(error / len(self.arms))[1] for arm in self.arms)
        return low, high


def difference(arm: Arm, other: Arm) -> Combined:
    """Return how much larger an arm is than another, in [-1, 1] for shares."""
    return Combined((arm, other), (1.0, -1.0))


def balanced(arms: Sequence[Arm]) -> Combined:
    """Return the mean of arms, such as balanced accuracy of those right of each class."""
    return Combined(tuple(arms), (1.0 / len(arms),) * len(arms))


def fewest_trials(arms: Sequence[Arm]) -> int:
    """Return the trials of the arm that has fewest, of those that aren't known without trials.

    An arm that was to be measured and had no trial counts: the answer is 0 then.
    """
    return min((arm.trials for arm in arms if not isinstance(arm, Certain)), default=0)


def share_bounds(right: float, wrong: float, error: float) -> tuple[float, float]:
    """Return the bounds of Clopper and Pearson for a share, of counts or of effective numbers."""
    from scipy.special import betaincinv  # noqa: PLC0415 # scipy loads late

    low = float(betaincinv(right, wrong + 1, error)) if right > 0 else 0.0
    high = float(betaincinv(right + 1, wrong, 1 - error)) if wrong > 0 else 1.0
    return low, high


def _finite(*values: float) -> None:
    if not np.isfinite(values).all():
        raise DataError(
            "An attack measured something that is no number.",
            hint="Look for scores that are missing or infinite, and for empty groups.",
        )


def _check(error: float) -> None:
    number_between(0, 0.5, owner="an arm's bounds", low_open=True, error=error)


HALVINGS = 60


@dataclass(frozen=True, slots=True)
class Expected:
    """A mean of trials that each lie in [0, 1].

    Parameters
    ----------
    total
        What the trials add up to.
    trials
        How many there were; without any the mean may be anything in [0, 1].

    Notes
    -----
    Bounds are those of Hoeffding, "Probability inequalities for sums of bounded random variables"
    (JASA 1963), theorem 1, turned around: a mean that lies further off than these bounds has at
    most the error's probability, whatever the trials' distribution. At 0 and 1 they are those of
    Clopper and Pearson.

    Examples
    --------
    >>> low, high = Expected(0.0, 100).bounds(0.05)
    >>> low, round(high, 4)
    (0.0, 0.0295)
    """

    total: float
    trials: int

    def __post_init__(self) -> None:
        integer_at_least(0, owner="Expected", trials=self.trials)
        object.__setattr__(self, "trials", int(self.trials))
        # A sum of shares may miss a whole number by its rounding.
        if not -1e-6 <= self.total <= self.trials + 1e-6:
            raise ParameterError(
                "An arm's trials each lie in [0, 1]. "
                f"Got a total of {self.total:g} of {self.trials}."
            )
        object.__setattr__(self, "total", min(max(float(self.total), 0.0), float(self.trials)))

    @property
    def value(self) -> float:
        """The mean, in [0, 1]; a half without trials."""
        return self.total / self.trials if self.trials else 0.5

    def bounds(self, error: float) -> tuple[float, float]:
        """Return bounds of the mean, each wrong with at most this probability."""
        number_between(0, 0.5, owner="an arm's bounds", low_open=True, error=error)
        if not self.trials:
            return 0.0, 1.0
        allowed = -math.log(error) / self.trials
        return 1 - _upper(1 - self.value, allowed), _upper(self.value, allowed)


def _upper(value: float, allowed: float) -> float:
    """Return the largest mean whose divergence from the one that was seen is allowed."""
    low, high = value, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if _divergence(value, middle) > allowed:
            high = middle
        else:
            low = middle
    return high


def _divergence(p: float, q: float) -> float:
    """Return the Kullback-Leibler divergence of two coins, in nats."""
    first = p * math.log(p / q) if p > 0 else 0.0
    if p == 1:
        return first
    return first + ((1 - p) * math.log((1 - p) / (1 - q)) if q < 1 else math.inf)
