"""Online learning of several classes by one model: softmax with any of the three optimizers.

Rows are as in :mod:`halfmask.kernels.online.sgd`; a slot that a row names twice is learnt from
twice, one after the other. No closed form of importance-aware steps is known for softmax: a row's
weight multiplies its gradient.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit_unchecked
from halfmask.kernels.online.ftrl import proximal
from halfmask.kernels.online.lookahead import fetch
from halfmask.kernels.online.rates import FAR, decayed
from halfmask.kernels.online.scales import norm_of, raise_scales

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ADAGRAD", "FTRL", "SGD", "learn_softmax", "soften"]

SGD = 0
ADAGRAD = 1
FTRL = 2


@njit_unchecked
def soften(margins: NDArray[np.float64]) -> None:
    """Turn the margins of a row into probabilities, in place."""
    most, total = margins[0], 0.0
    for c in range(1, len(margins)):
        most = max(most, margins[c])
    for c in range(len(margins)):
        margins[c] = math.exp(margins[c] - most)
        total += margins[c]
    for c in range(len(margins)):
        margins[c] /= total


@njit_unchecked
def _learn_slot(
    model: NDArray[np.float32],
    slot: int,
    gradients: NDArray[np.float64],
    x: float,
    scale: float,
    optimizer: int,
    rate: float,
    beta: float,
    l1: float,
    l2: float,
) -> bool:
    """Add the gradients of all classes to a slot; return whether all of it fits 32 bits.

    ``x`` is the value in units of the scale.
    """
    fits = True
    for c in range(len(gradients)):
        gradient = gradients[c] * x
        if optimizer == SGD:
            model[slot, 0, c] -= np.float32(rate * gradient / scale)
        elif optimizer == ADAGRAD:
            # The squares are of the gradient by the weight itself, as in NAG.
            whole = gradient * scale
            squares = np.float32(model[slot, 1, c] + whole * whole)
            fits &= float(squares) < FAR * FAR
            if squares > 0.0:
                model[slot, 0, c] -= np.float32(rate * gradient / math.sqrt(squares))
                model[slot, 1, c] = squares
        else:
            before = np.float64(model[slot, 2, c])
            after = before + gradient * gradient
            sigma = (math.sqrt(after) - math.sqrt(before)) / rate
            z = model[slot, 1, c] + gradient - sigma * model[slot, 0, c] * scale
            model[slot, 0, c] = np.float32(proximal(z, after, rate, beta, l1, l2) / scale)
            model[slot, 1, c] = np.float32(z)
            model[slot, 2, c] = np.float32(after)
            fits &= abs(z) < FAR and after < FAR * FAR
        fits &= abs(float(model[slot, 0, c])) < FAR
    return fits


@njit_unchecked
def learn_softmax(
    indptr: NDArray[np.int64],
    indices: NDArray[np.uint32],
    values: NDArray[np.float32] | None,
    labels: NDArray[np.int32],
    weights: NDArray[np.float32],
    model: NDArray[np.float32],
    scales: NDArray[np.float32] | None,
    optimizer: int,
    rate: float,
    decay: float,
    beta: float,
    l1: float,
    l2: float,
    normalized: bool,  # noqa: FBT001 # arrays and numbers by place: numba knows no keywords
    bias: float,
    counts: NDArray[np.float64],
    sums: NDArray[np.float64],
    room: NDArray[np.float64],
) -> int:
    """Learn rows, one after another.

    Parameters
    ----------
    indptr, indices, values, weights, scales, decay, normalized, bias, counts
        As in :func:`halfmask.kernels.online.sgd.learn_sgd`.
    labels
        The class of each row, below the number of classes.
    model
        (slots + 1, lanes, classes): the lanes are those of the optimizer's other kernel; changed.
    optimizer
        `SGD`, `ADAGRAD` or `FTRL`.
    rate, beta, l1, l2
        As in :func:`halfmask.kernels.online.ftrl.learn_ftrl`; beta, l1 and l2 of `FTRL` only.
    sums
        Weighted sums of losses before each update, of right answers, and of weights; added to.
    room
        (classes,), overwritten.

    Returns
    -------
    int
        How many rows were learnt: all, or those before the one that diverged.
    """
    last, lanes, classes = len(model) - 1, model.shape[1], model.shape[2]
    heads = model.reshape(len(model), lanes * classes)[:, :classes]
    for r in range(len(labels)):
        start, stop = indptr[r], indptr[r + 1]
        fetch(model, lanes * classes, indices, start, stop)
        row = indices[start:stop]
        norm = bias
        for c in range(classes):
            room[c] = bias * model[last, 0, c]
        if values is None:
            norm += len(row)
            for k in range(len(row)):
                for c in range(classes):
                    room[c] += model[row[k], 0, c]
        else:
            value = values[start:stop]
            if scales is not None:
                raise_scales(row, value, scales, heads, optimizer == SGD)
                norm += norm_of(row, value, scales)
            for k in range(len(row)):
                for c in range(classes):
                    room[c] += model[row[k], 0, c] * value[k]
        answer, far = 0, 0.0
        for c in range(classes):
            far += abs(room[c])
            if room[c] > room[answer]:
                answer = c
        label, weight = labels[r], np.float64(weights[r])
        if not far * max(weight, 1.0) < FAR:
            return r
        soften(room)
        sums[0] -= weight * math.log(max(room[label], 1e-300))
        sums[1] += weight * (answer == label)
        sums[2] += weight
        now = decayed(rate, decay, counts[0]) if optimizer == SGD else rate
        counts[0] += 1.0
        counts[1] += norm
        if normalized and optimizer != FTRL:
            share = counts[0] / max(counts[1], 1.0)
            now *= share if optimizer == SGD else math.sqrt(share)
        room[label] -= 1.0
        for c in range(classes):
            room[c] *= weight
        fits = True
        if values is None:
            for k in range(len(row)):
                fits &= _learn_slot(model, row[k], room, 1.0, 1.0, optimizer, now, beta, l1, l2)
        else:
            value = values[start:stop]
            for k in range(len(row)):
                x, scale = np.float64(value[k]), np.float64(1.0)
                if scales is not None:
                    scale = np.float64(scales[row[k]])
                if x != 0.0:
                    fits &= _learn_slot(
                        model, row[k], room, x / scale, scale, optimizer, now, beta, l1, l2
                    )
        if bias > 0.0:
            fits &= _learn_slot(model, last, room, 1.0, 1.0, optimizer, now, beta, 0.0, 0.0)
        if not fits:
            return r
    return len(labels)
