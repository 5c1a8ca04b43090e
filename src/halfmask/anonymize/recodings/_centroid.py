"""The middle of a class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import polars as pl

from halfmask._validation import one_of

if TYPE_CHECKING:
    from halfmask.anonymize._cells import CellColumn


@dataclass(frozen=True, slots=True, kw_only=True)
class Centroid:
    """Write the mean or median of a class, or its most frequent category.

    Parameters
    ----------
    numeric
        ``"mean"`` or ``"median"``. Of two middle values, the median is the lower one, so that its
        type is the column's.

    See Also
    --------
    Representative : A row that exists.
    Ranges : Shows how wide a class is.

    Edge cases
    ----------
    Missing cells are ignored. If all cells of a class are missing, the result is missing. Of two
    equally frequent categories, the one with the lower code is written. Means are floating-point
    numbers; the mean of dates is rounded to the column's own unit.

    Notes
    -----
    Microaggregation in the sense of Domingo-Ferrer and Mateo-Sanz, "Practical data-oriented
    microaggregation for statistical disclosure control" (TKDE 2002), over the engine's classes.
    """

    name: ClassVar[str] = "centroid"
    sentence: ClassVar[str] = (
        "The mean or median of numbers and the mode of categories are written."
    )
    weaknesses: ClassVar[tuple[str, ...]] = ()

    numeric: Literal["mean", "median"] = "mean"

    def __post_init__(self) -> None:
        one_of(("mean", "median"), owner="Centroid", numeric=self.numeric)

    def write(self, cells: CellColumn) -> pl.Series:
        """Return one column's middle for each cell.

        Parameters
        ----------
        cells
            One column of all cells.
        """
        values, name = cells.coding.values, cells.coding.column.name
        counted = cells.counted()
        if cells.coding.ordered and self.numeric == "mean":
            return _means(counted, cells)
        if cells.coding.ordered:
            # The median of codes is the code of the median: codes follow the values' order.
            reached = pl.col("n").cum_sum().over("cell") * 2 >= pl.col("n").sum().over("cell")
            ranked = counted.filter(reached)
        else:
            ranked = counted.sort("n", "code", descending=[True, False])
        chosen = ranked.group_by("cell", maintain_order=True).first()
        codes = np.full(cells.n_cells, -1, dtype=np.int64)
        codes[chosen["cell"].to_numpy()] = chosen["code"].to_numpy()
        return values.gather(pl.Series(codes).replace(-1, None)).alias(name)


def _means(counted: pl.DataFrame, cells: CellColumn) -> pl.Series:
    values = cells.coding.values
    # Dates as their physical numbers; decimals by value, for their physical numbers lack the point.
    numbers = (values.to_physical() if values.dtype.is_temporal() else values).cast(pl.Float64)
    sums = (
        counted.with_columns(numbers.gather(counted["code"]).alias("value"))
        .group_by("cell")
        .agg(mean=(pl.col("value") * pl.col("n")).sum() / pl.col("n").sum())
    )
    means = np.full(cells.n_cells, np.nan)
    means[sums["cell"].to_numpy()] = sums["mean"].to_numpy()
    # Compared by their bits, minus zero and zero differ.
    written = pl.Series(cells.coding.column.name, means + 0.0).fill_nan(None)
    if values.dtype.is_temporal():
        return written.round().cast(values.to_physical().dtype).cast(values.dtype)
    return written
