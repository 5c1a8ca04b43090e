"""The cells of a fitted partition, as a recoding looks at them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.anonymize._partition import Partition
    from halfmask.anonymize._recount import CellCounts
    from halfmask.anonymize.coding import Coding


@dataclass(frozen=True, slots=True, kw_only=True)
class CellColumn:
    """One quasi-identifier in every cell."""

    coding: Coding
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    cells: NDArray[np.integer]
    codes: NDArray[np.integer]
    counts: NDArray[np.int64] | None = None
    representatives: NDArray[np.int64] | None = None
    levels: NDArray[np.int64] | None = None

    @classmethod
    def of(
        cls,
        coding: Coding,
        place: int,
        *,
        partition: Partition,
        counts: CellCounts,
        representatives: NDArray[np.int64] | None = None,
    ) -> Self:
        """Return the column at a place of a partition, with the released rows."""
        cells, codes, n = counts.entries(place)
        return cls(
            coding=coding,
            low=partition.low[:, place].astype(np.int64),
            high=partition.high[:, place].astype(np.int64),
            cells=cells,
            codes=codes,
            counts=n,
            representatives=representatives,
            levels=partition.levels_of(place),
        )

    def __repr__(self) -> str:
        return f"CellColumn({self.coding!r}, {self.n_cells} cells)"

    @property
    def n_cells(self) -> int:
        """How many cells there are."""
        return len(self.low)

    def mixes_missing(self) -> NDArray[np.bool_]:
        """Return for each cell whether it has missing cells among its rows."""
        if not self.coding.missing:
            return np.zeros(self.n_cells, dtype=np.bool_)
        return np.equal(self.high, self.coding.n_values)

    def occurring(self) -> NDArray[np.bool_]:
        """Return for each value whether a released row has it.

        A value that only suppressed rows had must not be named in the release.
        """
        found = np.zeros(self.coding.n_codes, dtype=np.bool_)
        found[self.codes] = True
        return found[: self.coding.n_values]

    def value_range(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the least and greatest code of each cell's values; (-1, -1) if all are missing."""
        low, high = self.low.copy(), self.high.copy()
        mixed = self.mixes_missing() & (self.low < self.high)
        if mixed.any():
            held = mixed[self.cells] & (self.codes < self.coding.n_values)
            high[mixed] = -1
            np.maximum.at(high, self.cells[held], self.codes[held].astype(np.int64))
        empty = self.low == self.coding.n_values
        low[empty], high[empty] = -1, -1
        return low, high

    def counted(self) -> pl.DataFrame:
        """Return how often each value occurs in each cell: cell, code, n; missing left out."""
        counts = np.ones(len(self.codes), dtype=np.int64) if self.counts is None else self.counts
        entries = pl.DataFrame(
            {"cell": self.cells.astype(np.int64), "code": self.codes.astype(np.int64), "n": counts}
        )
        held = entries.filter(pl.col("code") < self.coding.n_values)
        return held.group_by("cell", "code").agg(pl.col("n").sum()).sort("cell", "code")
