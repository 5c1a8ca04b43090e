"""Judge nodes of one table: group its rows, suppress what misses a guarantee, measure the rest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Protocol

import numpy as np

from halfmask._errors import GuaranteeNotMetError
from halfmask.anonymize._suppressing import smallest_enough
from halfmask.anonymize.lattice._judged_nodes import NodeScore
from halfmask.anonymize.lattice._objective import NodeClasses
from halfmask.anonymize.lattice.grouped_rows import GroupedRows, KeptNodes, node_tables
from halfmask.guarantees import Classes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.anonymize.lattice._judged_nodes import Found
    from halfmask.anonymize.lattice._lattice import LatticeColumn, Levels
    from halfmask.anonymize.lattice._objective import Scorer
    from halfmask.guarantees import Guarantee


class NodePeople(Protocol):
    """A population that is counted in the classes of nodes."""

    @property
    def missing(self) -> bool:
        """Whether missing cells may make fewer people fit a node above than one below."""

    def count(self, levels: Levels, nodes: NDArray[np.int32]) -> tuple[NDArray[np.int64], int]:
        """Return how many people fit each class of a node, and how many fit none."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChosenNode:
    """The classes that a node releases.

    A combination of raw codes whose cell is -1 is suppressed.
    """

    levels: Levels
    cell_of_item: NDArray[np.int32]
    nodes: NDArray[np.int32]
    sizes: NDArray[np.int64]

    def __repr__(self) -> str:
        return f"ChosenNode({self.levels}, {len(self.sizes)} classes)"


