"""Nodes of a hierarchy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from halfmask.anonymize.lattice._lattice import root_label
from halfmask.anonymize.recodings._ranges import Ranges
from halfmask.data import as_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.anonymize._cells import CellColumn


@dataclass(frozen=True, slots=True)
class Level:
    """Write the lowest node of the hierarchy that covers the class's values.

    Columns without a hierarchy are written as :class:`Ranges` writes them.

    See Also
    --------
    Ranges : Needs no hierarchy.

    Edge cases
    ----------
    Different classes of one release may be at different levels of a column (local recoding), except
    with :class:`FullDomain`: there the node at the column's level is written, also if a lower one
    covers the class, and the root stands for missing cells too.
    Missing cells aren't part of the hierarchy. If a class has both values and missing cells, its
    label ends in ``or missing``.
    """

    name: ClassVar[str] = "level"
    sentence: ClassVar[str] = "The node of the hierarchy above a class is written."
    weaknesses: ClassVar[tuple[str, ...]] = ("downcoding",)

    def write(self, cells: CellColumn) -> pl.Series:
        """Return one column's label for each cell.

        Parameters
        ----------
        cells
            One column of all cells.
        """
        if cells.levels is not None:
            return _at_levels(cells, cells.levels)
        hierarchy = cells.coding.hierarchy
        if hierarchy is None:
            return Ranges().write(cells)
        lows, highs = cells.value_range()
        mixed = cells.mixes_missing()
        known: dict[tuple[int, int], str] = {}
        labels: list[str | None] = []
        for low, high, missing in zip(lows.tolist(), highs.tolist(), mixed.tolist(), strict=True):
            if low < 0:
                labels.append(None)
                continue
            if (low, high) not in known:
                known[low, high] = hierarchy.node(low, high)[1]
            labels.append(f"{known[low, high]} or missing" if missing else known[low, high])
        return pl.Series(cells.coding.column.name, labels, dtype=pl.String)


def _at_levels(cells: CellColumn, levels: NDArray[np.int64]) -> pl.Series:
    """Return the node of each cell at its level."""
    different = np.unique(levels)
    written = _at_level(cells, int(different[0]))
    for level in different[1:]:
        there = pl.Series(levels == level)
        at_level = as_text(_at_level(cells, int(level)))
        written = at_level.zip_with(there, as_text(written))
    return written


def _at_level(cells: CellColumn, level: int) -> pl.Series:
    """Return the node of each cell at one level."""
    name, hierarchy = cells.coding.column.name, cells.coding.hierarchy
    root = root_label(cells.coding, level)
    if root is not None:
        return pl.Series(name, [root] * cells.n_cells, dtype=pl.String)
    if hierarchy is None:
        return Ranges().write(cells)  # each cell has one value
    low, _ = cells.value_range()
    labels = pl.Series(name, hierarchy.labels(level), dtype=pl.String)
    return labels.gather(pl.Series(low).replace(-1, None))
