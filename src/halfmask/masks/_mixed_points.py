"""Columns of a table as points whose distances say how much rows differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np
import polars as pl

from halfmask._errors import DataError
from halfmask.masks._numbers import from_units

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.kernels.partition.mdav import PointColumns


#: How the cells of a column are averaged.
Average: TypeAlias = Literal["mean", "median", "mode"]
#: How many standard deviations a missing cell is away from all values of its column.
MISSING_GAP: Final = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedColumn:
    """One column of a table: its cells, and how they are compared and averaged."""

    cells: pl.Series
    average: Average
    levels: pl.Series | None = None
    codes: NDArray[np.int64] | None = None

    def __repr__(self) -> str:
        return f"MixedColumn({self.cells.name!r}, {self.average!r}, {self.cells.len()} rows)"

    @classmethod
    def of(
        cls, cells: pl.Series, *, order: Sequence[str] | None, is_number: bool, mask: str
    ) -> MixedColumn:
        """Return a column of a table."""
        if cells.dtype.is_float():
            if cells.is_infinite().any():
                raise DataError(
                    f"Column {cells.name!r} has infinite numbers, which the mask {mask!r} can't "
                    "average.",
                    hint="Make them missing, or drop these rows.",
                )
            cells = cells.fill_nan(None)
        if is_number:
            return cls(cells=cells, average="mean")
        if order is None:
            levels = cells.drop_nulls().unique().sort()
        else:
            levels = pl.Series(cells.name, order, dtype=cells.dtype)
        codes = cells.replace_strict(
            levels, pl.Series(range(levels.len())), default=None, return_dtype=pl.Int64
        )
        unknown = codes.null_count() - cells.null_count()
        if unknown:
            raise DataError(
                f"Column {cells.name!r} has {unknown} cells that its order under the mask {mask!r} "
                "doesn't list.",
                hint="List all values of the column in 'orders'.",
            )
        return cls(
            cells=cells,
            average="mode" if order is None else "median",
            levels=levels,
            codes=codes.fill_null(levels.len()).to_numpy(),
        )

    def written(self, group: NDArray[np.int64], *, mask: str) -> pl.Series:
        """Return the average of its group for each cell; missing in groups with a missing cell."""
        if self.codes is None or self.levels is None:
            averages = group_means(self.cells, group, mask=mask)
        else:
            chosen = group_codes(self.codes, group, is_ordered=self.average == "median")
            known = pl.Series(np.where(chosen < self.levels.len(), chosen, -1)).replace(-1, None)
            averages = self.levels.gather(known)
        lacking = np.bincount(group, weights=self.cells.is_null().to_numpy()) > 0
        averages = averages.set(pl.Series(lacking), None)
        return averages.gather(group).alias(self.cells.name)


def standard_points(columns: Sequence[MixedColumn]) -> NDArray[np.float64]:
    """Return columns of numbers, each with a mean of 0 and a standard deviation of 1.

    A missing cell has the mean, and the row is 3 standard deviations away from rows with the cell.
    """
    found = []
    for column in columns:
        numbers, missing = _numbers(column.cells)
        known = numbers[~missing]
        spread = float(known.std()) if len(known) else 0.0
        centred = numbers - (known.mean() if len(known) else 0.0)
        found.append(np.where(missing, 0.0, centred / spread if spread else 0.0))
        if missing.any():
            found.append(np.where(missing, MISSING_GAP, 0.0))
    return np.ascontiguousarray(np.stack(found, axis=1))


def mixed_points(columns: Sequence[MixedColumn]) -> tuple[NDArray[np.float64], PointColumns]:
    """Return columns of any kind for Gower's distance.

    A number or a place in an order counts with the difference over the column's range, a category
    with 0 or 1. Two missing cells of a column count 0, a missing cell and a value 1.

    Notes
    -----
    J. C. Gower, "A general coefficient of similarity and some of its properties", Biometrics 27
    (1971). There a column with a missing cell doesn't count; then a row with many missing cells
    would be near all others.
    """
    from halfmask.kernels.partition.mdav import (  # noqa: PLC0415 # the compiler loads late
        MEAN,
        MEDIAN,
        MISSING,
        MODE,
        PointColumns,
    )

    averages = {"mean": MEAN, "median": MEDIAN, "mode": MODE}
    points, codes, levels = [], [], []
    for column in columns:
        if column.codes is None or column.levels is None:
            numbers, missing = _numbers(column.cells)
            known = numbers[~missing]
            low, width = (float(known.min()), float(np.ptp(known))) if len(known) else (0.0, 0.0)
            scaled = (numbers - low) / width if width else np.zeros(len(numbers))
            points.append(np.where(missing, MISSING, scaled))
            codes.append(np.zeros(len(numbers), dtype=np.int64))
            levels.append(np.zeros(0))
            continue
        n = column.levels.len()
        values = np.arange(n + 1, dtype=np.float64)
        if column.average == "median":
            values = np.append(np.arange(n) / max(1, n - 1), MISSING)
        points.append(values[column.codes])
        codes.append(column.codes)
        levels.append(values)
    offsets = np.cumsum([0, *(len(each) for each in levels)]).astype(np.int64)
    return np.stack(points, axis=1), PointColumns(
        capped=True,
        averages=np.array([averages[column.average] for column in columns], dtype=np.int64),
        codes=np.stack(codes, axis=1).astype(np.int32),
        levels=np.concatenate(levels),
        offsets=offsets,
    )


def _numbers(cells: pl.Series) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return cells as numbers between -1 and 1, 0 where missing, and which are missing."""
    missing = cells.is_null().to_numpy()
    plain = cells.to_physical() if cells.dtype.is_temporal() else cells
    numbers = plain.cast(pl.Float64).fill_null(0.0).to_numpy()
    greatest = float(np.abs(numbers).max(initial=0.0))
    return (numbers / greatest if greatest else numbers), missing


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
