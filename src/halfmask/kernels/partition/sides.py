"""Whether both sides of a cut keep every rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit_no_nrt
from halfmask.kernels.partition.criteria import DISTINCT_L, Int, Rules, rules_hold
from halfmask.kernels.partition.records import APART

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.kernels.partition.records import RecordColumns, Room

__all__ = ["may_cut", "sides_hold", "top_level"]


@njit_no_nrt
def top_level(columns: RecordColumns, feature: Int, low: Int, high: Int) -> Int:
    """Return the level at which the codes from low to high come together: where to cut."""
    if not columns.tiered[feature]:
        return 0
    base = columns.offsets[feature]
    level = 0
    for code in range(low, high):
        # Missing is no part of the tree: where it parts from the values says nothing of them.
        if columns.boundaries[base + code] != APART:
            level = max(level, columns.boundaries[base + code])
    return level


@njit_no_nrt
def may_cut(columns: RecordColumns, feature: Int, code: Int, level: Int) -> bool:
    """Return whether a column may be cut behind a code, where its codes come together at level."""
    return bool(
        not columns.tiered[feature] or columns.boundaries[columns.offsets[feature] + code] >= level
    )


@njit_no_nrt
def sides_hold(
    lanes: NDArray[np.uint8],
    start: Int,
    stop: Int,
    feature: Int,
    cut: Int,
    columns: RecordColumns,
    rules: Rules,
    room: Room,
) -> bool:
    """Judge both sides of a cut by the rules."""
    if not _sides_differ(lanes, start, stop, feature, cut, columns, rules, room.counts):
        return False
    if _only_distinct(rules):
        return True
    left = _count_sides(lanes, start, stop, feature, cut, columns, rules, room.counts)
    counts, scratch = room.counts, room.scratch
    return rules_hold(counts, 0, left, rules, scratch, True) and rules_hold(
        counts,
        1,
        stop - start - left,
        rules,
        scratch,
        True,
    )


@njit_no_nrt
def _sides_differ(
    lanes: NDArray[np.uint8],
    start: Int,
    stop: Int,
    feature: Int,
    cut: Int,
    columns: RecordColumns,
    rules: Rules,
    counts: NDArray[np.int64],
) -> bool:
    """Return whether both sides of a cut keep every rule of distinct l-diversity.

    Rows are read until both sides have shown enough different values, which is soon. A value was
    seen on a side if the place for it holds this question's own number: nothing has to be cleared.
    """
    n_columns, last = columns.scale.shape[0], counts.shape[1] - 1
    for r in range(rules.kinds.shape[0]):
        if rules.kinds[r] != DISTINCT_L:
            continue
        counts[2, last] += 1
        question = counts[2, last]
        lane, base = n_columns + rules.columns[r], rules.offsets[rules.columns[r]]
        lacking_left, lacking_right = rules.thresholds[r, 0], rules.thresholds[r, 0]
        for i in range(start, stop):
            right = lanes[i, feature] > cut
            place = 3 if right else 2
            value = base + np.int64(lanes[i, lane])
            if counts[place, value] != question:
                counts[place, value] = question
                if right:
                    lacking_right -= 1
                else:
                    lacking_left -= 1
                if lacking_left <= 0 and lacking_right <= 0:
                    break
        if lacking_left > 0 or lacking_right > 0:
            return False
    return True


@njit_no_nrt
def _only_distinct(rules: Rules) -> bool:
    others: Int = 0
    for r in range(rules.kinds.shape[0]):
        others += np.int64(rules.kinds[r] != DISTINCT_L)
    return others == 0


@njit_no_nrt
def _count_sides(
    lanes: NDArray[np.uint8],
    start: Int,
    stop: Int,
    feature: Int,
    cut: Int,
    columns: RecordColumns,
    rules: Rules,
    counts: NDArray[np.int64],
) -> Int:
    """Count the sensitive values on both sides of a cut; return how many rows go left."""
    n_columns, offsets = columns.scale.shape[0], rules.offsets
    # Columns behind the last one that a rule of counts judges, such as persons, aren't counted.
    judged: Int = 0
    for r in range(rules.kinds.shape[0]):
        if rules.kinds[r] != DISTINCT_L:
            judged = max(judged, rules.columns[r] + 1)
    for side in range(2):
        for value in range(offsets[judged]):
            counts[side, value] = 0
    left: Int = 0
    for i in range(start, stop):
        right = np.int64(lanes[i, feature] > cut)
        left += 1 - right
        for s in range(judged):
            counts[right, offsets[s] + lanes[i, n_columns + s]] += 1
    return left
