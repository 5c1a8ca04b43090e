"""Expected: an arm whose trials each succeed to some share, as where ties are broken at random."""

from __future__ import annotations

import math
from dataclasses import dataclass

from halfmask._errors import ParameterError
from halfmask._validation import integer_at_least, number_between

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
