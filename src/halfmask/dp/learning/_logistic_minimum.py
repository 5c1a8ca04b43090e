"""The minimum of a penalised logistic loss, certified by the norm of its gradient."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import expit, softmax

from halfmask._errors import DivergenceError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

#: Rows that are summed by one product of matrices; such sums are summed pairwise.
_CHUNK: Final = 1024
_ULP: Final = 2.0**-53
_NEWTON_STEPS: Final = 200
_CG_STEPS: Final = 1000
#: A residual of linear equations that is small enough for a Newton step, relative.
_FORCING: Final = 1e-2
_HALVINGS: Final = 30


def logistic_minimum(
    rows: Floats,
    codes: NDArray[np.int64],
    linear: Floats,
    *,
    penalty: float,
    tolerance: float,
    longest: float,
) -> Floats:
    """Return coefficients at which the exact gradient's norm is at most a tolerance.

    The loss is ``sum(logistic losses) + penalty / 2 * |w|**2 + sum(linear * w)``.

    Guarantees
    ----------
    The distance to the exact minimum is at most ``tolerance / penalty``: the computed norm plus a
    bound on all rounding errors is at most ``tolerance``.

    Notes
    -----
    Newton's method with conjugate gradients (Dembo, Eisenstat, Steihaug 1982), steps halved until
    the gradient's norm falls. Rounding: Higham 2002, sections 3.1 and 4.2.
    """
    outputs = len(linear)
    truth = codes[:, None].astype(float) if outputs == 1 else np.eye(outputs)[codes]
    found = np.zeros(linear.shape)
    likely, gradient = _gradient(rows, truth, found, linear, penalty)
    for _ in range(_NEWTON_STEPS):
        norm = float(np.linalg.norm(gradient))
        if norm + _rounding(rows, found, linear, penalty, longest) <= tolerance:
            return found
        step = _newton_step(rows, likely, gradient, penalty)
        for halving in range(_HALVINGS):
            tried = found + step * 0.5**halving
            likely, gradient = _gradient(rows, truth, tried, linear, penalty)
            if float(np.linalg.norm(gradient)) <= norm * (1 - 1e-4 * 0.5**halving):
                break
        else:
            break
        found = tried
    raise DivergenceError(
        "The solver of PrivateLogisticRegression didn't come near enough to the minimum.",
        hint="Choose a smaller C, or fewer rows.",
    )


def _gradient(
    rows: Floats, truth: Floats, found: Floats, linear: Floats, penalty: float
) -> tuple[Floats, Floats]:
    """Return the probability of each label, and the gradient."""
    scores = rows @ found.T
    likely: Floats = expit(scores) if len(found) == 1 else softmax(scores, axis=1)
    residuals = likely - truth
    parts = [
        residuals[start : start + _CHUNK].T @ rows[start : start + _CHUNK]
        for start in range(0, len(rows), _CHUNK)
    ]
    # NumPy sums pairwise along an axis whose entries lie next to each other.
    total = np.ascontiguousarray(np.stack(parts, axis=-1)).sum(axis=-1)
    return likely, total + penalty * found + linear


def _rounding(rows: Floats, found: Floats, linear: Floats, penalty: float, longest: float) -> float:
    """Return a bound on the L2 norm of the rounding errors of the gradient.

    A score is off by at most d ulp of |row| |w|, which moves residuals by at most half as much;
    residuals are at most sqrt(2) long. A part sums 1,024 products; pairwise sums go 64 deep.
    """
    size = float(np.linalg.norm(found))
    deep = math.sqrt(2) * (_CHUNK + 64 + 16) + rows.shape[1] * longest * size
    own = 4 * (penalty * size + float(np.linalg.norm(linear)))
    return float(_ULP * 1.01 * (len(rows) * longest * deep + own))


def _newton_step(rows: Floats, likely: Floats, gradient: Floats, penalty: float) -> Floats:
    """Return a step after which the linear part of the gradient is nearly 0."""
    shape = gradient.shape

    def curved(flat: Floats) -> Floats:
        direction = flat.reshape(shape)
        moved = likely * (rows @ direction.T)
        if shape[0] == 1:
            moved *= 1 - likely
        else:
            moved -= likely * moved.sum(axis=1, keepdims=True)
        return (moved.T @ rows + penalty * direction).ravel()

    operator = LinearOperator((gradient.size, gradient.size), matvec=curved, dtype=np.float64)
    step, _ = cg(operator, -gradient.ravel(), rtol=_FORCING, maxiter=_CG_STEPS)
    return np.asarray(step).reshape(shape)
