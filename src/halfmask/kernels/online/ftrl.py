"""Online learning by FTRL-proximal: weights that follow from all gradients, many of them zero.

Rows are as in :mod:`halfmask.kernels.online.sgd`; a slot that a row names twice is learnt from
twice, one after the other.

McMahan et al., "Ad click prediction: a view from the trenches" (KDD 2013), algorithm 1.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit_unchecked
from halfmask.kernels.online.lookahead import fetch
from halfmask.kernels.online.losses import pull
from halfmask.kernels.online.rates import FAR, TINY
from halfmask.kernels.online.scales import raise_scales

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["learn_ftrl", "proximal"]


@njit_unchecked
def proximal(z: float, n: float, rate: float, beta: float, l1: float, l2: float) -> float:
    """Return the weight that a sum of gradients ``z`` and of their squares ``n`` stand for."""
    size = abs(z) - l1
    if size <= 0.0:
        return 0.0
    weight = size / ((beta + math.sqrt(n)) / rate + l2)
    return -weight if z > 0.0 else weight


@njit_unchecked
def _follow(
    model: NDArray[np.float32],
    slot: int,
    gradient: float,
    scale: float,
    rate: float,
    beta: float,
    l1: float,
    l2: float,
) -> bool:
    """Add a gradient to a slot, in units of its scale; return whether all of it fits 32 bits."""
    before = np.float64(model[slot, 2])
    after = before + gradient * gradient
    sigma = (math.sqrt(after) - math.sqrt(before)) / rate
    z = model[slot, 1] + gradient - sigma * model[slot, 0] * scale
    model[slot, 0] = np.float32(proximal(z, after, rate, beta, l1, l2) / scale)
    model[slot, 1] = np.float32(z)
    model[slot, 2] = np.float32(after)
    return bool(abs(model[slot, 0]) < FAR and abs(z) < FAR and after < FAR * FAR)


@njit_unchecked
def learn_ftrl(
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
    beta: float,
    l1: float,
    l2: float,
    bias: float,
    margins: NDArray[np.float64],
) -> int:
    """Learn rows, one after another.

    Parameters
    ----------
    indptr, indices, values, labels, weights, loss, tau, bias, margins
        As in :func:`halfmask.kernels.online.sgd.learn_sgd`. A weight multiplies the gradient.
    model
        (slots + 1, 3): weights, sums of gradients (less what weights stood for), and sums of
        squared gradients; changed. The bias has no L1 and no L2.
    scales
        (slots,), changed, or None. Where they are, values are learnt from in units of them.
    rate, beta, l1, l2
        As in the paper, where the rate is alpha.

    Returns
    -------
    int
        How many rows were learnt: all, or those before the one that diverged.
    """
    last = len(model) - 1
    for r in range(len(labels)):
        start, stop = indptr[r], indptr[r + 1]
        fetch(model, 3, indices, start, stop)
        row = indices[start:stop]
        total = np.float32(0.0)
        if values is None:
            for k in range(len(row)):
                total += model[row[k], 0]
        else:
            value = values[start:stop]
            if scales is not None:
                raise_scales(row, value, scales, model[:, :1], False)
            for k in range(len(row)):
                total += model[row[k], 0] * value[k]
        margin = total + bias * np.float64(model[last, 0])
        margins[r] = margin
        gradient = -pull(loss, margin, labels[r], tau) * weights[r]
        if not (abs(margin) < FAR and abs(gradient) < FAR):
            return r
        if abs(gradient) < TINY:
            continue
        fits = True
        if values is None:
            for k in range(len(row)):
                fits &= _follow(model, row[k], gradient, 1.0, rate, beta, l1, l2)
        else:
            value = values[start:stop]
            for k in range(len(row)):
                scale = np.float64(1.0) if scales is None else np.float64(scales[row[k]])
                if value[k] != 0.0:
                    each = gradient * value[k] / scale
                    fits &= _follow(model, row[k], each, scale, rate, beta, l1, l2)
        if bias > 0.0:
            fits &= _follow(model, last, gradient, 1.0, rate, beta, 0.0, 0.0)
        if not fits:
            return r
    return len(labels)
