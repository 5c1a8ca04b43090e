"""Go along a series one step at a time: predict, and send or restore what the prediction missed.

The loop is closed: the prediction of a step follows from the raw values, which the side that
restores them has, too, by then. So a rounding error of one step never reaches the next.

A step, with histories V (levels), W (log spreads) and G (scores)::

    level  = c + sum of a_k V[t - k]                 V[t] = (T(value) - season) / width
    spread = exp(rho + sum of b_k W[t - k])          W[t] = w + log(|V[t] - level| / e^rho + floor)
    score  = sum of g_k G[t - k]                     G[t] = S((V[t] - level) / spread) - tilt
    sent   = (G[t] - score) / tau

T is a signed power, S a piecewise linear map with logarithmic tails.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit_no_nrt

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ASK", "FLOOR", "KEEP", "LOST", "SEND", "TAKE", "walk"]

#: What is done along the way: values are sent, sent values are taken back to whole steps, or are
#: taken as numbers between steps (forecasts).
SEND, TAKE, ASK = 0, 1, 2
#: What a step is: one whose value goes along, or one whose value says nothing (missing, sealed).
KEEP, LOST = 0, 1
#: Added to sizes before a logarithm is taken of them, so that a hit isn't minus infinity.
FLOOR = 0.05
# No spread is predicted further from the season's than by this factor's logarithm.
_WIDEST = 3.0
# No restored value is further away than any that could have been sent.
_FAR = 2.0**50


@njit_no_nrt
def _power(value: float, power: float) -> float:
    size = abs(value)
    if power == 1.0:
        return value
    turned = math.log1p(size) if power == 0.0 else 2 * (math.sqrt(size + 1) - 1)
    return turned if value >= 0 else -turned


@njit_no_nrt
def _unpower(turned: float, power: float) -> float:
    size = min(abs(turned), 700.0) if power == 0.0 else abs(turned)
    if power == 1.0:
        return turned
    value = math.expm1(size) if power == 0.0 else (size / 2 + 1) ** 2 - 1
    return value if turned >= 0 else -value


@njit_no_nrt
def _along(x: float, xs: NDArray[np.float64], ys: NDArray[np.float64]) -> float:
    low, high = 0, len(xs) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if xs[middle] <= x:
            low = middle
        else:
            high = middle
    slope = (ys[high] - ys[low]) / (xs[high] - xs[low])
    return float(ys[low] + (x - xs[low]) * slope)


@njit_no_nrt
def _score(z: float, knots: NDArray[np.float64], scores: NDArray[np.float64]) -> float:
    last = len(knots) - 1
    if z < knots[0]:
        return float(scores[0] - math.log1p(knots[0] - z))
    if z > knots[last]:
        return float(scores[last] + math.log1p(z - knots[last]))
    return _along(z, knots, scores)


@njit_no_nrt
def _unscore(score: float, knots: NDArray[np.float64], scores: NDArray[np.float64]) -> float:
    last = len(knots) - 1
    if score < scores[0]:
        return float(knots[0] - math.expm1(min(scores[0] - score, 700.0)))
    if score > scores[last]:
        return float(knots[last] + math.expm1(min(score - scores[last], 700.0)))
    return _along(score, scores, knots)


@njit_no_nrt
def _look_back(
    history: NDArray[np.float64], at: int, lags: NDArray[np.int64], weights: NDArray[np.float64]
) -> float:
    total = 0.0
    for k in range(len(lags)):
        total += weights[k] * history[at - lags[k]]
    return total


@njit_no_nrt
def walk(
    doing: int,
    values: NDArray[np.float64],
    sent: NDArray[np.float64],
    kinds: NDArray[np.int8],
    around: NDArray[np.float64],
    shape: NDArray[np.float64],
    level_lags: NDArray[np.int64],
    level_weights: NDArray[np.float64],
    spread_lags: NDArray[np.int64],
    spread_weights: NDArray[np.float64],
    score_lags: NDArray[np.int64],
    score_weights: NDArray[np.float64],
    knots: NDArray[np.float64],
    scores: NDArray[np.float64],
    histories: NDArray[np.float64],
    expected: NDArray[np.float64],
) -> None:
    """Go along n steps.

    Parameters
    ----------
    doing
        `SEND` reads ``values`` and writes ``sent``; `TAKE` and `ASK` read ``sent`` and write
        ``values``.
    values
        Whole steps of the column's grid, (n,).
    sent
        The sent numbers, (n,); nothing is written where a step is `LOST`.
    kinds
        `KEEP` or `LOST`, (n,).
    around
        Season, width, rho, tilt and dither of each step, (5, n).
    shape
        The power, the scale and the centre of values, c, w and tau.
    level_lags, level_weights, spread_lags, spread_weights, score_lags, score_weights
        How far each filter looks back, and by what weights.
    knots, scores
        The map S, both strictly increasing.
    histories
        V, W and G, (3, m + n): the first m columns hold what was before, the others are written.
    expected
        Level, spread and score that were expected at each step, (3, n), written.
    """
    power, scale, center, constant, shift, tau = shape
    start = histories.shape[1] - len(values)
    for t in range(len(values)):
        at = start + t
        season, width, rho = around[0, t], around[1, t], around[2, t]
        tilt, dither = around[3, t], around[4, t]
        level = constant + _look_back(histories[0], at, level_lags, level_weights)
        log_size = _look_back(histories[1], at, spread_lags, spread_weights)
        spread = math.exp(rho + max(-_WIDEST, min(_WIDEST, log_size)))
        score = _look_back(histories[2], at, score_lags, score_weights)
        expected[0, t], expected[1, t], expected[2, t] = level, spread, score
        if kinds[t] == LOST:
            histories[0, at], histories[1, at], histories[2, at] = level, log_size, score
            continue
        if doing != SEND:
            z = _unscore(tau * sent[t] + score + tilt, knots, scores)
            turned = season + width * (level + spread * z)
            value = _unpower(turned, power) * scale + center
            value = max(-_FAR, min(_FAR, value))
            values[t] = np.rint(value - dither) if doing == TAKE else value
        there = values[t] if doing == ASK else values[t] + dither
        v = (_power((there - center) / scale, power) - season) / width
        g = _score((v - level) / spread, knots, scores) - tilt
        histories[0, at] = v
        histories[1, at] = math.log(abs(v - level) / math.exp(rho) + FLOOR) + shift
        histories[2, at] = g
        if doing == SEND:
            sent[t] = (g - score) / tau
