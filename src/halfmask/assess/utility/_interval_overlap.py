"""Overlap of confidence intervals: whether a regression on masked rows says the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import DataError, ParameterError
from halfmask._facts import Facts
from halfmask._validation import number_between

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from halfmask.assess._arrays import Floats, Ints

#: A feature counts as repeated if so little of it is left beside the others.
COLLINEAR = 1e-8


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalOverlap(Facts):
    """How much the confidence intervals of a regression overlap.

    Parameters
    ----------
    coefficients, mean, least
        How many coefficients were compared, and the mean and smallest overlap, in [0, 1].
    shift
        The mean absolute difference of coefficients, in original standard errors; None where the
        masked rows can't estimate one.
    rows, masked_rows
        How many complete rows each regression had.
    """

    coefficients: int
    mean: float
    least: float
    shift: float | None
    rows: int
    masked_rows: int


def interval_overlap(
    original: tuple[ArrayLike, ArrayLike],
    masked: tuple[ArrayLike, ArrayLike],
    *,
    confidence: float = 0.95,
) -> IntervalOverlap:
    """Fit a linear regression to both tables, and compare confidence intervals.

    Parameters
    ----------
    original, masked
        Features (rows, features) and target of each table. Rows with a missing cell (NaN) are left
        out.
    confidence
        The confidence of the intervals, in (0, 1).

    Raises
    ------
    ParameterError
        If the tables differ in features, or features and target in length.
    DataError
        If the original has fewer complete rows than coefficients, or no feature that varies.

    Notes
    -----
    Karr, Kohnen, Oganian, Reiter and Sanil, "A framework for evaluating the utility of data altered
    to protect confidentiality" (The American Statistician 2006): the length of the intersection
    over the length of each interval, the mean of both. Least squares with an intercept, which isn't
    compared; intervals by Student's t. A target of two values makes it a linear probability model.

    **Guarantees.** Equal tables overlap by 1. Intervals that don't meet overlap by 0, not less.

    **Edge cases.** Features that repeat others in the original are left out of both. A coefficient
    that the masked rows can't estimate overlaps by 0.

    Examples
    --------
    >>> x, y = [[0.0], [1.0], [2.0], [3.0]], [0.1, 0.9, 2.2, 2.8]
    >>> interval_overlap((x, y), (x, y)).mean
    1.0
    >>> interval_overlap((x, y), (x, [3.0, 1.9, 1.2, 0.0])).mean
    0.0
    """
    number_between(
        0, 1, owner="interval_overlap", low_open=True, high_open=True, confidence=confidence
    )
    (x, y), (z, w) = _complete(*original), _complete(*masked)
    if x.shape[1] != z.shape[1]:
        raise ParameterError(
            "The tables of interval_overlap must have the same features. "
            f"Got {x.shape[1]} and {z.shape[1]}."
        )
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 # loads late

    # Threads that wait for each other in a busy machine cost more than they save.
    with threadpool_limits(limits=1):
        kept = _independent(x)
        if not len(kept) or len(y) <= len(kept) + 1:
            raise DataError(
                "The original table has too few complete rows, or no feature that varies."
            )
        before = _intervals(x[:, kept], y, confidence)
        after = _intervals(z[:, kept], w, confidence)
    overlaps = _overlaps(before, after)
    shift = np.abs(after[0] - before[0]) / before[2]
    return IntervalOverlap(
        coefficients=len(kept),
        mean=float(overlaps.mean()),
        least=float(overlaps.min()),
        shift=float(shift.mean()) if np.isfinite(shift).all() else None,
        rows=len(y),
        masked_rows=len(w),
    )


def _complete(features: ArrayLike, target: ArrayLike) -> tuple[Floats, Floats]:
    x, y = (np.asarray(each, dtype=np.float64) for each in (features, target))
    if x.ndim != 2 or y.shape != x.shape[:1]:
        raise ParameterError(
            "Features and target of interval_overlap must have the same rows. "
            f"Got shapes {x.shape} and {y.shape}."
        )
    there = np.isfinite(x).all(axis=1) & np.isfinite(y)
    return x[there], y[there]


def _independent(features: Floats) -> Ints:
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


def _intervals(
    features: Floats, target: Floats, confidence: float
) -> tuple[Floats, Floats, Floats]:
    """Return each coefficient, half the length of its interval and its standard error.

    All are NaN where a coefficient can't be estimated.
    """
    from scipy.special import stdtrit  # noqa: PLC0415 # scipy loads late

    n, p = features.shape
    estimates = np.full((3, p), np.nan)
    kept = _independent(features)
    freedom = n - len(kept) - 1
    if len(kept) and freedom > 0:
        x, y = features[:, kept] - features[:, kept].mean(axis=0), target - target.mean()
        scale = np.sqrt((x * x).sum(axis=0))
        inverse = np.linalg.inv((x / scale).T @ (x / scale))
        slopes = inverse @ ((x / scale).T @ y)
        residue = y - (x / scale) @ slopes
        errors = np.sqrt(np.diag(inverse) * float(residue @ residue) / freedom)
        half = float(stdtrit(freedom, (1 + confidence) / 2)) * errors
        estimates[:, kept] = np.stack([slopes, half, errors]) / scale
    return estimates[0], estimates[1], estimates[2]


def _overlaps(before: tuple[Floats, ...], after: tuple[Floats, ...]) -> Floats:
    (low, high), (lower, higher) = ((a - half, a + half) for a, half, _ in (before, after))
    shared = np.maximum(np.minimum(high, higher) - np.maximum(low, lower), 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        overlaps = (shared / (high - low) + shared / (higher - lower)) / 2
    # Two intervals without length, of perfect fits, overlap where they are one point.
    points = (low == high) & (lower == higher) & (low == lower)
    return np.where(points, 1.0, np.clip(np.nan_to_num(overlaps), 0.0, 1.0))
