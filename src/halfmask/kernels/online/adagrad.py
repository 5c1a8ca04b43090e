"""Online learning by AdaGrad: each slot has a rate that falls with the gradients it has had.

Rows are as in :mod:`halfmask.kernels.online.sgd`. Rates of a row are computed in a buffer, side by
side, so that square roots and divisions become vector code; they would be two thirds of the time.

Duchi, Hazan and Singer, "Adaptive subgradient methods" (JMLR 2011), the diagonal form.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit_unchecked
from halfmask.kernels.online.lookahead import fetch
from halfmask.kernels.online.losses import invariant_step, pull
from halfmask.kernels.online.rates import FAR, TINY
from halfmask.kernels.online.scales import norm_of, raise_scales

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["learn_adagrad"]


@njit_unchecked
def _rates(room: NDArray[np.float32], n: int, rate: np.float32, square: np.float32) -> None:
    """Turn sums of squares into rates, all of them raised by one square before."""
    for k in range(n):
        room[k] = rate / np.sqrt(room[k] + square)


@njit_unchecked
def _sum(room: NDArray[np.float32], n: int) -> float:
    """Return the sum of n numbers; room for the next seven is set to zero."""
    for k in range(n, n + 7):
        room[k] = 0.0
    a, b, c, d = np.float32(0.0), np.float32(0.0), np.float32(0.0), np.float32(0.0)
    e, f, g, h = np.float32(0.0), np.float32(0.0), np.float32(0.0), np.float32(0.0)
    for k in range(0, n, 8):
        a += room[k]
        b += room[k + 1]
        c += room[k + 2]
        d += room[k + 3]
        e += room[k + 4]
        f += room[k + 5]
        g += room[k + 6]
        h += room[k + 7]
    return float(((a + b) + (c + d)) + ((e + f) + (g + h)))


@njit_unchecked
def learn_adagrad(
    indptr: NDArray[np.int64],
    indices: NDArray[np.uint32],
    values: NDArray[np.float32] | None,
    labels: NDArray[np.float32],
    weights: NDArray[np.float32],
    model: NDArray[np.float32],
    scales: NDArray[np.float32] | None,
    loss: int,
    tau: float,
    rate: float,
    normalized: bool,  # noqa: FBT001 # arrays and numbers by place: numba knows no keywords
    invariant: bool,  # noqa: FBT001 # the same
    bias: float,
    counts: NDArray[np.float64],
    margins: NDArray[np.float64],
    room: NDArray[np.float32],
) -> int:
    """Learn rows, one after another.

    Parameters
    ----------
    indptr, indices, values, labels, weights, loss, tau, bias, margins
        As in :func:`halfmask.kernels.online.sgd.learn_sgd`.
    model
        (slots + 1, 2): weights, and sums of squared gradients; changed.
    scales
        (slots,), changed, or None. Needs values.
    rate
        Of each slot before it is divided by the root of its sum of squares.
    normalized
        Whether rates are in units of the scales, and divided by the rows' root mean squared norm
        (Ross, Mineiro and Langford 2013, algorithm 3).
    invariant
        As for stochastic gradient descent. A row of weight h then adds h times its squared
        gradient, and else the square of h times its gradient.
    counts
        How many rows came before, and the sum of their squared norms; changed.
    room
        As long as the longest row and seven more; overwritten.

    Returns
    -------
    int
        How many rows were learnt: all, or those before the one that diverged.
    """
    last = len(model) - 1
    # The bias is rounded after each row, so that batches may be cut anywhere.
    base, base_squares = model[last, 0], model[last, 1]
    seen, norms = counts[0], counts[1]
    for r in range(len(labels)):
        start, stop = indptr[r], indptr[r + 1]
        fetch(model, 2, indices, start, stop)
        row = indices[start:stop]
        n = len(row)
        total = np.float32(0.0)
        norm = bias
        if values is None:
            norm += n
            for k in range(n):
                total += model[row[k], 0]
                room[k] = model[row[k], 1]
        else:
            value = values[start:stop]
            if scales is not None:
                raise_scales(row, value, scales, model[:, :1], False)
                norm += norm_of(row, value, scales)
            for k in range(n):
                total += model[row[k], 0] * value[k]
                room[k] = model[row[k], 1]
        margin = np.float64(total) + bias * base
        margins[r] = margin
        seen += 1.0
        norms += norm
        now = rate * math.sqrt(seen / max(norms, 1.0)) if normalized else rate
        slope = pull(loss, margin, labels[r], tau)
        weight = float(weights[r])
        if not (abs(margin) < FAR and abs(slope * weight) < FAR):
            return r
        if abs(slope) * weight < TINY:
            continue
        square = slope * slope * (weight if invariant else weight * weight)
        base_rate = now / math.sqrt(base_squares + square)
        reach = bias * base_rate
        step = weight * slope
        if values is None:
            _rates(room, n, np.float32(now), np.float32(square))
            if invariant:
                reach += _sum(room, n)
                step = invariant_step(loss, margin, labels[r], tau, weight, reach)
            change, plus = np.float32(step), np.float32(square)
            for k in range(n):
                model[row[k], 0] += change * room[k]
                model[row[k], 1] += plus
        else:
            value = values[start:stop]
            for k in range(n):
                x = np.float64(value[k])
                squares = room[k] + square * x * x
                each = now * x / math.sqrt(squares) if squares > 0.0 else 0.0
                if scales is not None and each != 0.0:
                    each /= scales[row[k]]
                room[k] = each
                reach += each * x
            if invariant:
                step = invariant_step(loss, margin, labels[r], tau, weight, reach)
            for k in range(n):
                x = np.float64(value[k])
                more = square * x * x
                if not (abs(step * room[k]) < FAR and more < FAR * FAR):
                    return r
                model[row[k], 0] += np.float32(step * room[k])
                model[row[k], 1] += np.float32(more)
        base = np.float32(base + bias * step * base_rate)
        base_squares = np.float32(base_squares + bias * square)
    model[last, 0], model[last, 1] = base, base_squares
    counts[0], counts[1] = seen, norms
    return len(labels)
