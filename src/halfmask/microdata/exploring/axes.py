"""The axes of pictures of policies: risk in powers of ten, and what is lost."""

from __future__ import annotations

from dataclasses import dataclass, replace
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


#: Where a label stands next to its point, and the size of a letter.
_BESIDE, _ABOVE, _LETTER, _TALL = 8.0, 6.0, 6.8, 13.0
#: So many numbers are named in one label.
_NAMED = 6


def point_labels(
    points: Sequence[tuple[float, float, str]], *, right: float
) -> list[tuple[float, float, str]]:
    """Return where labels of points are written: none is over another, or ends after `right`.

    Points whose labels would overlap have one label, at the first of them.
    """
    labels = [_Label(x + _BESIDE, y - _ABOVE, (words,), right) for x, y, words in points]
    place = 0
    while place < len(labels):
        own = labels[place]
        over = next((it for it in range(place) if labels[it].overlaps(own)), None)
        if over is None:
            place += 1
            continue
        del labels[place]
        labels[over] = replace(labels[over], numbers=(*labels[over].numbers, *own.numbers))
        place = over  # it is longer now, and may reach others
    return [(each.left, each.y, each.words) for each in labels]


@dataclass(frozen=True, slots=True)
class _Label:
    x: float
    y: float
    numbers: tuple[str, ...]
    right: float

    @property
    def words(self) -> str:
        more = len(self.numbers) - _NAMED
        named = ", ".join(self.numbers[:_NAMED])
        return named if more <= 0 else f"{named} and {more} more"

    @property
    def width(self) -> float:
        return _LETTER * len(self.words)

    @property
    def left(self) -> float:
        return min(self.x, self.right - self.width)

    def overlaps(self, other: _Label) -> bool:
        beside = max(self.left, other.left) >= min(self.left + self.width, other.left + other.width)
        return not beside and abs(self.y - other.y) < _TALL
