"""Five regressions that learn an encoding from known rows; the best is reported."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

_PENALTIES = (1e-8, 1e-5, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
_NEIGHBOURS = 5
_HIDDEN = 64


def linear(
    known: NDArray[np.float64], values: NDArray[np.float64], rows: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Solve the linear system of the known rows; the shortest solution where there are many."""
    center, mean = known.mean(axis=0), values.mean(axis=0)
    solution = np.linalg.lstsq(known - center, values - mean, rcond=1e-10)[0]
    return np.asarray((rows - center) @ solution + mean)


def ridge(
    known: NDArray[np.float64], values: NDArray[np.float64], rows: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Regress with a penalty that is chosen by leaving known rows out, one by one."""
    center, mean = known.mean(axis=0), values.mean(axis=0)
    u, s, vt = np.linalg.svd(known - center, full_matrices=False)
    projected = u.T @ (values - mean)
    best, error = np.zeros((known.shape[1], values.shape[1])), np.inf
    for penalty in _PENALTIES:
        shrunk = s**2 / (s**2 + penalty * len(known))
        left = (values - mean) - u @ (shrunk[:, None] * projected)
        leverage = np.clip(np.einsum("ij,j,ij->i", u, shrunk, u) + 1 / len(known), 0, 1 - 1e-6)
        out = float(((left / (1 - leverage)[:, None]) ** 2).mean())
        if out < error:
            divisor = s + penalty * len(known) / np.maximum(s, 1e-300)
            best, error = vt.T @ (projected / np.maximum(divisor, 1e-300)[:, None]), out
    return np.asarray((rows - center) @ best + mean)


def neighbours(
    known: NDArray[np.float64], values: NDArray[np.float64], rows: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the mean of the nearest known rows, near ones counting more."""
    from sklearn.neighbors import KNeighborsRegressor  # noqa: PLC0415 # sklearn loads late

    model = KNeighborsRegressor(min(_NEIGHBOURS, len(known)), weights="distance")
    return np.asarray(model.fit(known, values).predict(rows)).reshape(len(rows), -1)


def network(
    known: NDArray[np.float64], values: NDArray[np.float64], rows: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the predictions of a one-layer network, trained on the known rows."""
    from sklearn.neural_network import MLPRegressor  # noqa: PLC0415 # sklearn loads late

    model = MLPRegressor(
        hidden_layer_sizes=(_HIDDEN,),
        solver="lbfgs",
        alpha=0.1,
        max_iter=150,
        activation="tanh",
        random_state=0,
    )
    scale = np.maximum(values.std(axis=0), 1e-9)
    center = values.mean(axis=0)
    wanted = (values - center) / scale
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one that isn't done learning is an attack as well
        model.fit(known, wanted if wanted.shape[1] > 1 else wanted.ravel())
    return np.asarray(model.predict(rows).reshape(len(rows), -1) * scale + center)


def interpolated(
    known: NDArray[np.float64], values: NDArray[np.float64], rows: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return for one column what lies between the known values around each encoded one."""
    distinct, which = np.unique(known, return_inverse=True)
    means = np.bincount(which.ravel(), weights=values) / np.bincount(which.ravel())
    return np.asarray(np.interp(rows, distinct, means))


#: Regressions of all columns on all encoded ones: known rows, their values, rows to predict.
REGRESSIONS: dict[
    str,
    Callable[[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]],
] = {"linear": linear, "ridge": ridge, "neighbours": neighbours, "network": network}
