"""What masking changed in one column: IL1s, mean, standard deviation, frequencies."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnChange:
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

    def to_dict(self) -> dict[str, float | None]:
        """Return the numbers under their names, for JSON."""
        return asdict(self)


def numeric_change(
    original: ArrayLike, masked: ArrayLike, *, rows: NDArray[np.int64] | None = None
) -> ColumnChange:
    """Compare a column of numbers with its masked one, row by row.

    Parameters
    ----------
    original, masked
        The numbers; NaN where a cell is missing.
    rows
        For each masked row the number of its original row; ``None``: they are in the same order.

    Raises
    ------
    ParameterError
        If there are no rows, or the columns differ in length without `rows`.

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
    x, z = (column[~np.isnan(column)] for column in (everyone, after))
    deviation = float(x.std(ddof=1)) if len(x) > 1 else 0.0
    both = ~np.isnan(before) & ~np.isnan(after)
    if len(z) < 2 or not deviation > 0 or not both.any():
        return ColumnChange(**shares)
    apart = float(np.abs(before[both] - after[both]).mean())
    return ColumnChange(
        **shares,
        il1s=apart / (2**0.5 * deviation),
        mean_shift=float(z.mean() - x.mean()) / deviation,
        deviation_ratio=float(z.std(ddof=1)) / deviation,
    )


def categorical_change(
    original: ArrayLike, masked: ArrayLike, *, rows: NDArray[np.int64] | None = None
) -> ColumnChange:
    """Compare a column of categories with its masked one.

    Parameters
    ----------
    original, masked
        Codes of categories, from 0; NaN where a cell is missing. Missing is a category of its own.
    rows
        As of `numeric_change`.

    Raises
    ------
    ParameterError
        If there are no rows, or the columns differ in length without `rows`.

    Examples
    --------
    >>> change = categorical_change([0, 0, 1, 1], [0, 1, 1, 1])
    >>> change.changed, change.total_variation
    (0.25, 0.25)
    """
    everyone, before, after = _checked(original, masked, rows)
    codes = [np.where(np.isnan(each), -1, each).astype(np.int64) + 1 for each in (everyone, after)]
    most = int(max(each.max() for each in codes)) + 1
    shares = [np.bincount(each, minlength=most) / len(each) for each in codes]
    moved = float(np.abs(shares[0] - shares[1]).sum())
    return ColumnChange(**_shares(before, after), total_variation=min(1.0, moved / 2))


def _checked(
    original: ArrayLike, masked: ArrayLike, rows: NDArray[np.int64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the original numbers, those of the masked rows, and the masked ones."""
    everyone, after = (np.asarray(each, dtype=np.float64) for each in (original, masked))
    before = everyone if rows is None else everyone[rows]
    if before.ndim != 1 or before.shape != after.shape or not len(before):
        raise ParameterError(
            "The original and the masked column must be equally long, with at least a row. "
            f"Got shapes {before.shape} and {after.shape}."
        )
    return everyone, before, after


def _shares(before: NDArray[np.float64], after: NDArray[np.float64]) -> dict[str, float]:
    there, gone = ~np.isnan(before), np.isnan(after)
    differs = (before != after) & ~(np.isnan(before) & gone)
    lost = int((there & gone).sum())
    return {
        "changed": float(differs.mean()),
        "suppressed": lost / int(there.sum()) if there.any() else 0.0,
    }
