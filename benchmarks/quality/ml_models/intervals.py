"""Means over seeds, with Student's interval."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import sqrt
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from scipy.stats import t as student

if TYPE_CHECKING:
    from collections.abc import Sequence

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """A mean over seeds and its two-sided 95 % interval; without bounds for a single seed."""

    mean: float
    low: float | None
    high: float | None
    seeds: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Mean:
        """Return the mean of one value a seed."""
        mean, n = fmean(values), len(values)
        if n < 2:
            return cls(mean=mean, low=None, high=None, seeds=n)
        half = float(student.ppf((1 + CONFIDENCE) / 2, n - 1)) * stdev(values) / sqrt(n)
        return cls(mean=mean, low=mean - half, high=mean + half, seeds=n)

    def as_json(self) -> dict[str, Any]:
        """Return the numbers under their names."""
        return asdict(self)

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.mean:.3f}"
        return f"{self.mean:.3f} ± {(self.high - self.low) / 2:.3f}"
