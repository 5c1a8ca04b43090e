"""What is written for a group of cells: their mean, median or mode, in the column's own type."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._errors import DataError
from halfmask.masks._exact import from_units

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The digits that a decimal of polars can have.
_DIGITS = 38
#: Twice a sum must fit into 128 bits.
_MOST_UNITS = 2**126


def group_means(column: pl.Series, group: NDArray[np.int64], *, mask: str) -> pl.Series:
    """Return the mean of each group's cells, in the column's own type.

    Notes
    -----
    **Guarantees.** Means of integers, decimals, dates and times are exact and rounded half to even
    to the last place of the column. A mean of floats lies between the least and the greatest cell
    of its group.

    Examples
    --------
    >>> ages = pl.Series("age", [20, 21, 40, 41, None])
    >>> group_means(ages, np.array([0, 0, 1, 1, 1]), mask="microaggregation").to_list()
    [20, 40]
    """
    if column.dtype.is_float():
        return _float_means(column, group, mask)
    units = column.to_physical().cast(pl.Int128)
    ends = [abs(it) for it in (units.min(), units.max()) if isinstance(it, int)]
    if max(ends, default=0) * int(np.bincount(group).max(initial=0)) >= _MOST_UNITS:
        raise _too_large(column, mask)
    cells = pl.DataFrame({"group": group, "cell": units})
    total, n = pl.col("total"), pl.col("n")
    sums = (
        cells.group_by("group")
        .agg(total=pl.col("cell").sum(), n=pl.col("cell").count().cast(pl.Int128))
        .sort("group")
        .with_columns(n=pl.when(n > 0).then(n))  # nothing is divided by 0
        .with_columns(below=total // n)
    )
    below, two = pl.col("below"), pl.lit(2, dtype=pl.Int128)
    twice, odd = (total - below * n) * two, below != below // two * two
    rounded = below + ((twice > n) | ((twice == n) & odd)).cast(pl.Int128)
    means = sums.select(rounded.alias(column.name)).to_series()
    if isinstance(column.dtype, pl.Decimal):
        wide = pl.Decimal(_DIGITS, column.dtype.scale)
        return from_units(means, wide, mask=mask).cast(column.dtype)
    return means.cast(column.to_physical().dtype).cast(column.dtype)


def _float_means(column: pl.Series, group: NDArray[np.int64], mask: str) -> pl.Series:
    known = column.is_not_null().to_numpy()
    cells, places = column.drop_nulls().cast(pl.Float64).to_numpy(), group[known]
    n_groups = int(group.max(initial=-1)) + 1
    # One after the other: sums in parallel would differ in their last digit from run to run.
    sums = np.bincount(places, weights=cells, minlength=n_groups)
    n = np.bincount(places, minlength=n_groups)
    if not np.isfinite(sums).all():
        raise _too_large(column, mask)
    low, high = np.full(n_groups, np.inf), np.full(n_groups, -np.inf)
    np.minimum.at(low, places, cells)
    np.maximum.at(high, places, cells)
    means = np.clip(sums / np.maximum(n, 1), low, high) + 0.0  # no -0.0
    found = pl.Series(column.name, means).set(pl.Series(n == 0), None)
    return found.cast(column.dtype)


def _too_large(column: pl.Series, mask: str) -> DataError:
    return DataError(
        f"Column {column.name!r} has numbers whose sum is too large for its mask {mask!r}.",
        hint="Code the tails first, with the mask 'tails'.",
    )


def group_codes(
    codes: NDArray[np.int64], group: NDArray[np.int64], *, is_ordered: bool
) -> NDArray[np.int64]:
    """Return the median code of each group, or the most frequent one.

    Examples
    --------
    >>> group_codes(np.array([2, 0, 2, 5]), np.array([0, 0, 0, 1]), is_ordered=False).tolist()
    [2, 5]
    """
    order = np.lexsort((codes, group))
    sizes = np.bincount(group)
    starts = np.cumsum(sizes) - sizes
    if is_ordered:
        middle: NDArray[np.int64] = codes[order[starts + (sizes - 1) // 2]]
        return middle
    pairs = pl.DataFrame({"group": group, "code": codes}).group_by("group", "code").len()
    ranked = pairs.sort("group", "len", "code", descending=[False, True, False])
    first = ranked.group_by("group", maintain_order=True).first().sort("group")
    found: NDArray[np.int64] = first["code"].to_numpy().astype(np.int64)
    return found
