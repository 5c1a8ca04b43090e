"""The fitted model of one series: what the calendar and its own past say of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask.encode.series._least_squares import gram, solve
from halfmask.encode.series._seasons import DRIFT_COLUMN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from halfmask.encode.series._clock import SeriesClock
    from halfmask.encode.series._noise import Veil
    from halfmask.encode.series._quantizer import Quantizer
    from halfmask.encode.series._seasons import Seasons


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
        x: NDArray[np.float64], xs: NDArray[np.float64], ys: NDArray[np.float64], tail: np.ufunc
    ) -> NDArray[np.float64]:
        below, above = xs[0] - x, x - xs[-1]
        most = 700.0 if tail is np.expm1 else np.inf
        inside: NDArray[np.float64] = np.interp(x, xs, ys)
        inside = inside - np.where(below > 0, tail(np.clip(below, 0, most)), 0.0)
        return inside + np.where(above > 0, tail(np.clip(above, 0, most)), 0.0)


_SHORT = (0, 1, 2, 3, 5, 8, 13, 21, 34, 55)
# How far around a cycle's length a value says something of the next.
_AROUND = (0, 1, 2, 4, 6, 9)
_LONGEST = 400
# A cycle of up to so many shorter ones, as a week has days, is looked back at through all of them.
_DAYS = 8
# No filter has more weights than this share of the rows.
_ROWS_A_WEIGHT = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What the past says of the next value: ``constant + sum of weights * values at lags``."""

    lags: NDArray[np.int64]
    weights: NDArray[np.float64]
    constant: float

    @classmethod
    def none(cls) -> Filter:
        """Return the filter that says zero."""
        return cls(lags=np.empty(0, np.int64), weights=np.empty(0), constant=0.0)

    @property
    def reach(self) -> int:
        """How many past values are needed."""
        return int(self.lags.max()) if len(self.lags) else 0

    def along(self, series: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what is predicted for each value; before the first, the past is 0."""
        forecast = np.full(len(series), self.constant)
        for lag, weight in zip(self.lags, self.weights, strict=True):
            forecast[lag:] += weight * series[: len(series) - lag]
        return forecast


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A filter and how well it does: Akaike's criterion, corrected for few rows."""

    filter: Filter
    aicc: float


def candidates(n: int, lengths: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Return the sets of lags that n values may be predicted by, each with more than the last."""
    cycles = [length for length in lengths if length <= min(_LONGEST, n // 4)]
    around = set(cycles)
    if len(cycles) > 1 and cycles[1] <= _DAYS * cycles[0]:
        around |= set(range(cycles[0], cycles[1] + 1, cycles[0]))
    elif cycles and cycles[0] <= 2 * _DAYS:
        around |= {times * cycles[0] for times in (2, 3, 4)}
    # A profile that changes slowly says something for weeks.
    later = {times * cycles[-1] for times in (2, 3, 4, 5)} if cycles else set()
    sets = []
    for place, short in enumerate(_SHORT):
        near = _AROUND[min(place // 2, len(_AROUND) - 1)]
        lags = set(range(1, short + 1))
        if short > 1:
            lags |= {at + by for at in around for by in range(-near, near + 1)}
        if short > _DAYS:
            lags |= {at + by for at in later for by in range(-near // 3, near // 3 + 1)}
        sets.append(tuple(sorted(lag for lag in lags if 0 < lag <= n // 8)))
    kept: list[tuple[int, ...]] = []
    for lags_ in sets:
        if len(lags_) <= n // _ROWS_A_WEIGHT and lags_ not in kept:
            kept.append(lags_)
    return tuple(kept) or ((),)


def fits(
    series: NDArray[np.float64],
    rows: NDArray[np.int64],
    sets: Iterable[tuple[int, ...]],
    *,
    differenced: bool = False,
    constant: bool = True,
    target: NDArray[np.float64] | None = None,
) -> list[Fit]:
    """Fit a filter for each set of lags, by conditional least squares on the same rows.

    Notes
    -----
    Conditional least squares is the conditional likelihood of normal errors (Box, Jenkins,
    Reinsel, Ljung, Time Series Analysis, 5th ed., section 7.1); AICc after Hurvich and Tsai 1989.
    """
    x = np.diff(series, prepend=series[0]) if differenced else series
    y = x if target is None else target
    tried = list(sets)
    union = np.array(sorted(set().union(*tried)), dtype=np.int64)
    # One more than the reach, so that levels and differences are judged on the same rows.
    rows = rows[rows > (int(union.max()) if len(union) else 0)]

    def design(chunk: NDArray[np.int64]) -> NDArray[np.float64]:
        ones = np.ones((len(chunk), 1))
        return np.hstack([ones, x[chunk[:, None] - union[None, :]]])

    square, cross = gram(design, y, rows)
    found = []
    for lags in tried:
        if len(rows) <= len(lags) + 3:
            continue
        places = 1 + np.searchsorted(union, lags)
        if constant:
            places = np.concatenate([[0], places])
        places = places.astype(np.int64)
        weights = np.empty(0)
        if len(places):
            weights = solve(square[np.ix_(places, places)], cross[places])
        ss = float(y[rows] @ y[rows]) - float(2 * weights @ cross[places])
        ss += float(weights @ square[np.ix_(places, places)] @ weights)
        n, k = len(rows), len(places) + 1
        if n - k - 1 <= 0:
            continue
        score = n * np.log(max(ss / n, 1e-300)) + 2 * k + 2 * k * (k + 1) / (n - k - 1)
        start = float(weights[0]) if constant else 0.0
        found.append(
            Fit(
                filter=_filter(lags, weights[constant:], start, differenced=differenced), aicc=score
            )
        )
    return found


def _filter(
    lags: tuple[int, ...], weights: NDArray[np.float64], constant: float, *, differenced: bool
) -> Filter:
    """Return the filter of levels, where that of differences was fitted."""
    if not differenced:
        return Filter(lags=np.array(lags, np.int64), weights=weights, constant=constant)
    total = np.zeros(max(lags, default=0) + 2)
    total[1] = 1.0
    for lag, weight in zip(lags, weights, strict=True):
        total[lag] += weight
        total[lag + 1] -= weight
    kept = np.flatnonzero(total)
    return Filter(lags=kept.astype(np.int64), weights=total[kept], constant=constant)


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
        self, sent: NDArray[np.float64], expected: NDArray[np.float64], around: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return what these would be the sending of, each given the true past, between steps."""
        wide = (slice(None),) + (None,) * (sent.ndim - 1)
        level, spread, score = (row[wide] for row in expected)
        season, width, _, tilt, _ = (row[wide] for row in around)
        residual = self.scores.residual(self.tau * sent + score + tilt)
        turned = season + width * (level + spread * residual)
        values: NDArray[np.float64] = (
            from_signed_power(turned, self.power) * self.scale + self.center
        )
        return values

    @property
    def _shape(self) -> NDArray[np.float64]:
        return np.array(
            [self.power, self.scale, self.center, self.past.constant, self.shift, self.tau]
        )


def to_signed_power(values: NDArray[np.float64], power: float) -> NDArray[np.float64]:
    """Return the signed power, or logarithm, of values in units of their scale."""
    if power == 1.0:
        return values
    size = np.abs(values)
    return np.copysign(np.log1p(size) if power == 0 else 2 * (np.sqrt(size + 1) - 1), values)


def from_signed_power(turned: NDArray[np.float64], power: float) -> NDArray[np.float64]:
    """Return the values whose signed power this is."""
    if power == 1.0:
        return turned
    size = np.abs(turned)
    bent = np.expm1(np.minimum(size, 700.0)) if power == 0 else (size / 2 + 1) ** 2 - 1
    return np.copysign(bent, turned)
