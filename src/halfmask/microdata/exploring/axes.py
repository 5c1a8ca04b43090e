"""The axes of pictures of policies: risk in powers of ten, and what is lost."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log10
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: A risk of 0 would have no place on an axis of powers of ten.
_LEAST = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskAxes:
    """Where a risk and a loss are drawn, in a frame: its left, right, top and bottom."""

    frame: tuple[float, float, float, float]
    low: int
    least: float
    most: float

    @classmethod
    def of(
        cls, places: Sequence[tuple[float, float]], frame: tuple[float, float, float, float]
    ) -> RiskAxes:
        """Return axes that reach all places."""
        low = min(-1, floor(log10(min(max(_LEAST, risk) for risk, _ in places))))
        lost = [loss for _, loss in places]
        least = 0.0 if max(lost) <= 1 else min(lost)
        return cls(frame=frame, low=low, least=least, most=max(*lost, least + 1e-9))

    def across(self, risk: float) -> float:
        """Return where a risk lies from left to right."""
        left, right, *_ = self.frame
        return left + (right - left) * (1 - log10(max(_LEAST, risk)) / self.low)

    def up(self, lost: float) -> float:
        """Return where a loss lies, the least at the bottom."""
        *_, top, bottom = self.frame
        return bottom - (bottom - top) * (lost - self.least) / (self.most - self.least) * 0.95

    def levels(self) -> Iterator[float]:
        """Yield round numbers between the least and the most loss."""
        span = self.most - self.least
        power = 10.0 ** floor(log10(span))
        step = next(each * power for each in (0.2, 0.5, 1, 2) if span / (each * power) <= 6)
        for number in range(ceil(self.least / step), floor(self.most / step) + 1):
            yield number * step

    def ticks(self) -> Iterator[float]:
        """Yield 1, 2 and 5 times the powers of ten from the least risk to 1."""
        for power in range(self.low, 0):
            yield from (step * 10.0**power for step in (1, 2, 5))
        yield 1.0
