"""The cells of a partition: the rows and codes of each, and what a recoding looks at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import polars as pl

from halfmask.guarantees import Classes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.anonymize._fitted import Fitted
    from halfmask.anonymize._partition import Partition
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


@dataclass(frozen=True, slots=True, kw_only=True)
class CellCounts:
    """Counts of rows by cell and code: they add up over batches."""

    classes: Classes
    cells: tuple[NDArray[np.integer], ...]
    codes: tuple[NDArray[np.integer], ...]
    counts: tuple[NDArray[np.int64], ...] | None

    def __repr__(self) -> str:
        return f"CellCounts({self.classes.n_classes} cells, {self.classes.rows} rows)"

    @classmethod
    def of(cls, fitted: Fitted) -> CellCounts:
        """Count the rows that the cells were grown from, except suppressed rows."""
        kept = fitted.cell_of_row >= 0
        cells, codes = fitted.cell_of_row, fitted.codes
        if not kept.all():
            cells, codes = cells[kept], tuple(column[kept] for column in codes)
        return cls(classes=fitted.classes(), cells=(cells,) * len(codes), codes=codes, counts=None)

    def entries(
        self, column: int
    ) -> tuple[NDArray[np.integer], NDArray[np.integer], NDArray[np.int64] | None]:
        """Return the cells, codes and counts of one quasi-identifier."""
        n = None if self.counts is None else self.counts[column]
        return self.cells[column], self.codes[column], n

    def code_counts(self, n_codes: Sequence[int]) -> list[NDArray[np.int64]]:
        """Return for each quasi-identifier how many rows have each code."""
        counted = []
        for column, n in enumerate(n_codes):
            _, codes, weights = self.entries(column)
            counted.append(np.bincount(codes, weights=weights, minlength=n).astype(np.int64))
        return counted

    def __add__(self, other: CellCounts) -> CellCounts:
        """Return the counts of both batches."""
        summed = [
            _paired(
                np.concatenate([self.cells[j], other.cells[j]]),
                np.concatenate([self.codes[j], other.codes[j]]),
                np.concatenate([self._weights(j), other._weights(j)]),
            )
            for j in range(len(self.codes))
        ]
        return CellCounts(
            classes=self.classes + other.classes,
            cells=tuple(entry[0] for entry in summed),
            codes=tuple(entry[1] for entry in summed),
            counts=tuple(entry[2] for entry in summed),
        )

    def renumbered(self, target: NDArray[np.int64], n_cells: int) -> CellCounts:
        """Return the counts with cells joined, or dropped where the target is -1."""
        dropped = np.flatnonzero(target < 0)
        classes = self.classes.without(dropped) if len(dropped) else self.classes
        classes = classes.coarsened(target[target >= 0], n_cells)
        moved = [target[cells] for cells in self.cells]
        kept = [cells >= 0 for cells in moved]
        return CellCounts(
            classes=classes,
            cells=tuple(cells[stays] for cells, stays in zip(moved, kept, strict=True)),
            codes=tuple(codes[stays] for codes, stays in zip(self.codes, kept, strict=True)),
            counts=self.counts
            and tuple(n[stays] for n, stays in zip(self.counts, kept, strict=True)),
        )

    def extents(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the least and greatest code of each column in each cell."""
        shape = (self.classes.n_classes, len(self.codes))
        low = np.full(shape, np.iinfo(np.int32).max, dtype=np.int32)
        high = np.full(shape, -1, dtype=np.int32)
        for j in range(len(self.codes)):
            cells, codes, _ = self.entries(j)
            np.minimum.at(low[:, j], cells, codes.astype(np.int32))
            np.maximum.at(high[:, j], cells, codes.astype(np.int32))
        return low, high

    def _weights(self, column: int) -> NDArray[np.int64]:
        if self.counts is None:
            return np.ones(len(self.codes[column]), dtype=np.int64)
        return self.counts[column]


def count_cells(fitted: Fitted, batch: pl.DataFrame, *, person: str | None = None) -> CellCounts:
    """Count the rows of a batch in the cells of a fit."""
    codes = [coding.codes(batch[coding.column.name]) for coding in fitted.codings]
    cells = fitted.partition.cells_of(codes)
    placed = cells >= 0
    if not placed.all():
        batch, cells = batch.filter(pl.Series(placed)), cells[placed]
        codes = [column[placed] for column in codes]
    sensitive = {
        column.name: (column.of_batch(batch[column.name]), column.n_values)
        for column in fitted.sensitive
    }
    people = None
    if person is not None and fitted.persons is not None:
        people = fitted.persons.of_batch(batch[person])
    paired = [_paired(cells, column, np.ones(len(column), dtype=np.int64)) for column in codes]
    return CellCounts(
        classes=Classes.from_codes(
            cells, fitted.partition.n_cells, sensitive, person_of_row=people
        ),
        cells=tuple(entry[0] for entry in paired),
        codes=tuple(entry[1] for entry in paired),
        counts=tuple(entry[2] for entry in paired),
    )


def _paired(
    cells: NDArray[np.integer], codes: NDArray[np.integer], counts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    table = pl.DataFrame(
        {"cell": cells.astype(np.int64), "code": codes.astype(np.int64), "n": counts}
    )
    summed = table.group_by("cell", "code").agg(pl.col("n").sum()).sort("cell", "code")
    return tuple(summed[name].to_numpy() for name in ("cell", "code", "n"))  # type: ignore[return-value] # three
