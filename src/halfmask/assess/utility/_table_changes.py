"""What masking changed in one column, and between columns."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import ParameterError
from halfmask._facts import Facts

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from halfmask.assess._arrays import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnChange(Facts):
    """What masking changed in a column. What doesn't apply is None.

    Parameters
    ----------
    changed
        The share of rows whose cell differs, suppressed cells included.
    suppressed
        The share of original values that the masked column lacks.
    il1s
        Mean absolute difference in units of sqrt(2) times the original standard deviation.
    mean_shift
        Masked mean less original mean, in original standard deviations.
    deviation_ratio
        Masked standard deviation over the original one.
    total_variation
        Of categories: half the sum of the absolute differences of their shares, in [0, 1].
    """

    changed: float
    suppressed: float
    il1s: float | None = None
    mean_shift: float | None = None
    deviation_ratio: float | None = None
    total_variation: float | None = None


def numeric_change(
    original: ArrayLike,
    masked: ArrayLike,
    *,
    rows: NDArray[np.int64] | None = None,
    weights: tuple[ArrayLike, ArrayLike] | None = None,
) -> ColumnChange:
    """Compare a column of numbers with its masked one, row by row.

    Parameters
    ----------
    original, masked
        The numbers; NaN where a cell is missing.
    rows
        For each masked row the number of its original row; ``None``: they are in the same order.
    weights
        Sampling weights of the original and of the masked rows, for means and deviations; ``None``:
        rows count alike. IL1s compares rows, and doesn't weigh them.

    Notes
    -----
    IL1s: Yancey, Winkler and Creecy, "Disclosure risk assessment in perturbative microdata
    protection" (2002), for one column; that of a table is the mean over its columns. sdcMicro's
    ``dUtility`` multiplies by sqrt(2) where the paper divides: its IL1 is twice this number.

    **Guarantees.** Exact, over all rows. A column that equals the original has IL1s 0, shift 0 and
    ratio 1.

    **Edge cases.** IL1s is over rows with both numbers. Mean and deviation are over the numbers
    that each column has, those of original rows outside `rows` included. All three are None where
    the original has no spread, or the masked column has fewer than two numbers.

    Examples
    --------
    >>> change = numeric_change([1.0, 2.0, 3.0], [2.0, 2.0, 2.0])
    >>> round(change.il1s, 4), change.mean_shift, change.deviation_ratio
    (0.4714, 0.0, 0.0)
    """
    everyone, before, after = _checked(original, masked, rows)
    shares = _shares(before, after)
    sizes = _sizes(weights, everyone, after)
    n_masked, mean, masked_deviation = _spread(after, sizes[1])
    n_original, original_mean, weighed = _spread(everyone, sizes[0])
    deviation = weighed if weights is None else _spread(everyone, None)[2]
    both = ~np.isnan(before) & ~np.isnan(after)
    if min(n_masked, n_original) < 2 or not min(weighed, deviation) > 0 or not both.any():
        return ColumnChange(**shares)
    apart = float(np.abs(before[both] - after[both]).mean())
    return ColumnChange(
        **shares,
        il1s=apart / (2**0.5 * deviation),
        mean_shift=(mean - original_mean) / weighed,
        deviation_ratio=masked_deviation / weighed,
    )


def _sizes(
    weights: tuple[ArrayLike, ArrayLike] | None, *columns: Floats
) -> tuple[Floats | None, Floats | None]:
    """Return the weights of both columns, or raise."""
    if weights is None:
        return None, None
    before, after = (np.asarray(each, dtype=np.float64) for each in weights)
    for each, column in zip((before, after), columns, strict=True):
        if each.shape != column.shape or not (np.isfinite(each) & (each > 0)).all():
            raise ParameterError("Weights must be numbers above 0, one for each row.")
    return before, after


def _spread(column: Floats, weights: Floats | None) -> tuple[int, float, float]:
    """Return how many numbers a column has, their mean and their standard deviation."""
    there = ~np.isnan(column)
    numbers, n = column[there], int(there.sum())
    if n < 2:
        return n, 0.0, 0.0
    if weights is None:
        return n, float(numbers.mean()), float(numbers.std(ddof=1))
    each = weights[there] / weights[there].sum()
    mean = float(each @ numbers)
    return n, mean, float(each @ (numbers - mean) ** 2 * n / (n - 1)) ** 0.5


def categorical_change(
    original: ArrayLike,
    masked: ArrayLike,
    *,
    rows: NDArray[np.int64] | None = None,
    weights: tuple[ArrayLike, ArrayLike] | None = None,
) -> ColumnChange:
    """Compare a column of categories with its masked one.

    Parameters
    ----------
    original, masked
        Codes of categories, from 0; NaN where a cell is missing. Missing is a category of its own.
    rows, weights
        As of `numeric_change`; weights are those of the shares of categories.

    Examples
    --------
    >>> change = categorical_change([0, 0, 1, 1], [0, 1, 1, 1])
    >>> change.changed, change.total_variation
    (0.25, 0.25)
    """
    everyone, before, after = _checked(original, masked, rows)
    codes = [np.where(np.isnan(each), -1, each).astype(np.int64) + 1 for each in (everyone, after)]
    most = int(max(each.max() for each in codes)) + 1
    sizes = _sizes(weights, everyone, after)
    counts = [np.bincount(*pair, minlength=most) for pair in zip(codes, sizes, strict=True)]
    shares = [each / each.sum() for each in counts]
    moved = float(np.abs(shares[0] - shares[1]).sum())
    return ColumnChange(**_shares(before, after), total_variation=min(1.0, moved / 2))


def _checked(
    original: ArrayLike, masked: ArrayLike, rows: Ints | None
) -> tuple[Floats, Floats, Floats]:
    """Return the original numbers, those of the masked rows, and the masked ones."""
    everyone, after = (np.asarray(each, dtype=np.float64) for each in (original, masked))
    before = everyone if rows is None else everyone[rows]
    if before.ndim != 1 or before.shape != after.shape or not len(before):
        raise ParameterError(
            "The original and the masked column must be equally long, with at least a row. "
            f"Got shapes {before.shape} and {after.shape}."
        )
    return everyone, before, after


def _shares(before: Floats, after: Floats) -> dict[str, float]:
    there, gone = ~np.isnan(before), np.isnan(after)
    differs = (before != after) & ~(np.isnan(before) & gone)
    lost = int((there & gone).sum())
    return {
        "changed": float(differs.mean()),
        "suppressed": lost / int(there.sum()) if there.any() else 0.0,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class AssociationChange(Facts):
    """How much a measure of two columns changed, over all pairs of columns.

    Parameters
    ----------
    pairs
        How many pairs have the measure in both tables.
    mean, largest
        The mean and the largest absolute difference; None without pairs.
    """

    pairs: int
    mean: float | None
    largest: float | None


def correlation_change(original: ArrayLike, masked: ArrayLike) -> AssociationChange:
    """Compare the correlations of all pairs of columns.

    Parameters
    ----------
    original, masked
        (rows, columns); NaN where a cell is missing. The tables may differ in rows.

    Notes
    -----
    Pearson's correlation, over the rows with both numbers. A pair with a column without spread, in
    either table, has none and is left out.

    Examples
    --------
    >>> correlation_change([[0, 0], [1, 1], [2, 2]], [[0, 2], [1, 1], [2, 0]])
    AssociationChange(pairs=1, mean=2.0, largest=2.0)
    """
    before, after = _tables(original, masked)
    upper = np.triu_indices(before.shape[1], k=1)
    r, s = (_correlations(table)[upper] for table in (before, after))
    return _change(np.abs(r - s))


def covariance_change(original: ArrayLike, masked: ArrayLike) -> AssociationChange:
    """Compare variances and covariances, in original standard deviations.

    Parameters
    ----------
    original, masked
        As of `correlation_change`.

    Notes
    -----
    The difference of two covariances is divided by the original standard deviations of both
    columns. A pair of a column with itself is its variance.

    Examples
    --------
    >>> covariance_change([[0.0], [2.0]], [[0.0], [4.0]])
    AssociationChange(pairs=1, mean=3.0, largest=3.0)
    """
    before, after = _tables(original, masked)
    upper = np.triu_indices(before.shape[1])
    old, new = _moments(before)[0], _moments(after)[0]
    variances = np.diag(old)
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = np.abs(new - old) / np.sqrt(np.outer(variances, variances))
    return _change(apart[upper])


def cramers_v_change(original: ArrayLike, masked: ArrayLike) -> AssociationChange:
    """Compare Cramér's V of all pairs of columns of categories.

    Parameters
    ----------
    original, masked
        (rows, columns) of codes from 0; NaN where a cell is missing, a category of its own.

    Notes
    -----
    Cramér, "Mathematical methods of statistics" (1946), section 21.9, without correction. A pair
    with a column of one category, in either table, has none and is left out.

    Examples
    --------
    >>> cramers_v_change([[0, 0], [1, 1]] * 2, [[0, 0], [0, 1], [1, 0], [1, 1]])
    AssociationChange(pairs=1, mean=1.0, largest=1.0)
    """
    before, after = _tables(original, masked)
    pairs = list(combinations(range(before.shape[1]), 2))
    apart = [
        abs(cramers_v(before[:, i], before[:, j]) - cramers_v(after[:, i], after[:, j]))
        for i, j in pairs
    ]
    return _change(np.array(apart, dtype=np.float64))


def _tables(original: ArrayLike, masked: ArrayLike) -> tuple[Floats, Floats]:
    before, after = (np.asarray(each, dtype=np.float64) for each in (original, masked))
    if before.ndim != 2 or after.ndim != 2 or before.shape[1] != after.shape[1]:
        raise ParameterError(
            "The original and the masked table must have the same columns. "
            f"Got shapes {before.shape} and {after.shape}."
        )
    return before, after


def _change(apart: Floats) -> AssociationChange:
    there = apart[np.isfinite(apart)]
    return AssociationChange(
        pairs=len(there),
        mean=float(there.mean()) if len(there) else None,
        largest=float(there.max()) if len(there) else None,
    )


def _moments(table: Floats) -> tuple[Floats, Floats]:
    """Return covariances, and variances of each column over the rows of each pair.

    Both are over rows with both numbers; NaN where there are fewer than two.
    """
    there = (~np.isnan(table)).astype(np.float64)
    # Centred first: sums of squares of large numbers would cancel to nothing.
    centre = np.where(there.any(axis=0), np.nansum(table, axis=0), 0.0)
    filled = np.nan_to_num(table - centre / np.maximum(there.sum(axis=0), 1.0))
    rows = there.T @ there
    with np.errstate(invalid="ignore", divide="ignore"):
        sums = filled.T @ there
        covariances = (filled.T @ filled - sums * sums.T / rows) / (rows - 1)
        variances = ((filled * filled).T @ there - sums * sums / rows) / (rows - 1)
    few = rows < 2
    covariances[few] = variances[few] = np.nan
    return covariances, variances


def _correlations(table: Floats) -> Floats:
    covariances, variances = _moments(table)
    # What centring leaves of a constant column isn't spread.
    scale = np.nanmax(np.abs(table), axis=0, initial=0.0)
    variances = np.where(variances > (1e-12 * scale[:, None]) ** 2, variances, np.nan)
    with np.errstate(invalid="ignore"):
        return np.asarray(covariances / np.sqrt(variances * variances.T))


def cramers_v(left: Floats, right: Floats) -> float:
    """Return Cramér's V of two columns of codes; NaN where one has a single category."""
    rows, columns = (
        np.unique(np.where(np.isnan(each), -1, each), return_inverse=True)[1]
        for each in (left, right)
    )
    n_rows, n_columns = int(rows.max(initial=0)) + 1, int(columns.max(initial=0)) + 1
    least = min(n_rows, n_columns) - 1
    if least < 1:
        return np.nan
    counts = np.bincount(rows * n_columns + columns, minlength=n_rows * n_columns)
    table = counts.reshape(n_rows, n_columns) / len(left)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0))
    return float(np.sqrt(((table - expected) ** 2 / expected).sum() / least))
