"""What the calendar says of fitted rows, taken out and replaced by what it says of noise.

A model that is fitted to rows leaves too little in them: the mean of each hour of the week is 0 to
the last digit, where that of noise is not. Whoever folds the rows sees the cycle by its hole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.encode.series._clock import Clock
    from halfmask.encode.series._least_squares import Regression
    from halfmask.encode.series._seasons import Seasons

__all__ = ["Veil"]

_STEPS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Veil:
    """How fitted rows leave: ``(sent - mean) * exp(stretch) + drawn``, each by the calendar.

    Rows behind the fitted ones leave as they are: no model has seen them.

    Parameters
    ----------
    mean
        The calendar's weights for what would be sent.
    stretch
        Its weights for the logarithm of the factor by which rows are made as spread as noise.
    drawn
        Its weights for noise.

    Notes
    -----
    Noise of the rows' number is drawn, and fitted by the same design: its mean by least squares,
    the logarithm of its variance by a gamma regression (McCullagh and Nelder 1989, chapter 8). What
    leaves has the noise's mean and variance at each place of each cycle, no more and no less.
    """

    mean: NDArray[np.float64]
    stretch: NDArray[np.float64]
    drawn: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        sent: NDArray[np.float64],
        noise: NDArray[np.float64],
        rows: NDArray[np.int64],
        calendar: Regression,
    ) -> Self:
        """Fit what is sent, and noise of the same length, by the calendar's design."""
        weights = []
        for series in (sent, noise):
            mean = calendar.weights(series)
            spread = _log_variance((series - calendar.along(mean)) ** 2, rows, calendar)
            weights.append((mean, spread))
        (mean, spread), (drawn, wanted) = weights
        return cls(mean=mean, stretch=(wanted - spread) / 2, drawn=drawn)

    def along(
        self, seasons: Seasons, clock: Clock, positions: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the factor and what is added behind it, of each step."""
        factor, added = np.ones(len(positions)), np.zeros(len(positions))
        fitted = (positions >= seasons.first) & (positions <= seasons.last)
        if fitted.any():
            weights = np.stack([self.mean, self.stretch, self.drawn])
            mean, stretch, drawn = seasons.along(clock, positions[fitted], weights)
            factor[fitted] = np.exp(stretch)
            added[fitted] = drawn - mean * factor[fitted]
        return factor, added


def _log_variance(
    squares: NDArray[np.float64], rows: NDArray[np.int64], calendar: Regression
) -> NDArray[np.float64]:
    """Return the calendar's weights for the logarithm of the mean of squares."""
    weights = np.zeros(calendar.width)
    weights[0] = np.log(max(float(np.mean(squares[rows])), 1e-12))
    said = np.full(len(squares), weights[0])
    for _ in range(_STEPS):
        step = calendar.weights(squares * np.exp(-said) - 1)
        moved = calendar.along(step)
        # Half of a step too far is made good by the next; a whole one of a few rows need not be.
        share = 1 / max(1.0, float(np.abs(moved[rows]).max()))
        weights, said = weights + share * step, said + share * moved
    return weights
