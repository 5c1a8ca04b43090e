"""Columns of a table as points whose distances say how much rows differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np
import polars as pl

from halfmask._errors import DataError
from halfmask.masks._group_averages import group_codes, group_means

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
