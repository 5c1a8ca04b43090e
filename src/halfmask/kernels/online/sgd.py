"""Online learning by stochastic gradient descent: predict, take the step, go to the next row.

Rows are compressed: the slots of row r are ``indices[indptr[r]:indptr[r + 1]]``, with ``values``
as their values, or all of value one where ``values`` is None. The last slot of a model is its bias,
which no index reaches. ``scales`` holds the largest magnitude that each slot has had, or is None.

A slot that a row names twice gets both updates, each computed from the model before the row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit_unchecked
from halfmask.kernels.online.lookahead import fetch
from halfmask.kernels.online.losses import invariant_step, pull
from halfmask.kernels.online.rates import FAR, TINY, decayed
from halfmask.kernels.online.scales import norm_of, raise_scales

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["learn_sgd"]


@njit_unchecked
def learn_sgd(
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
    decay: float,
    normalized: bool,  # noqa: FBT001 # arrays and numbers by place: numba knows no keywords
    invariant: bool,  # noqa: FBT001 # the same
    bias: float,
    counts: NDArray[np.float64],
    margins: NDArray[np.float64],
) -> int:
    """Learn rows, one after another.

    Parameters
    ----------
    indptr, indices, values, labels, weights
        The rows.
    model
        (slots + 1,), changed.
    scales
        (slots,), changed, or None. Needs values.
    loss, tau
        As in :func:`halfmask.kernels.online.losses.pull`.
    rate, decay
        As in :func:`halfmask.kernels.online.rates.decayed`.
    normalized
        Whether the rate is divided by the rows' mean squared norm in units of the scales
        (Ross, Mineiro and Langford 2013, algorithm 2).
    invariant
        Whether steps are those of :func:`halfmask.kernels.online.losses.invariant_step`.
    bias
        1, or 0 for a model without.
    counts
        How many rows came before, and the sum of their squared norms; changed.
    margins
        Written: the prediction of each row before it was learnt.

    Returns
    -------
    int
        How many rows were learnt: all, or those before the one that diverged.
    """
    last = len(model) - 1
    # The bias is rounded after each row, so that batches may be cut anywhere.
    base, seen, norms = model[last], counts[0], counts[1]
    for r in range(len(labels)):
        start, stop = indptr[r], indptr[r + 1]
        fetch(model, 1, indices, start, stop)
        row = indices[start:stop]
        total = np.float32(0.0)
        norm = bias
        if values is None:
            norm += len(row)
            for k in range(len(row)):
                total += model[row[k]]
        else:
            value = values[start:stop]
            if scales is None:
                for k in range(len(row)):
                    norm += np.float64(value[k]) * np.float64(value[k])
            else:
                raise_scales(row, value, scales, model.reshape(-1, 1), True)
                norm += norm_of(row, value, scales)
            for k in range(len(row)):
                total += model[row[k]] * value[k]
        margin = np.float64(total) + bias * base
        margins[r] = margin
        now = decayed(rate, decay, seen)
        seen += 1.0
        norms += norm
        if normalized:
            now *= seen / max(norms, 1.0)
        if invariant:
            step = invariant_step(loss, margin, labels[r], tau, weights[r], now * norm)
        else:
            step = weights[r] * pull(loss, margin, labels[r], tau)
        if not (abs(margin) < FAR and abs(step * now) < FAR):
            return r
        if abs(step) < TINY:
            continue
        step *= now
        base = np.float32(base + bias * step)
        if values is None:
            same = np.float32(step)
            for k in range(len(row)):
                model[row[k]] += same
        else:
            value = values[start:stop]
            for k in range(len(row)):
                change = step * value[k]
                if scales is not None and value[k] != 0.0:
                    size = np.float64(scales[row[k]])
                    change = change / size / size
                if not abs(change) < FAR:
                    return r
                model[row[k]] += np.float32(change)
    model[last] = base
    counts[0], counts[1] = seen, norms
    return len(labels)
