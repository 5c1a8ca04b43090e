"""Interval disclosure: how often a number lies near what was released in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from halfmask._errors import DataError, ParameterError
from halfmask._validation import number_between, one_of
from halfmask.assess._risk import Risk

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from halfmask.assess._arrays import Floats

#: How interval disclosure measures nearness.
IntervalScale: TypeAlias = Literal["rank", "deviation"]


def interval_disclosure(
    original: ArrayLike, masked: ArrayLike, *, width: float, scale: IntervalScale
) -> Risk:
    """Count the numbers that lie in an interval around their masked number.

    Parameters
    ----------
    original, masked
        The numbers of one column before and after, row by row; NaN where a cell is missing.
    width
        How far the interval goes to either side, in (0, 0.5]: a share of the rows by rank, or of
        the standard deviation of the masked column.
    scale
        ``"rank"``, or ``"deviation"``.

    Returns
    -------
    Risk
        Counted over all rows with an original number. The control is the expected share where each
        interval is held against another person's number. The baseline is the share of all numbers
        in the one interval that holds most: an attacker who guesses the same for everyone.

    Raises
    ------
    ParameterError
        If the columns differ in length, or an argument isn't as described.
    DataError
        If no row has an original number.

    Notes
    -----
    Rank intervals: Domingo-Ferrer and Torra, "Disclosure control methods and information loss for
    microdata" (2001). Intervals of standard deviations: Mateo-Sanz, Sebé and Domingo-Ferrer,
    "Outlier protection in continuous microdata masking" (2004), for one column. `d_risk` of
    sdcMicro asks for several columns of a row at once.

    **Guarantees.** Exact: no row is sampled, and the control is the mean over all pairs of two
    people. A column that equals the original has the value 1.

    **Edge cases.** A suppressed cell discloses nothing. Around equal masked numbers the interval by
    rank starts at the first and ends at the last of them. A column of few different numbers has a
    control near its value: then the value says little.

    Examples
    --------
    >>> income = [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0]
    >>> risk = interval_disclosure(income, income, width=0.1, scale="rank")
    >>> risk.value, round(risk.control, 3), risk.baseline
    (1.0, 0.2, 0.3)
    >>> interval_disclosure(income, income[::-1], width=0.1, scale="rank").value
    0.2
    """
    one_of(("rank", "deviation"), owner="interval_disclosure", scale=scale)
    number_between(0, 0.5, owner="interval_disclosure", low_open=True, width=width)
    true, released = _columns(original, masked)
    low, high = _intervals(released, width, scale)
    ordered = np.sort(true)
    inside = np.searchsorted(ordered, high, side="right") - np.searchsorted(ordered, low)
    inside = np.where(np.isnan(released), 0, inside)
    hits = (low <= true) & (true <= high)
    others = inside - hits
    n = len(true)
    return Risk(
        value=float(hits.mean()),
        low=float(hits.mean()),
        high=float(hits.mean()),
        control=float(others.mean() / (n - 1)) if n > 1 else 0.0,
        baseline=float(inside.max() / n),
    )


def _columns(original: ArrayLike, masked: ArrayLike) -> tuple[Floats, Floats]:
    """Return both columns as numbers, without the rows that have no original one."""
    true, released = (np.asarray(each, dtype=np.float64) for each in (original, masked))
    if true.ndim != 1 or true.shape != released.shape:
        raise ParameterError(
            "The columns of interval_disclosure must be equally long. "
            f"Got shapes {true.shape} and {released.shape}."
        )
    there = ~np.isnan(true)
    if not there.any():
        raise DataError("There is no original number to disclose.")
    return true[there], released[there]


def _intervals(released: Floats, width: float, scale: IntervalScale) -> tuple[Floats, Floats]:
    """Return the ends of the interval around each masked number; NaN where it is missing."""
    there = np.sort(released[~np.isnan(released)])
    n = len(there)
    if not n:
        return released, released
    if scale == "deviation":
        reach = width * float(there.std(ddof=1)) if n > 1 else 0.0
        return released - reach, released + reach
    # A share of the rows such as 0.07 of 100 has to be 7, not 7.000000000000001 cut to 6 or 7.
    ranks = int(width * n + 1e-9)
    first = np.searchsorted(there, released, side="left") - ranks
    last = np.searchsorted(there, released, side="right") - 1 + ranks
    low, high = there[np.clip(first, 0, n - 1)], there[np.clip(last, 0, n - 1)]
    missing = np.isnan(released)
    return np.where(missing, np.nan, low), np.where(missing, np.nan, high)
