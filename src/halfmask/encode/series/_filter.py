"""Predict a series from its own past: autoregressions over chosen lags, selected by AICc."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask.encode.series._least_squares import gram, solve

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

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
    lags: tuple[int, ...],
    weights: NDArray[np.float64],
    constant: float,
    *,
    differenced: bool,
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
