"""k-m and distinct: each set of few values is shown by at least k entities, or by none.

M. Terrovitis, N. Mamoulis, P. Kalnis, "Privacy-preserving anonymization of set-valued data" (VLDB
2008), with values left out where they occur, rather than everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import DataError
from halfmask.events.block._grouping import number_rows
from halfmask.events.block._values import Kind
from halfmask.events.policy._policy_sections import place

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from halfmask.events.policy._stage_sections import GuaranteeSection
    from halfmask.events.stages._cells import Coarser
    from halfmask.events.stages._held import PaneColumn, PaneEvents

_LEAST_TABLE = 1 << 12
#: So that the key of two or three values fits into 63 bits.
_MOST_VALUES = {2: 1 << 31, 3: 1 << 20}


def hold_sets(
    pane: PaneEvents, section: GuaranteeSection, coarser: Mapping[str, Coarser]
) -> tuple[bool, int | None]:
    """Make values coarser, or leave them out, until each set of them has k entities.

    Values of fewer than k entities become coarser, level by level, wherever they occur. What is
    left of them is left out. Then, of sets of two and of three, a session keeps values in the order
    of how many entities have them, each that makes no set of fewer than k with those before it;
    again, until nothing changes.
    """
    path = place(section.paths[0]).place
    column = pane.columns[path]
    # Of distinct entities each event counts by itself, whatever session it is in.
    each = np.arange(len(pane.alive)) if section.kind == "distinct" else pane.session
    unit = np.where(pane.live(column.level), each[column.level.event], -1)
    owners = pane.owners(each)
    changed = path in coarser and _coarsen(column, unit, owners, section.k, coarser[path])
    rows = _Rows.of(column, unit, owners)
    stays = np.ones(len(rows.item), np.bool_)
    least = _keep_single(rows, stays, section.k)
    for size in range(2, (section.m or 1) + 1):
        least = _keep_sets(rows, stays, section.k, size=size)
    left_out = rows.of_slot >= 0
    left_out[left_out] = ~stays[rows.of_slot[left_out]]
    if not left_out.any():
        return changed, least
    match section.fails:
        case "field":
            column.codes = np.where(left_out, -1, column.codes)
        case "element":
            pane.leave_out(column.level, left_out)
        case "event":
            pane.alive[column.level.event[left_out]] = False
        case _:
            held = np.unique(pane.session[column.level.event[left_out]])
            pane.alive &= ~np.isin(pane.session, held)
    return True, least


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Rows:
    """Which values each session, or other unit, shows."""

    unit: NDArray[np.int64]
    item: NDArray[np.int64]
    owner: NDArray[np.int64]
    of_slot: NDArray[np.int64]

    @classmethod
    def of(cls, column: PaneColumn, unit: NDArray[np.int64], owners: NDArray[np.int64]) -> _Rows:
        shown = np.flatnonzero((unit >= 0) & _is_value(column)[column.codes])
        of_slot = np.full(len(unit), -1, np.int64)
        units, items = unit[shown], column.codes[shown]
        if len(shown):
            first, rows = number_rows([units, items])
            of_slot[shown] = rows
            units, items = units[first], items[first]
        return cls(unit=units, item=items, owner=owners[units], of_slot=of_slot)

    def support(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many entities each item has in some rows."""
        count = int(self.item.max(initial=-1)) + 1
        known = rows[self.owner[rows] >= 0]
        if not len(known):
            return np.zeros(count, np.int64)
        first, _ = number_rows([self.item[known], self.owner[known]])
        return np.bincount(self.item[known[first]], minlength=count)


def _is_value(column: PaneColumn) -> NDArray[np.bool_]:
    """Return which tokens are values; null is one, for it is seen where others have nothing."""
    return np.array([*(kind > Kind.MISSING for kind, _ in column.tokens), False], np.bool_)


def _coarsen(
    column: PaneColumn, unit: NDArray[np.int64], owners: NDArray[np.int64], k: int, coarser: Coarser
) -> bool:
    """Make values of fewer than k entities coarser, wherever they occur; return whether any is."""
    before = column.codes
    count = len(column.tokens)
    labels = [coarser.labels(token) for token in column.tokens]
    now = np.arange(count)
    level = np.zeros(count, np.int64)
    while True:
        column.codes = np.append(now, -1)[before]
        rows = _Rows.of(column, unit, owners)
        support = rows.support(np.arange(len(rows.item)))
        shown = np.zeros(len(column.tokens) + 1, np.bool_)
        shown[rows.item] = True
        few = np.zeros(len(shown), np.bool_)
        few[: len(support)] = support < k
        raised = [
            number
            for number in np.flatnonzero((few & shown)[now]).tolist()
            if level[number] < len(labels[number])
        ]
        if not raised:
            return bool((column.codes != before).any())
        for number in raised:
            now[number] = column.number(labels[number][level[number]])
            level[number] += 1


def _keep_single(rows: _Rows, stays: NDArray[np.bool_], k: int) -> int | None:
    """Leave out values of fewer than k entities; return of how many the rarest other is."""
    used = np.flatnonzero(stays)
    if not len(used):
        return None
    support = rows.support(used)[rows.item[used]]
    stays[used] = support >= k
    return int(support[support >= k].min()) if stays.any() else None


def _keep_sets(rows: _Rows, stays: NDArray[np.bool_], k: int, *, size: int) -> int | None:
    """Leave values out of sessions until each pair, or triple, that stays has k entities."""
    from halfmask.kernels.text.item_sets import prune_sets  # noqa: PLC0415 # numba is slow to import

    while True:
        # A value may have become rarer where another left its sessions.
        least = _keep_single(rows, stays, k)
        used = np.flatnonzero(stays)
        if not len(used):
            return None
        support = rows.support(used)
        # The values of most entities come first, and stay.
        rank = np.empty(len(support), np.int64)
        rank[np.lexsort((np.arange(len(support)), -support))] = np.arange(len(support))
        order = used[np.lexsort((rank[rows.item[used]], rows.unit[used], rows.owner[used]))]
        items = rank[rows.item[order]]
        width = int(items.max()) + 1
        if width > _MOST_VALUES[size]:
            raise DataError(
                f"Sets of {size} of {width} different values in one window are too many to count.",
                hint="Make the windows shorter, or the values coarser.",
            )
        starts = np.flatnonzero(np.diff(rows.unit[order], prepend=-1))
        offsets = np.append(starts, len(order))
        baskets = offsets, items, rows.owner[order][starts]
        pairs = _counted(*baskets, size=2, width=width)
        triples = _counted(*baskets, size=3, width=width) if size == 3 else _NO_TABLE
        keep = np.ones(len(items), np.bool_)
        room = np.empty(int(np.diff(offsets).max()), np.int64)
        if not prune_sets(offsets, items, k, width, *pairs, *triples, room, keep):
            found = [
                int(it[keys >= 0].min(initial=len(rows.item))) for keys, it in (pairs, triples)
            ]
            return min(found if least is None else [least, *found])
        stays[order[~keep]] = False


_NO_TABLE = np.zeros(0, np.int64), np.zeros(0, np.int32)


def _counted(
    offsets: NDArray[np.int64],
    items: NDArray[np.int64],
    owners: NDArray[np.int64],
    *,
    size: int,
    width: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    from halfmask.kernels.text.item_sets import count_sets  # noqa: PLC0415 # as above

    length = _LEAST_TABLE
    while True:
        keys = np.full(length, -1, np.int64)
        counts, last = np.zeros(length, np.int32), np.full(length, -1, np.int32)
        if count_sets(offsets, items, owners, size, width, keys, counts, last) >= 0:
            return keys, counts
        length *= 4
