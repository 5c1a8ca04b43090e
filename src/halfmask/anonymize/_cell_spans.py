"""Where the cells of a partition lie in its tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from halfmask.anonymize._partition import Partition

Integers = NDArray[np.int64]


class CellSpans:
    """The parent of each node of the tree, and the run of cells below it."""

    def __init__(self, parent: Integers, first: Integers, last: Integers, leaf: Integers) -> None:
        self.parent, self.first, self.last, self.leaf = parent, first, last, leaf

    @classmethod
    def of(cls, partition: Partition) -> Self:
        """Return the spans of a partition."""
        from halfmask.kernels.partition.descent import cell_spans  # noqa: PLC0415 # the compiler loads late

        n = len(partition.feature)
        parent = np.empty(n, dtype=np.int32)
        first, last = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
        cell_spans(partition.feature, partition.left, partition.right, parent, first, last)
        leaf = np.empty(partition.n_cells, dtype=np.int64)
        cells = np.flatnonzero(partition.feature < 0)
        leaf[partition.left[cells]] = cells
        return cls(parent.astype(np.int64), first, last, leaf)

    def above(self, firsts: Integers, lasts: Integers, live: Integers) -> Integers:
        """Return for each run of cells the lowest node that holds more live cells.

        -1 if there is none.
        """
        own = live[lasts + 1] - live[firsts]
        nodes = self.leaf[firsts].copy()
        climbing = np.arange(len(nodes))
        while len(climbing):
            at = nodes[climbing]
            held = live[self.last[at] + 1] - live[self.first[at]]
            climbing = climbing[held <= own[climbing]]
            nodes[climbing] = self.parent[nodes[climbing]]
            climbing = climbing[nodes[climbing] >= 0]
        return nodes
