"""Run the compiled partition: the top of a large tree in one thread, its branches in many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask.anonymize._partition import Partition
from halfmask.engines import map_in_order, worker_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.kernels.partition.criteria import Rules
    from halfmask.kernels.partition.records import Guide, RecordBuffers, RecordColumns

#: Tables of fewer rows are partitioned in one thread: starting more would cost what it saves.
PARALLEL_ROWS = 200_000
#: Into about how many branches a large table is cut before threads take them.
BRANCHES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Grower:
    """What a growth needs, in the kernel's form."""

    buffers: RecordBuffers
    columns: RecordColumns
    rules: Rules
    guide: Guide
    k: int
    strict: bool
    share: tuple[int, int] | None = None

    def __repr__(self) -> str:
        return f"Grower({len(self.buffers.lanes[0])} rows, k={self.k})"

    def partition(self, cell_of_row: NDArray[np.int32]) -> Partition:
        """Grow the whole partition; write each row's cell.

        Guarantees
        ----------
        The same cells in the same order, whatever the number of threads: a branch looks at its own
        rows only.
        """
        n = len(cell_of_row)
        if n < PARALLEL_ROWS or worker_count() == 1:
            return self._grown((0, n, 0), 0, cell_of_row)[0]
        top, firsts, sides = self._grown((0, n, 0), n // BRANCHES, cell_of_row)
        in_branch = np.empty(n, dtype=np.int32)

        def grow_branch(cell: int) -> Partition:
            run = (int(firsts[cell]), int(firsts[cell] + top.sizes[cell]), int(sides[cell]))
            return self._grown(run, 0, in_branch)[0]

        branches = list(map_in_order(range(top.n_cells), grow_branch))
        before = np.cumsum([0, *(branch.n_cells for branch in branches)])[:-1].astype(np.int32)
        np.add(before[cell_of_row], in_branch, out=cell_of_row)
        return _grafted(top, branches, before)

    def _grown(
        self, run: tuple[int, int, int], whole: int, cell_of_row: NDArray[np.int32]
    ) -> tuple[Partition, NDArray[np.int64], NDArray[np.int64]]:
        from halfmask.kernels.compiling import compile_all_widths  # noqa: PLC0415 # the compiler loads late
        from halfmask.kernels.partition.growing import TreeRoom, grow  # noqa: PLC0415 # the same

        rows, d = run[1] - run[0], len(self.columns.scale)
        most = rows // self.k + 1
        tree = TreeRoom(
            np.empty(2 * most, dtype=np.int32),
            np.empty(2 * most, dtype=np.int64),
            np.empty(2 * most, dtype=np.int32),
            np.empty(2 * most, dtype=np.int32),
            np.empty((most, d), dtype=np.int32),
            np.empty((most, d), dtype=np.int32),
            np.empty(most, dtype=np.int64),
            np.empty(most, dtype=np.int64),
            np.empty(most, dtype=np.int64),
            cell_of_row,
        )
        given = (
            self.buffers,
            self.columns,
            self.rules,
            self.guide,
            self.k,
            self.strict,
            self.share,
            run,
            whole,
            tree,
        )
        compile_all_widths(grow, *given)
        nodes, cells = grow(*given)
        partition = Partition(
            feature=tree.feature[:nodes].copy(),
            cut=tree.cut[:nodes].copy(),
            left=tree.left[:nodes].copy(),
            right=tree.right[:nodes].copy(),
            low=tree.low[:cells].copy(),
            high=tree.high[:cells].copy(),
            sizes=tree.sizes[:cells].copy(),
        )
        return partition, tree.firsts[:cells].copy(), tree.sides[:cells].copy()


def _grafted(top: Partition, branches: list[Partition], before: NDArray[np.int32]) -> Partition:
    """Put each branch in the place of its cell of the top.

    A branch's root takes the cell's node, its other nodes come behind all nodes so far: children
    stay behind their parents, and cells keep their order from left to right.
    """
    feature, cut, left, right = ([part] for part in (top.feature, top.cut, top.left, top.right))
    places = np.empty(top.n_cells, dtype=np.int64)
    leaves = np.flatnonzero(top.feature < 0)
    places[top.left[leaves]] = leaves
    n_nodes = len(top.feature)
    for cell, branch in enumerate(branches):
        is_cell = branch.feature < 0
        moved_left = np.where(is_cell, branch.left + before[cell], branch.left + n_nodes - 1)
        moved_right = np.where(is_cell, -1, branch.right + n_nodes - 1)
        for parts, own in (
            (feature, branch.feature),
            (cut, branch.cut),
            (left, moved_left.astype(np.int32)),
            (right, moved_right.astype(np.int32)),
        ):
            parts[0][places[cell]] = own[0]
            parts.append(own[1:])
        n_nodes += len(branch.feature) - 1
    return Partition(
        feature=np.concatenate(feature),
        cut=np.concatenate(cut),
        left=np.concatenate(left),
        right=np.concatenate(right),
        low=np.concatenate([branch.low for branch in branches]),
        high=np.concatenate([branch.high for branch in branches]),
        sizes=np.concatenate([branch.sizes for branch in branches]),
    )
