"""Predictions of online models from hashed rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit_unchecked
from halfmask.kernels.online.lookahead import fetch
from halfmask.kernels.online.softmax import soften

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["predict_classes", "predict_rows"]


@njit_unchecked
def predict_rows(
    indptr: NDArray[np.int64],
    indices: NDArray[np.uint32],
    values: NDArray[np.float32] | None,
    model: NDArray[np.float32],
    bias: float,
    logistic: bool,  # noqa: FBT001 # by place: numba knows no keywords
    out: NDArray[np.float32],
) -> None:
    """Write each row's margin, or its probability.

    Parameters
    ----------
    indptr, indices, values, bias
        As in :func:`halfmask.kernels.online.sgd.learn_sgd`.
    model
        (slots + 1, lanes): the weights come first.
    logistic
        Whether probabilities are wanted.
    out
        Written, (rows,).
    """
    base = bias * np.float64(model[len(model) - 1, 0])
    for r in range(len(out)):
        start, stop = indptr[r], indptr[r + 1]
        fetch(model, model.shape[1], indices, start, stop)
        row = indices[start:stop]
        total = np.float32(0.0)
        if values is None:
            for k in range(len(row)):
                total += model[row[k], 0]
        else:
            value = values[start:stop]
            for k in range(len(row)):
                total += model[row[k], 0] * value[k]
        margin = total + base
        out[r] = 1.0 / (1.0 + math.exp(-margin)) if logistic else margin


@njit_unchecked
def predict_classes(
    indptr: NDArray[np.int64],
    indices: NDArray[np.uint32],
    values: NDArray[np.float32] | None,
    model: NDArray[np.float32],
    bias: float,
    room: NDArray[np.float64],
    out: NDArray[np.float32],
) -> None:
    """Write each row's probabilities of the classes.

    Parameters
    ----------
    indptr, indices, values, bias
        As in :func:`halfmask.kernels.online.sgd.learn_sgd`.
    model
        (slots + 1, lanes, classes): the weights are the first lane.
    room
        (classes,), overwritten.
    out
        Written, (rows, classes).
    """
    classes = model.shape[2]
    for r in range(len(out)):
        start, stop = indptr[r], indptr[r + 1]
        fetch(model, model.shape[1] * classes, indices, start, stop)
        for c in range(classes):
            room[c] = bias * model[len(model) - 1, 0, c]
        for k in range(start, stop):
            for c in range(classes):
                weight = model[indices[k], 0, c]
                room[c] += weight if values is None else weight * values[k]
        soften(room)
        for c in range(classes):
            out[r, c] = room[c]
