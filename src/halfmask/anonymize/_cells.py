"""The cells of a space: the partition that cuts them, and the rows and codes of each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import polars as pl

from halfmask._errors import GuaranteeNotMetError
from halfmask.guarantees import Classes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.anonymize._fitted import Fitted
    from halfmask.anonymize.coding import Coding


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """A binary tree of cuts; its leaves are the cells.

    Parameters
    ----------
    feature
        The column that each node cuts, -1 in a cell, (nodes,).
    cut
        The last code that goes left, (nodes,).
    left, right
        The children of each node; in a cell, its number and -1, (nodes,).
    low, high
        The least and greatest code of each column among a cell's rows, (cells, columns).
    sizes
        How many rows each cell has, (cells,).
    """

    feature: NDArray[np.int32]
    cut: NDArray[np.int64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    sizes: NDArray[np.int64]

    def __repr__(self) -> str:
        return f"Partition({self.n_cells} cells of {int(self.sizes.sum())} rows)"

    @property
    def n_cells(self) -> int:
        """How many cells there are."""
        return len(self.sizes)

    def cells_of(self, codes: Sequence[NDArray[np.int64]]) -> NDArray[np.int32]:
        """Return the cell of each row; -1 where a code is negative.

        Parameters
        ----------
        codes
            For each column, in the order of the fit, the codes of the rows.
        """
        from halfmask.kernels.partition.descent import descend  # noqa: PLC0415 # the compiler loads late

        cells = np.empty(len(codes[0]), dtype=np.int32)
        stacked = np.ascontiguousarray(np.stack(codes), dtype=np.int64)
        descend(stacked, self.feature, self.cut, self.left, self.right, cells)
        return cells

    def features_cut(self) -> NDArray[np.bool_]:
        """Return which columns were cut on the way to each cell, (cells, columns).

        Of cells that were joined, those that were cut on the way to any of them.
        """
        found = np.zeros((self.n_cells, self.low.shape[1]), dtype=np.bool_)
        on_the_way = np.zeros((len(self.feature), self.low.shape[1]), dtype=np.bool_)
        # A node's children have higher numbers than the node.
        for node, feature in enumerate(self.feature):
            if feature < 0:
                if self.left[node] >= 0:
                    found[self.left[node]] |= on_the_way[node]
                continue
            for child in (self.left[node], self.right[node]):
                on_the_way[child] = on_the_way[node]
                on_the_way[child, feature] = True
        return found

    def levels_of(self, place: int) -> NDArray[np.int64] | None:  # noqa: ARG002 # a subclass needs it
        """Return a column's level in each cell; ``None`` where cells have no levels.

        Parameters
        ----------
        place
            The place of the column.
        """
        return None

    def details(self, columns: Sequence[str]) -> dict[str, Any]:  # noqa: ARG002 # the same
        """Return what a manifest says of how the cells were found.

        Parameters
        ----------
        columns
            The names of the columns.
        """
        return {}

    def renumbered(self, target: NDArray[np.int64], *, sizes: NDArray[np.int64]) -> Partition:
        """Return the partition with cells joined or dropped.

        Parameters
        ----------
        target
            The new number of each old cell; -1 for one whose rows are suppressed.
        sizes
            How many rows each new cell has.
        """
        if not len(sizes):
            raise GuaranteeNotMetError(
                "No cell keeps the guarantees; every row would be suppressed.",
                hint="Ask for less, or name fewer quasi-identifiers.",
            )
        kept = target >= 0
        low = np.full((len(sizes), self.low.shape[1]), np.iinfo(np.int32).max, dtype=np.int32)
        high = np.full_like(low, -1)
        np.minimum.at(low, target[kept], self.low[kept])
        np.maximum.at(high, target[kept], self.high[kept])
        left = self.left.copy()
        cells = self.feature < 0
        left[cells] = target[left[cells]]
        return replace(self, left=left, low=low, high=high, sizes=sizes)


def boxes(
    points: NDArray[np.int32], cuts: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the least and greatest code of each column between cuts."""
    low = np.minimum.reduceat(points, cuts[:-1], axis=0)
    return low, np.maximum.reduceat(points, cuts[:-1], axis=0)


def balanced_tree(
    n_cells: int,
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Return feature, cut, left and right of the flattest tree over cells from left to right.

    Nodes are numbered as in a heap, so that the children of i are 2i + 1 and 2i + 2.
    """
    from halfmask.kernels.partition.descent import cell_spans  # noqa: PLC0415 # the compiler loads late

    n_nodes = 2 * n_cells - 1
    node = np.arange(n_nodes)
    inner = node < n_cells - 1
    deepest = (1 << (n_nodes.bit_length() - 1)) - 1  # the first node of the deepest row
    # Cells of the deepest row lie left of those that are one row higher.
    cell = np.where(node >= deepest, node - deepest, node + n_nodes - deepest - (n_cells - 1))
    feature = np.where(inner, 0, -1).astype(np.int32)
    left = np.where(inner, 2 * node + 1, cell).astype(np.int32)
    right = np.where(inner, 2 * node + 2, -1).astype(np.int32)
    parent = np.empty(n_nodes, dtype=np.int32)
    first, last = np.empty(n_nodes, dtype=np.int64), np.empty(n_nodes, dtype=np.int64)
    cell_spans(feature, left, right, parent, first, last)
    cut = np.where(inner, last[np.where(inner, left, 0)], 0)
    return feature, cut, left, right


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
