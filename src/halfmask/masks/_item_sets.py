"""Sets of items in a column: texts with a separator, split into items and numbered."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, Self

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray


def split_items(cells: pl.Series, separator: str) -> pl.Series:
    """Return the items of each cell as a list: each once, in order, and none that is empty.

    Examples
    --------
    >>> split_items(pl.Series(["milk|bread|milk", "", None]), "|").to_list()
    [['bread', 'milk'], [], None]
    """
    items = pl.col("cells").str.split(separator)
    return (
        cells.to_frame("cells")
        .select(items.list.unique().list.sort().list.set_difference([""]).list.sort())
        .to_series()
    )


@dataclass(frozen=True, slots=True, eq=False)
class ItemSets:
    """The sets of a column as numbers: of each set ascending, and each item once."""

    offsets: NDArray[np.int64]
    items: NDArray[np.int32]
    labels: tuple[str, ...]

    @classmethod
    def of(cls, cells: pl.Series, separator: str) -> Self:
        """Return the sets of a column of texts."""
        lists = split_items(cells, separator)
        sizes = lists.list.len().fill_null(0).to_numpy().astype(np.int64)
        items = lists.filter(lists.list.len() > 0).explode(empty_as_null=False)
        labels = items.unique().sort()
        numbers = items.rank("dense").to_numpy().astype(np.int32) - np.int32(1)
        return cls(np.concatenate(([0], np.cumsum(sizes))), numbers, tuple(labels))

    def recoded(self, codes: NDArray[np.int64]) -> ItemSets:
        """Return the sets with other numbers; labels are those of the raw items."""
        rows = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        found = codes[self.items]
        kept = found >= 0
        width = int(codes.max(initial=0)) + 1
        pairs = np.sort(rows[kept] * width + found[kept])
        pairs = pairs[np.diff(pairs, prepend=-1) > 0]
        offsets = np.searchsorted(pairs, np.arange(len(self.offsets)) * width)
        return ItemSets(offsets.astype(np.int64), (pairs % width).astype(np.int32), self.labels)

    def n_subsets(self, size: int) -> int:
        """Return how many sets of so many items there are, each counted in each row that has it."""
        lengths, rows = np.unique(np.diff(self.offsets), return_counts=True)
        both = zip(lengths.tolist(), rows.tolist(), strict=True)
        return sum(comb(length, size) * n for length, n in both)
