"""Regressions: coefficients with standard errors, weighted or not, and overlaps of intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from halfmask.assess._arrays import Floats, Ints

#: A feature counts as repeated if so little of it is left beside the others.
COLLINEAR = 1e-8
#: Newton's steps of a logistic regression, and the log-odds beyond which outcomes are separated.
_STEPS, _CONVERGED, _SEPARATED = 50, 1e-9, 30.0


class FittedRegression(NamedTuple):
    """The intercept and the coefficients; NaN where one can't be estimated."""

    values: Floats
    #: Half the length of each confidence interval, and the standard error.
    halves: Floats
    errors: Floats


def fit_regression(
    features: Floats,
    target: Floats,
    weights: Floats | None = None,
    *,
    is_logistic: bool = False,
    confidence: float,
) -> FittedRegression:
    """Fit a linear or logistic regression with an intercept.

    With sampling weights, errors are linearized as those of R's ``svyglm`` without strata and
    clusters (Binder 1983); without, they are those of ``lm`` and ``glm``.
    """
    n, p = features.shape
    estimates = np.full((3, p + 1), np.nan)
    kept = independent(features)
    freedom = n - len(kept) - 1
    if freedom <= 0:
        return FittedRegression(*estimates)
    centre, spread = features[:, kept].mean(axis=0), features[:, kept].std(axis=0)
    x = np.hstack([np.ones((n, 1)), (features[:, kept] - centre) / spread])
    fit = _logistic if is_logistic else _linear
    found = fit(x, target, np.ones(n) if weights is None else weights)
    if found is None:
        return FittedRegression(*estimates)
    scaled, inverse, scores = found
    if weights is not None:
        covariance = inverse @ (scores.T @ scores) @ inverse * n / (n - 1)
    elif is_logistic:
        covariance = inverse
    else:
        residue = scores[:, 0]  # the column of ones
        covariance = inverse * float(residue @ residue) / freedom
    back = np.diag(np.r_[1.0, 1 / spread])
    back[0, 1:] = -centre / spread
    errors = np.sqrt(np.maximum(np.diag(back @ covariance @ back.T), 0.0))
    at_normal = is_logistic and weights is None
    quantile = _quantile(None if at_normal else freedom, confidence)
    estimates[:, np.r_[0, 1 + kept]] = np.stack([back @ scaled, quantile * errors, errors])
    return FittedRegression(*estimates)


def _quantile(freedom: int | None, confidence: float) -> float:
    """Return that of Student's t, or of the normal law."""
    from scipy.special import ndtri, stdtrit  # noqa: PLC0415 # scipy loads late

    level = (1 + confidence) / 2
    return float(ndtri(level) if freedom is None else stdtrit(freedom, level))


def _linear(x: Floats, y: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Return coefficients, the inverse of the normal equations and each row's score."""
    weighed = x * weights[:, None]
    inverse = np.asarray(np.linalg.inv(weighed.T @ x), dtype=np.float64)
    found = inverse @ (weighed.T @ y)
    return found, inverse, weighed * (y - x @ found)[:, None]


def _logistic(x: Floats, y: Floats, weights: Floats) -> tuple[Floats, Floats, Floats] | None:
    """Return the same; None where outcomes are separated, or a side has no row."""
    if y.min() == y.max():
        return None
    found = np.zeros(x.shape[1])
    for _ in range(_STEPS):
        odds = x @ found
        if np.abs(odds).max() > _SEPARATED:
            return None
        chances = 1 / (1 + np.exp(-odds))
        weighed = x * (weights * chances * (1 - chances))[:, None]
        scores = x * (weights * (y - chances))[:, None]
        try:
            inverse = np.asarray(np.linalg.inv(weighed.T @ x), dtype=np.float64)
        except np.linalg.LinAlgError:
            return None
        step = inverse @ scores.sum(axis=0)
        if np.abs(step).max() < _CONVERGED:
            return found, inverse, scores
        found = found + step
    return None


def independent(features: Floats) -> Ints:
    """Return the features that vary and that no other ones add up to."""
    from scipy.linalg import qr  # noqa: PLC0415 # scipy loads late

    if not len(features) or not features.shape[1]:
        return np.empty(0, dtype=np.int64)
    centred = features - features.mean(axis=0)
    lengths = np.sqrt((centred * centred).sum(axis=0))
    size = np.abs(features).max(axis=0) * len(features) ** 0.5
    varying = np.flatnonzero(lengths > 1e-10 * size)
    if not len(varying):
        return varying
    triangle, order = qr(centred[:, varying] / lengths[varying], mode="r", pivoting=True)
    left = np.abs(np.diag(triangle))
    return np.sort(varying[order[: int((left > COLLINEAR * left[0]).sum())]])


def overlaps(before: FittedRegression, after: FittedRegression) -> Floats:
    """Return the overlap of each pair of intervals, 0 where one can't be estimated."""
    (low, high), (lower, higher) = ((a - half, a + half) for a, half, _ in (before, after))
    shared = np.maximum(np.minimum(high, higher) - np.maximum(low, lower), 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = (shared / (high - low) + shared / (higher - lower)) / 2
    # Two intervals without length, of perfect fits, overlap where they are one point.
    points = (low == high) & (lower == higher) & (low == lower)
    return np.where(points, 1.0, np.clip(np.nan_to_num(found), 0.0, 1.0))
