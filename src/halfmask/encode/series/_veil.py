"""What the calendar says of fitted rows, taken out and replaced by what it says of noise.

The residuals of a model have too little of its cycles: the mean of each hour of the week is 0 to
the last digit, where that of noise is not. An attacker who folds the rows finds the cycle by its
hole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.encode.series._clock import SeriesClock
    from halfmask.encode.series._least_squares import Regression
    from halfmask.encode.series._seasons import Seasons

_STEPS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Veil:
    """What fitted rows have of noise, by the calendar.

    Rows behind the fitted ones are sent without: no model has seen them.

    Notes
    -----
    Noise of the rows' number is drawn, and fitted by the same design: its mean by least squares,
    the logarithm of its variance by a gamma regression (McCullagh and Nelder 1989, chapter 8). What
    leaves has the noise's mean and variance at each place of each cycle, no more and no less. Both
    are put in before past scores are fitted, or a filter would fill the holes with memory.
    """

    drawn: NDArray[np.float64]
    stretch: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        scores: NDArray[np.float64],
        noise: NDArray[np.float64],
        rows: NDArray[np.int64],
        calendar: Regression,
    ) -> Self:
        """Fit scores, and noise of the same length, by the calendar."""
        spreads = []
        for series in (scores, noise):
            rest = series - calendar.along(calendar.weights(series))
            spread = float(np.std(rest[rows])) or 1.0
            spreads.append(_log_variance((rest / spread) ** 2, rows, calendar))
        return cls(drawn=calendar.weights(noise), stretch=(spreads[1] - spreads[0]) / 2)

    def along(
        self, seasons: Seasons, clock: SeriesClock, positions: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return what is added to each step's score, and the logarithm of the factor."""
        found = np.zeros((2, len(positions)))
        fitted = (positions >= seasons.first) & (positions <= seasons.last)
        if fitted.any():
            weights = np.stack([self.drawn, self.stretch])
            found[:, fitted] = seasons.along(clock, positions[fitted], weights)
        return found[0], found[1]


def _log_variance(
    squares: NDArray[np.float64], rows: NDArray[np.int64], calendar: Regression
) -> NDArray[np.float64]:
    """Return the calendar's weights for the logarithm of the mean of squares."""
    weights = np.zeros(calendar.width)
    weights[0] = np.log(max(float(np.mean(squares[rows])), 1e-12))
    log_level = np.full(len(squares), weights[0])
    for _ in range(_STEPS):
        step = calendar.weights(squares * np.exp(-log_level) - 1)
        moved = calendar.along(step)
        # Half of a step too far is made good by the next; a whole one of a few rows need not be.
        share = 1 / max(1.0, float(np.abs(moved[rows]).max()))
        weights, log_level = weights + share * step, log_level + share * moved
    return weights
