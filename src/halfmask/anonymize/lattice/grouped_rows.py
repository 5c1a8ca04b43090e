"""The rows of a table grouped by the nodes of a level of each column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Self

import numpy as np

from halfmask.guarantees import Classes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from halfmask.anonymize.lattice._lattice import LatticeColumn, Levels
    from halfmask.kernels.lattice.grouping import NodeTables


@dataclass(slots=True, kw_only=True, eq=False)
class GroupedRows:
    """Classes of rows, each with the codes of one of its rows."""

    codes: NDArray[np.integer]
    sizes: NDArray[np.int64]
    counted: Classes | None = None
    finer: tuple[GroupedRows, NDArray[np.int32]] | None = None

    def __repr__(self) -> str:
        return f"GroupedRows({len(self.sizes)} classes)"

    @classmethod
    def of_rows(
        cls,
        codes: Sequence[NDArray[np.integer]],
        columns: Sequence[LatticeColumn],
        sensitive: Mapping[str, tuple[NDArray[np.int64], int]],
        *,
        person_of_row: NDArray[np.int64] | None = None,
    ) -> tuple[Self, NDArray[np.int32]]:
        """Group rows by all their codes; return the classes, and the class of each row."""
        from halfmask.kernels.lattice.grouping import group_items, group_room  # noqa: PLC0415

        widest = max(len(column.rows) for column in columns)
        stacked = np.stack(codes, dtype=np.min_scalar_type(widest), casting="unsafe")
        room = group_room(stacked.shape[1])
        lowest = np.zeros(len(columns), dtype=np.int64)
        ones = np.ones(stacked.shape[1], dtype=np.int64)
        n = group_items(stacked, ones, node_tables(columns), lowest, room)
        counted = Classes.from_codes(room.group, n, sensitive, person_of_row=person_of_row)
        first = np.ascontiguousarray(stacked[:, room.first[:n]])
        return cls(codes=first, sizes=counted.sizes, counted=counted), room.group

    @property
    def has_sizes_alone(self) -> bool:
        """Whether nothing but rows is counted in the classes."""
        counted = self.classes()
        rest = (getattr(counted, each.name) for each in fields(counted) if each.name != "sizes")
        return all(each is None or (isinstance(each, Mapping) and not each) for each in rest)

    def classes(self) -> Classes:
        """Return the classes with their histograms."""
        if self.counted is None:
            finer, into = self.finer  # type: ignore[misc] # one of both is there
            self.counted = finer.classes().coarsened(into, len(self.sizes))
            self.finer = None
        return self.counted


def node_tables(columns: Sequence[LatticeColumn]) -> NodeTables:
    """Return what each level of each column makes of codes, as the compiled loops read it."""
    from halfmask.kernels.lattice.grouping import NodeTables  # noqa: PLC0415 # compiles late

    shape = (len(columns), max(column.n_levels for column in columns))
    starts, widths = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    tables, end = [], 0
    for place, column in enumerate(columns):
        for level, nodes in enumerate(column.nodes):
            starts[place, level], widths[place, level] = end, int(nodes.max(initial=0)) + 1
            tables.append(nodes.astype(np.int32))
            end += len(nodes)
    return NodeTables(np.concatenate(tables), starts, widths)


#: How many judged nodes are kept.
JUDGED = 256
#: How many combinations of levels of some columns are kept, all other columns being raw.
STARTS = 64
#: Classes that are kept in all, as a multiple of the raw ones, or as this number if that is more.
CLASSES_RATIO, CLASSES = 4, 4_000_000
#: So many nodes are grouped from the raw rows before it is looked which columns to start with.
PATIENCE = 8


class KeptNodes:
    """Remembers groupings that are much smaller than the raw rows.

    Two kinds: nodes that were judged, and *starts*: a node with the levels of a few columns, which
    join most rows, the others being raw. Nodes share starts, so that few are grouped from all rows.
    """

    def __init__(
        self,
        raw: GroupedRows,
        columns: Sequence[LatticeColumn],
        *,
        group: Callable[[GroupedRows, Levels], GroupedRows],
    ) -> None:
        self._raw, self._group = raw, group
        self._heights = tuple(column.n_levels - 1 for column in columns)
        self._levels = np.zeros((JUDGED, len(columns)), dtype=np.int64)
        self._sizes = np.full(JUDGED, np.iinfo(np.int64).max, dtype=np.int64)
        self._judged: list[GroupedRows | None] = [None] * JUDGED
        self._next = 0
        self._from_raw = 0
        self._start_columns: frozenset[int] | None = None
        self._starts: dict[Levels, GroupedRows] = {}
        self._room_left = max(CLASSES_RATIO * len(raw.sizes), CLASSES)

    def __repr__(self) -> str:
        return f"KeptNodes({len(self._raw.sizes)} combinations)"

    def below(self, levels: Levels) -> GroupedRows:
        """Return a grouping with few classes that a node can be grouped from."""
        fits = np.all(self._levels <= np.array(levels), axis=1)
        best = int(np.argmin(np.where(fits, self._sizes, np.iinfo(np.int64).max)))
        found = self._judged[best] if fits[best] else None
        if found is not None and 4 * len(found.sizes) <= len(self._raw.sizes):
            return found
        start = self._start_of(levels)
        return start if found is None or len(start.sizes) < len(found.sizes) else found

    def takes(self, n: int, base: GroupedRows) -> bool:
        """Return whether a judged node is kept that has so many classes."""
        oldest = self._judged[self._next]
        freed = 0 if oldest is None else len(oldest.sizes)
        return 2 * n <= len(base.sizes) and n <= self._room_left + freed

    def keep(self, grouped: GroupedRows, levels: Levels) -> None:
        """Keep the grouping of a judged node, in the place of the oldest."""
        oldest = self._judged[self._next]
        self._room_left += 0 if oldest is None else len(oldest.sizes)
        self._room_left -= len(grouped.sizes)
        self._levels[self._next] = levels
        self._sizes[self._next] = len(grouped.sizes)
        self._judged[self._next] = grouped
        self._next = (self._next + 1) % JUDGED

    def _start_of(self, levels: Levels) -> GroupedRows:
        """Return the grouping by the start of a node; the raw rows where that isn't worth it."""
        self._from_raw += 1
        if self._from_raw <= PATIENCE:
            return self._raw
        if self._start_columns is None:
            self._start_columns = self._that_join_most()
        start = tuple(
            level if place in self._start_columns else 0 for place, level in enumerate(levels)
        )
        if start not in self._starts:
            finer = (
                each
                for known, each in self._starts.items()
                if all(own <= its for own, its in zip(known, start, strict=True))
            )
            fewest = min(finer, key=lambda each: len(each.sizes), default=self._raw)
            grouped = self._group(fewest, start)
            n = len(grouped.sizes)
            is_small = 3 * n <= 2 * len(self._raw.sizes) and n <= self._room_left
            self._starts[start] = grouped if is_small else self._raw
            self._room_left -= n if is_small else 0
        return self._starts[start]

    def _that_join_most(self) -> frozenset[int]:
        """Return the columns that, each at its top, leave the fewest classes."""
        tops = [
            tuple(height if place == own else 0 for own in range(len(self._heights)))
            for place, height in enumerate(self._heights)
        ]
        left = [len(self._group(self._raw, top).sizes) for top in tops]
        chosen, product = [], 1
        for place in np.argsort(left, kind="stable").tolist():
            if product * (self._heights[place] + 1) <= STARTS:
                chosen.append(place)
                product *= self._heights[place] + 1
        return frozenset(chosen)
