"""The fitted model of one series: what the calendar and its own past say of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask.encode.series._seasons import DRIFT_COLUMN

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.encode.series._clock import SeriesClock
    from halfmask.encode.series._filter import Filter
    from halfmask.encode.series._quantizer import Quantizer
    from halfmask.encode.series._scores import ScoreMap
    from halfmask.encode.series._seasons import Seasons
    from halfmask.encode.series._veil import Veil


@dataclass(frozen=True, slots=True, kw_only=True)
class FilteredSeries:
    """What came of going along a series: values, what is sent, and what was expected.

    ``history`` is what the next step looks back at, (3, reach).
    """

    values: NDArray[np.float64]
    sent: NDArray[np.float64]
    expected: NDArray[np.float64]
    history: NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """One column of one entity."""

    grain: Quantizer
    power: float
    scale: float
    center: float
    seasons: Seasons
    level: NDArray[np.float64]
    width: NDArray[np.float64]
    spread: NDArray[np.float64]
    tilt: NDArray[np.float64]
    past: Filter
    volatile: Filter
    polish: Filter
    shift: float
    tau: float
    scores: ScoreMap
    before: NDArray[np.float64]
    sign: float
    sealed: NDArray[np.int64]
    whiteness: tuple[tuple[int, float], ...]
    veil: Veil | None = None
    later: tuple[tuple[int, float], ...] = ()

    @property
    def reach(self) -> int:
        """How many past steps are looked back at."""
        return max(self.past.reach, self.volatile.reach, self.polish.reach, 1)

    def around(
        self, clock: SeriesClock, positions: NDArray[np.int64], dither: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return season, width, log spread, tilt and dither of each step, (5, n)."""
        weights = np.stack([self.level, self.width, self.spread, self.tilt])
        level, width, spread, tilt = self.seasons.along(clock, positions, weights)
        # A level goes on drifting; nothing else does, which could run away.
        level = level + self.level[DRIFT_COLUMN] * self.seasons.beyond(positions)
        if self.veil is not None:
            drawn, stretch = self.veil.along(self.seasons, clock, positions)
            tilt, spread = tilt - drawn, spread - stretch
        return np.stack([level, np.exp(width), spread, tilt, dither])

    def walk(
        self,
        doing: int,
        *,
        values: NDArray[np.float64],
        sent: NDArray[np.float64],
        lost: NDArray[np.bool_],
        around: NDArray[np.float64],
        history: NDArray[np.float64],
    ) -> FilteredSeries:
        """Go along steps from a history, sending values or taking what was sent."""
        from halfmask.kernels.encoding.series import walk  # noqa: PLC0415 # loads the compiler

        values, sent = values.copy(), sent.copy()
        histories = np.hstack([history, np.empty((3, len(values)))])
        expected = np.empty((3, len(values)))
        walk(
            doing, values, sent, lost.astype(np.int8), np.ascontiguousarray(around), self._shape,
            self.past.lags, self.past.weights, self.volatile.lags, self.volatile.weights,
            self.polish.lags, self.polish.weights, self.scores.knots, self.scores.scores,
            histories, expected,
        )  # fmt: skip
        after = histories[:, histories.shape[1] - history.shape[1] :]
        return FilteredSeries(values=values, sent=sent, expected=expected, history=after.copy())

    def numbers(
        self,
        sent: NDArray[np.float64],
        expected: NDArray[np.float64],
        around: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return what these would be the sending of, each given the true past, between steps."""
        wide = (slice(None),) + (None,) * (sent.ndim - 1)
        level, spread, score = (row[wide] for row in expected)
        season, width, _, tilt, _ = (row[wide] for row in around)
        residual = self.scores.residual(self.tau * sent + score + tilt)
        turned = season + width * (level + spread * residual)
        values: NDArray[np.float64] = unpowered(turned, self.power) * self.scale + self.center
        return values

    @property
    def _shape(self) -> NDArray[np.float64]:
        return np.array(
            [self.power, self.scale, self.center, self.past.constant, self.shift, self.tau]
        )


def powered(values: NDArray[np.float64], power: float) -> NDArray[np.float64]:
    """Return the signed power, or logarithm, of values in units of their scale."""
    if power == 1.0:
        return values
    size = np.abs(values)
    return np.copysign(np.log1p(size) if power == 0 else 2 * (np.sqrt(size + 1) - 1), values)


def unpowered(turned: NDArray[np.float64], power: float) -> NDArray[np.float64]:
    """Return the values whose signed power this is."""
    if power == 1.0:
        return turned
    size = np.abs(turned)
    bent = np.expm1(np.minimum(size, 700.0)) if power == 0 else (size / 2 + 1) ** 2 - 1
    return np.copysign(bent, turned)
