"""Numbers that follow from a key and a step, the same in any batch, and the veil made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from halfmask._random import keyed_integers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.encode.series._clock import SeriesClock
    from halfmask.encode.series._least_squares import Regression
    from halfmask.encode.series._seasons import Seasons


_CHUNK = 4096
_USES = {"dither": 0, "pad": 1, "missing": 2, "gap": 3, "blind": 4, "rest": 5, "veil": 6}
#: Whole numbers below this are padded: 46 bits, which a normal number of 53 bits can carry.
PAD = 2**46
_LOW = np.uint64(2**32 - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Keystream:
    """The keystream of one series."""

    key: bytes

    def __repr__(self) -> str:
        return "Noise()"

    def integers(self, use: str, first: int, n: int) -> NDArray[np.uint64]:
        """Return 64 bits for each of ``n`` steps from ``first`` on, at least 0."""
        if not n:
            return np.empty(0, np.uint64)
        low, high = first // _CHUNK, (first + n - 1) // _CHUNK + 1
        drawn = [
            keyed_integers(_CHUNK, key=self.key, stream=(_USES[use] << 48) | chunk)
            for chunk in range(low, high)
        ]
        start = first - low * _CHUNK
        return np.concatenate(drawn)[start : start + n]

    def uniform(self, use: str, first: int, n: int) -> NDArray[np.float64]:
        """Return numbers of the open interval (0, 1)."""
        bits = self.integers(use, first, n) >> np.uint64(12)
        return (bits.astype(np.float64) + 0.5) * 2.0**-52

    def normal(self, use: str, first: int, n: int) -> NDArray[np.float64]:
        """Return standard normal numbers."""
        from scipy.special import ndtri  # noqa: PLC0415 # scipy loads late

        normal: NDArray[np.float64] = ndtri(self.uniform(use, first, n))
        return normal

    def padded(self, whole: NDArray[np.int64], first: int) -> NDArray[np.float64]:
        """Return normal numbers that hold whole numbers below `PAD`, each behind its pad.

        Without the key they look like any others: each of them may hold any number.
        """
        from scipy.special import ndtri  # noqa: PLC0415 # scipy loads late

        place = (whole + self._pad(first, len(whole))) % PAD
        normal: NDArray[np.float64] = ndtri((place.astype(np.float64) + 0.5) / PAD)
        return normal

    def unpadded(self, sent: NDArray[np.float64], first: int) -> NDArray[np.int64]:
        """Return the whole numbers that `padded` was given."""
        from scipy.special import ndtr  # noqa: PLC0415 # scipy loads late

        place = np.floor(ndtr(sent) * PAD).astype(np.int64)
        whole: NDArray[np.int64] = (place - self._pad(first, len(sent))) % PAD
        return whole

    def halves(self, rest: NDArray[np.int64], first: int) -> tuple[NDArray[np.float64], ...]:
        """Return two normal numbers for each of these integers, which hold its padded halves."""
        from scipy.special import ndtri  # noqa: PLC0415 # scipy loads late

        padded = rest.view(np.uint64) ^ self.integers("rest", first, len(rest))
        low, high = padded & _LOW, padded >> np.uint64(32)
        return tuple(ndtri((half.astype(np.float64) + 0.5) * 2.0**-32) for half in (low, high))

    def whole(
        self, low: NDArray[np.float64], high: NDArray[np.float64], first: int
    ) -> NDArray[np.int64]:
        """Return the integers that `halves` was given."""
        from scipy.special import ndtr  # noqa: PLC0415 # scipy loads late

        a, b = (np.floor(ndtr(half) * 2.0**32).astype(np.uint64) for half in (low, high))
        padded = (a & _LOW) | (b << np.uint64(32))
        rest: NDArray[np.int64] = (padded ^ self.integers("rest", first, len(low))).view(np.int64)
        return rest

    def _pad(self, first: int, n: int) -> NDArray[np.int64]:
        return (self.integers("pad", first, n) >> np.uint64(18)).astype(np.int64)


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
