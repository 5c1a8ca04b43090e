"""A map of residuals to normal scores: increasing, piecewise linear, with logarithmic tails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MAX_KNOTS = 129
_ROWS_A_KNOT = 8
# No two knots lie nearer than this share of the middle half's width: slopes stay bounded.
_NEAREST = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreMap:
    """Where residuals become scores, both strictly increasing.

    Beyond the last knot a score grows by ``log1p`` of the distance, so that what was never seen
    at the fit sticks out no more than it must.
    """

    knots: NDArray[np.float64]
    scores: NDArray[np.float64]

    @classmethod
    def of(cls, residuals: NDArray[np.float64]) -> ScoreMap:
        """Put knots at quantiles, and give each the normal distribution's quantile."""
        from scipy.special import ndtr, ndtri  # noqa: PLC0415 # scipy loads late

        n = len(residuals)
        if n < 2 or not np.ptp(residuals) > 0:
            middle = float(residuals[0]) if n else 0.0
            return cls(knots=np.array([middle - 1, middle + 1]), scores=np.array([-1.0, 1.0]))
        count = int(np.clip(n // _ROWS_A_KNOT, 3, _MAX_KNOTS))
        last = float(ndtri(1 - 1 / (n + 1)))
        scores = np.linspace(-last, last, count)
        knots = np.quantile(residuals, ndtr(scores))
        wide = float(np.diff(np.quantile(residuals, [0.25, 0.75]))[0]) or float(np.ptp(residuals))
        ramp = _NEAREST * wide * np.arange(count)
        return cls(knots=np.maximum.accumulate(knots - ramp) + 2 * ramp, scores=scores)

    def score(self, residuals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scores of residuals."""
        return self._along(residuals, self.knots, self.scores, np.log1p)

    def residual(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the residuals of scores."""
        return self._along(scores, self.scores, self.knots, np.expm1)

    @staticmethod
    def _along(
        x: NDArray[np.float64],
        xs: NDArray[np.float64],
        ys: NDArray[np.float64],
        tail: np.ufunc,
    ) -> NDArray[np.float64]:
        below, above = xs[0] - x, x - xs[-1]
        most = 700.0 if tail is np.expm1 else np.inf
        inside: NDArray[np.float64] = np.interp(x, xs, ys)
        inside = inside - np.where(below > 0, tail(np.clip(below, 0, most)), 0.0)
        return inside + np.where(above > 0, tail(np.clip(above, 0, most)), 0.0)
