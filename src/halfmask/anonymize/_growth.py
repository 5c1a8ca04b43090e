"""From coded columns to a partition: pack the records, state the rules, run the kernel.

The top of a large tree is grown in one thread, its branches in many.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from halfmask._errors import GuaranteeNotMetError
from halfmask.anonymize._centroid_partition import group_near
from halfmask.anonymize._partition import Partition
from halfmask.engines import map_in_order, worker_count
from halfmask.guarantees import Classes, Criterion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.anonymize._axes import Axes
    from halfmask.anonymize._summary import PersonCodes, SensitiveCodes
    from halfmask.anonymize.lattice import LatticeSearch
    from halfmask.data import Hierarchy
    from halfmask.guarantees import Guarantee
    from halfmask.kernels.partition.criteria import Rules
    from halfmask.kernels.partition.records import Guide, RecordBuffers, RecordColumns, Room


VECTOR_BYTES = 16
ROW_NUMBER_BYTES = 4
#: How many bins a column's codes are counted in when a guide looks for a cut.
GUIDE_BINS = 256
#: A guide's sums share 64 bits with the counts; see COUNT_SHIFT in kernels/partition/guided.py.
GUIDE_SUM_BITS = 36

#: The lane of the persons; no column of a table may have such a name.
_PERSON = "\0person"

Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthPlan:
    """How classes are found: cut or grouped or searched for, and by what."""

    strict: bool = True
    guides: NDArray[np.float64] | None = None
    min_gain: float = 0.0
    search: Literal["median", "nearest", "lattice"] = "median"
    block_rows: int = 100_000
    lattice: LatticeSearch | None = None

    def __repr__(self) -> str:
        n = 0 if self.guides is None else self.guides.shape[1]
        return f"GrowthPlan(strict={self.strict}, {n} guides)"


def grow_partition(  # noqa: PLR0913 # each says one thing, by its name
    codes: Sequence[Codes],
    n_codes: Sequence[int],
    boundaries: Sequence[NDArray[np.uint8]],
    *,
    sensitive: Sequence[SensitiveCodes],
    guarantees: Sequence[Guarantee],
    plan: GrowthPlan,
    weights: NDArray[np.float64] | float = 1.0,
    axes: Axes | None = None,
    persons: PersonCodes | None = None,
) -> tuple[Partition, NDArray[np.int32]]:
    """Grow a partition in which every cell keeps every guarantee."""
    from halfmask.kernels.partition.growing import Guide, RecordBuffers, RecordColumns  # noqa: PLC0415

    n = len(codes[0])
    rules, k = engine_rules(guarantees, sensitive)
    check_whole(guarantees, sensitive, n, len(codes), persons)
    if persons is not None and axes is None:
        sensitive = (*sensitive, persons.as_lane(_PERSON))
        counted = Criterion(rule="distinct-l", column=_PERSON, thresholds=(float(k),))
        rules, k = engine_rules(guarantees, sensitive, more=(counted,))
    if axes is not None:
        rows = plan.block_rows
        return group_near(
            codes, axes, sensitive=sensitive, rules=rules, k=k, block_rows=rows, weights=weights
        )
    guides = plan.guides if plan.guides is not None else np.zeros((n, 0))
    n_guides = guides.shape[1]
    front = _pack(codes, n_codes, sensitive, guides)
    back = front.copy()  # touched before the loops run: the first touch of a page is slow
    grower = Grower(
        buffers=RecordBuffers((front, back), (front.view(np.uint64), back.view(np.uint64))),
        columns=RecordColumns(
            np.array([1.0 / max(1, count - 1) for count in n_codes]) * weights,
            np.concatenate([*boundaries, np.zeros(1, dtype=np.uint8)]).astype(np.uint8),
            np.concatenate([[0], np.cumsum([len(edges) for edges in boundaries])]).astype(np.int64),
            np.array([bool(edges.any()) for edges in boundaries]),
            len(sensitive),
        ),
        rules=rules,
        guide=Guide(n_guides, plan.min_gain, GUIDE_BINS) if n_guides else None,
        k=k,
        strict=plan.strict,
    )
    cell_of_row = np.empty(n, dtype=np.int32)
    return grower.partition(cell_of_row), cell_of_row


def _pack(
    codes: Sequence[Codes],
    n_codes: Sequence[int],
    sensitive: Sequence[SensitiveCodes],
    guides: NDArray[np.float64],
) -> NDArray[Any]:
    """Return the records: a lane for each column, sensitive column and guide, then the row number.

    The lanes' type is the narrowest that holds every code: a vector instruction then compares most
    lanes at once.
    """
    n, n_guides = len(codes[0]), guides.shape[1]
    greatest = max([*n_codes, *(column.n_values for column in sensitive), 1]) - 1
    if n_guides and not np.isin(guides, (0.0, 1.0)).all():
        greatest = max(greatest, 1 << 8)  # probabilities need finer steps than a byte has
    dtype = np.min_scalar_type(greatest)
    lane_bytes = dtype.itemsize
    used = (len(codes) + len(sensitive) + n_guides) * lane_bytes + ROW_NUMBER_BYTES
    width = -(-used // VECTOR_BYTES) * VECTOR_BYTES // lane_bytes
    records = np.empty((n, width), dtype=dtype)
    records[:] = 0  # not np.zeros: its pages are small ones, which the moves of rows wait for
    for lane, column in enumerate([*codes, *(column.codes for column in sensitive)]):
        records[:, lane] = column
    steps = min(np.iinfo(dtype).max, (1 << GUIDE_SUM_BITS) // max(1, n) - 1)
    first = len(codes) + len(sensitive)
    for lane in range(n_guides):
        records[:, first + lane] = np.rint(guides[:, lane] * steps)
    records.view(np.uint32)[:, -1] = np.arange(n, dtype=np.uint32)
    return records


def engine_rules(
    guarantees: Sequence[Guarantee],
    sensitive: Sequence[SensitiveCodes],
    *,
    more: Sequence[Criterion] = (),
) -> tuple[Rules, int]:
    """Return the guarantees and more rules as arrays, and the least size of a class they allow."""
    from halfmask.kernels.partition.criteria import RULES, Rules  # noqa: PLC0415 # compiles late

    places = {column.name: place for place, column in enumerate(sensitive)}
    k = max(1, *(guarantee.min_rows for guarantee in guarantees))
    kept = [each for each in (guarantee.criterion() for guarantee in guarantees) if each]
    kept += more
    most = max([2, *(len(criterion.thresholds) for criterion in kept)])
    thresholds = np.zeros((len(kept), most))
    for place, criterion in enumerate(kept):
        thresholds[place, : len(criterion.thresholds)] = criterion.thresholds
    counts = [np.bincount(column.codes, minlength=column.n_values) for column in sensitive]
    shares = [count / max(1, count.sum()) for count in counts]
    trees = [
        _parents(criterion.hierarchy, sensitive[places[criterion.column]].n_values)
        for criterion in kept
    ]
    others = any(criterion.rule != "distinct-l" for criterion in kept)
    rules = Rules(
        np.array([RULES[criterion.rule] for criterion in kept], dtype=np.int64),
        np.array([places[criterion.column] for criterion in kept], dtype=np.int64),
        thresholds,
        np.concatenate([[0], np.cumsum([column.n_values for column in sensitive])]).astype(
            np.int64
        ),
        np.concatenate([*shares, np.zeros(0)]) if others else None,
        np.concatenate([*trees, np.zeros(0, dtype=np.int64)]),
        np.concatenate([[0], np.cumsum([len(tree) for tree in trees])]).astype(np.int64),
    )
    return rules, k


def _parents(hierarchy: Hierarchy | None, n_values: int) -> NDArray[np.int64]:
    """Return the node of each value at each level from 1 on, numbered from 0, level after level.

    Missing, the last value where there is one more than leaves, is a branch of its own below the
    root.
    """
    if hierarchy is None:
        return np.zeros(0, dtype=np.int64)
    if hierarchy.height == 1:
        return np.zeros(n_values, dtype=np.int64)  # one leaf and maybe missing: a root joins them
    levels = []
    for level in range(1, hierarchy.height):
        nodes = np.unique(np.asarray(hierarchy.labels(level)), return_inverse=True)[1]
        own = 0 if level == hierarchy.height - 1 else int(nodes.max()) + 1
        levels.append(np.append(nodes, own)[:n_values])
    return np.concatenate(levels).astype(np.int64)


def check_whole(
    guarantees: Sequence[Guarantee],
    sensitive: Sequence[SensitiveCodes],
    n: int,
    n_columns: int,
    persons: PersonCodes | None,
) -> None:
    """Raise if the whole table, as one class, misses a guarantee that merging can't break."""
    whole = Classes.from_codes(
        np.zeros(n, dtype=np.int64),
        1,
        {s.name: (s.codes, s.n_values) for s in sensitive},
        person_of_row=None if persons is None else persons.codes,
    )
    # One class has one value in each column, whatever is written for it.
    whole = replace(whole, written=np.zeros((1, n_columns), dtype=np.int64))
    of = "" if persons is None else f" of {persons.n_persons} persons"
    for guarantee in guarantees:
        guarantee.check_persons(whole)
        if guarantee.needs_population:  # judged by what is written for the grown cells
            continue
        if persons is not None and not guarantee.merges_in(whole.members):
            continue
        judgement = guarantee.judge(whole)
        if not judgement.holds:
            raise GuaranteeNotMetError(
                f"{guarantee!r} can't be met: the whole table as one class of {n} rows{of} reaches "
                f"{judgement.achieved:g}.",
                hint="Ask for less, or give more rows.",
            )


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
    guide: Guide | None
    k: int
    strict: bool

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
        from halfmask.kernels.partition.growing import TreeRoom, grow  # noqa: PLC0415 # compiles late

        lanes = self.buffers.lanes[0]
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
            np.empty(lanes.shape[1], dtype=lanes.dtype),
            np.empty(lanes.shape[1], dtype=lanes.dtype),
            np.empty((most + 1, 4), dtype=np.int64),
        )
        nodes, cells = grow(
            self.buffers,
            self.columns,
            self.rules,
            self.guide,
            self.k,
            self.strict,
            run,
            whole,
            self._room(),
            tree,
        )
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

    def _room(self) -> Room:
        from halfmask.kernels.partition.growing import Room  # noqa: PLC0415 # compiles late

        d, values = len(self.columns.scale), int(self.rules.offsets[-1])
        guides, bins = (self.guide.lanes, self.guide.bins) if self.guide else (0, 0)
        return Room(
            histogram=np.zeros(4 * max(bins, 256), dtype=np.int64),
            tried=np.zeros(d, dtype=np.bool_),
            counts=np.zeros((4, values + 1), dtype=np.int64),
            scratch=np.zeros((4, values)),
            sums=np.zeros(guides * d * bins, dtype=np.uint64),
            shifts=np.zeros(d, dtype=np.uint64),
            bases=np.zeros(d, dtype=np.uint64),
            gains=np.zeros(d),
            cuts=np.zeros(d, dtype=np.int64),
            totals=np.zeros(guides),
            lefts=np.zeros(guides),
        )


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