class TableJudge:
    """The `NodeJudge` of a table.

    Guarantees
    ----------
    Exact: a class is what shares a node in every column. The classes that a guarantee denies are
    suppressed whole. Guarantees that hold a class against the whole table are judged again on what
    is left, until no class misses one; the rows that this takes are an upper bound of what such a
    guarantee needs. For those of the table as a whole, the smallest classes are suppressed until
    they hold.
    """

    def __init__(
        self,
        columns: Sequence[LatticeColumn],
        rows: GroupedRows,
        *,
        guarantees: Sequence[Guarantee],
        scorer: Scorer,
        max_suppressed: int,
        label: str | None = None,
        people: NodePeople | None = None,
    ) -> None:
        self._columns, self._raw, self._scorer = tuple(columns), rows, scorer
        self._guarantees = tuple(guarantees)
        self._max_suppressed, self._label = max_suppressed, label
        self._people = people
        self._sizes_alone = rows.has_sizes_alone
        self._min_rows = max((each.min_rows for each in guarantees), default=1)
        from halfmask.kernels.lattice.grouping import group_room  # noqa: PLC0415 # compiles late

        self._tables, self._room = node_tables(columns), group_room(len(rows.sizes))
        self._kept = KeptNodes(rows, columns, group=self._grouped_from)

    def __repr__(self) -> str:
        return f"TableJudge({len(self._columns)} columns, {len(self._raw.sizes)} combinations)"

    @property
    def monotone(self) -> bool:
        """Whether all nodes above one that holds hold too, suppression included.

        Without suppression that is so where every guarantee is monotone. With it, a class that
        misses a guarantee may come into one that keeps it: that must not break it. A person in two
        classes counts once when they are merged, so in persons fewer guarantees are monotone.
        """
        if self._people is not None and self._people.missing:
            return False  # who has a missing cell doesn't fit the root
        members = self._raw.classes().members
        if members is not None:
            kept = all(each.merges_in(members) for each in self._guarantees)
            return kept and not (
                self._max_suppressed
                and any(
                    each.of_table or not each.monotone_with_suppression for each in self._guarantees
                )
            )
        if self._max_suppressed:
            return all(each.monotone_with_suppression for each in self._guarantees)
        return all(each.monotone for each in self._guarantees)

    def score(self, levels: Levels) -> NodeScore:
        """Group the rows of a node and judge it."""
        from halfmask.kernels.lattice.grouping import rows_of_small  # noqa: PLC0415 # compiles late

        base = self._kept.below(levels)
        n = self._group(base, levels)
        small = int(rows_of_small(self._room.sizes, n, self._min_rows))
        if small > self._max_suppressed:
            if self._kept.takes(n, base):
                self._kept.keep(self._coarser(base, n), levels)
            return NodeScore(levels=levels, holds=False, loss=inf, suppressed=small)
        grouped = self._coarser(base, n)
        if self._kept.takes(n, base):
            self._kept.keep(grouped, levels)
        classes = self._classes(grouped, levels)
        released, suppressed = self._released(classes)
        if released is None:
            return NodeScore(levels=levels, holds=False, loss=inf, suppressed=suppressed)
        found = self._node_classes(grouped, classes, levels, released, suppressed)
        return NodeScore(
            levels=levels,
            holds=True,
            loss=self._scorer.loss(found),
            suppressed=suppressed,
            above=self._scorer.bound_above(found),
        )

    def bound(self, levels: Levels) -> float:
        """Return a loss that no node at or above this one falls below."""
        return self._scorer.bound(levels)

    def bounds(self, nodes: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the bound of each of many nodes."""
        return self._scorer.bounds(nodes)

    def chosen(self, levels: Levels) -> ChosenNode:
        """Return the released classes of a node that holds."""
        n = self._group(self._raw, levels)
        grouped = self._coarser(self._raw, n)
        counted = self._classes(grouped, levels)
        released, suppressed = self._released(counted)
        if released is None:
            raise GuaranteeNotMetError(f"Levels {levels} don't keep the guarantees.")
        number = np.full(n, -1, dtype=np.int32)
        number[released] = np.arange(len(released), dtype=np.int32)
        classes = self._node_classes(grouped, counted, levels, released, suppressed)
        return ChosenNode(
            levels=levels,
            cell_of_item=number[self._room.group[: len(self._raw.sizes)]],
            nodes=classes.nodes,
            sizes=classes.sizes,
        )

    def none_holds(self, found: Found) -> GuaranteeNotMetError:
        """Return the error of a search that met no node that holds."""
        levels = tuple(column.n_levels - 1 for column in self._columns)
        if found.closest is not None:
            levels = found.closest.levels
        classes = self._classes(self._grouped_from(self._raw, levels), levels)
        missed = [
            f"{it.guarantee!r} reaches {it.achieved:g}, and {it.rows_failing:,} of {it.rows:,} "
            "rows miss it"
            for it in (each.judge(classes) for each in self._guarantees)
            if not it.holds
        ]
        at = ", ".join(
            f"{column.name!r} {level} of {column.n_levels - 1}"
            for column, level in zip(self._columns, levels, strict=True)
        )
        which = "No generalization" if found.optimal else "None of the judged generalizations"
        return GuaranteeNotMetError(
            f"{which} keeps the guarantees. The closest has the levels {at}: there "
            f"{'; '.join(missed)}. At most {self._max_suppressed:,} rows may be suppressed.",
            hint="Ask for less, allow more suppression, or give more rows."
            if found.optimal
            else "Ask for less, or let the search judge more nodes.",
        )

    def _group(self, base: GroupedRows, levels: Levels) -> int:
        from halfmask.kernels.lattice.grouping import group_items  # noqa: PLC0415 # compiles late

        wanted = np.array(levels, dtype=np.int64)
        return int(group_items(base.codes, base.sizes, self._tables, wanted, self._room))

    def _grouped_from(self, base: GroupedRows, levels: Levels) -> GroupedRows:
        """Return a node's classes, grouped from some finer classes."""
        return self._coarser(base, self._group(base, levels))

    def _coarser(self, base: GroupedRows, n: int) -> GroupedRows:
        """Return the groups that were found last, of some classes."""
        from halfmask.kernels.lattice.grouping import codes_of_groups  # noqa: PLC0415 # compiles late

        room, n_items = self._room, len(base.sizes)
        codes = np.empty((len(base.codes), n), dtype=base.codes.dtype)
        codes_of_groups(base.codes, room.first[:n], codes)
        sizes = room.sizes[:n].copy()
        if self._sizes_alone:
            return GroupedRows(codes=codes, sizes=sizes, counted=Classes(sizes))
        finer = (base, room.group[:n_items].copy())
        return GroupedRows(codes=codes, sizes=sizes, finer=finer)

    def _classes(self, grouped: GroupedRows, levels: Levels) -> Classes:
        """Return the classes of a node, with nodes and people where a guarantee reads them."""
        classes = grouped.classes()
        reads_nodes = any(each.needs_written for each in self._guarantees)
        if not reads_nodes and self._people is None:
            return classes
        nodes = self._nodes(grouped, levels, np.arange(classes.n_classes))
        if reads_nodes:
            classes = replace(classes, written=nodes.astype(np.int64))
        if self._people is None:
            return classes
        fitting, outside = self._people.count(levels, nodes)
        return replace(classes, population=fitting, outside=outside)

    def _nodes(
        self, grouped: GroupedRows, levels: Levels, groups: NDArray[np.int64]
    ) -> NDArray[np.int32]:
        from halfmask.kernels.lattice.grouping import nodes_of_groups  # noqa: PLC0415 # compiles late

        nodes = np.empty((len(groups), len(self._columns)), dtype=np.int32)
        wanted = np.array(levels, dtype=np.int64)
        nodes_of_groups(grouped.codes, groups.astype(np.int32), self._tables, wanted, nodes)
        return nodes

    def _released(self, classes: Classes) -> tuple[NDArray[np.int64] | None, int]:
        return released_classes(classes, self._guarantees, max_suppressed=self._max_suppressed)

    def _node_classes(
        self,
        grouped: GroupedRows,
        classes: Classes,
        levels: Levels,
        released: NDArray[np.int64],
        suppressed: int,
    ) -> NodeClasses:
        nodes = self._nodes(grouped, levels, released)
        labels = None
        if self._label is not None:
            histogram = classes.histogram(self._label)
            labels = np.zeros((histogram.n_classes, histogram.n_values), dtype=np.int64)
            labels[histogram.class_of_entry, histogram.codes] = histogram.counts
            labels = labels[released]
        people = classes.population
        return NodeClasses(
            levels=levels,
            sizes=grouped.sizes[released],
            nodes=nodes,
            suppressed=suppressed,
            labels=labels,
            population=None if people is None else people[released],
        )


def released_classes(
    classes: Classes, guarantees: Sequence[Guarantee], *, max_suppressed: int
) -> tuple[NDArray[np.int64] | None, int]:
    """Return the classes that are released, and how many rows are not.

    ``None`` if more rows miss a guarantee than may be suppressed.
    """
    of_table = tuple(each for each in guarantees if each.of_table)
    # Who fits suppressed rows alone fits nothing: that moves a least probability of presence.
    moved = tuple(each.relative or each.needs_population for each in guarantees)
    alone = [(each, it) for each, it in zip(guarantees, moved, strict=True) if not each.of_table]
    relative = tuple(each for each, is_moved in alone if is_moved)
    absolute = tuple(each for each, is_moved in alone if not is_moved)
    left, current, suppressed = np.arange(classes.n_classes), classes, 0
    failing = _failing(current, absolute)
    while True:
        suppressed += int(current.sizes[failing].sum())
        if suppressed > max_suppressed or len(failing) == len(left):
            return None, suppressed
        left = np.delete(left, failing)
        if not relative and not of_table:
            return left, suppressed
        if len(failing):
            current = current.without(failing)
        failing = _failing(current, relative)
        if not len(failing):
            missed = _failing(current, of_table)
            if not len(missed):
                return left, suppressed
            failing = smallest_enough(current, of_table, max_rows=max_suppressed - suppressed)
            if not len(failing):
                return None, suppressed + int(current.sizes[missed].sum())


def _failing(classes: Classes, guarantees: Sequence[Guarantee]) -> NDArray[np.int64]:
    missed = [guarantee.judge(classes).failing for guarantee in guarantees]
    if len(missed) == 1:
        return missed[0]
    return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *missed]))
