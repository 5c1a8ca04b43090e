"""Repairs of rare rows: for each row in turn, the cheapest cells to make missing.

A repaired row agrees with more rows than before, so it adds to the counts of those that come after
it. What it adds is kept in a hash table: for each set of columns on which rows are still compared,
how many repaired rows have a combination of values on it, less how many had it before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from halfmask.kernels.compiling import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Rare", "cheapest_repairs"]

#: The hash table has at most this share of its slots in use.
_LOAD = 0.5
_FIRST_SLOTS = 1024


class Rare(NamedTuple):
    """Combinations of values that too few rows agree with.

    Attributes
    ----------
    codes
        The values, 0 for missing: (combinations, columns).
    present
        Which columns aren't missing, as bits.
    rows
        How many rows have the combination.
    counts
        How many rows of the table agree with it if the columns of each repair are missing, at
        least up to k: (combinations, repairs).
    last
        The first repair that reaches k by these counts.
    tried
        How many repairs before it are tried again, for rows that were repaired meanwhile.
    """

    codes: NDArray[np.int64]
    present: NDArray[np.int64]
    rows: NDArray[np.int64]
    counts: NDArray[np.int32]
    last: NDArray[np.int64]
    tried: NDArray[np.int64]


@njit()
def cheapest_repairs(
    rare: Rare, repairs: NDArray[np.int64], compared: NDArray[np.int64], k: int
) -> NDArray[np.int64]:
    """Choose a repair for each row, in the order of the combinations.

    Parameters
    ----------
    rare
        The combinations.
    repairs
        The columns that each repair makes missing, as bits; the cheapest first, and the first is
        none.
    compared
        The sets of columns on which rows are compared again, as bits: what a combination has
        present without the columns of a repair that is tried.
    k
        How many rows must agree with each row.

    Returns
    -------
    ndarray
        The columns to make missing for each row: those of the first combination, then the next.
    """
    n_columns = rare.codes.shape[1]
    found = np.zeros(rare.rows.sum(), dtype=np.int64)
    # The patterns of present columns that repaired rows have on each compared set.
    patterns = np.zeros((len(compared), 1 << n_columns), dtype=np.int16)
    n_patterns = np.zeros(len(compared), dtype=np.int64)
    set_of = np.full(1 << n_columns, -1, dtype=np.int64)
    for i in range(len(compared)):
        set_of[compared[i]] = i
    slots = np.full((_FIRST_SLOTS, 4), -1, dtype=np.int32)  # set, pattern, combination, net
    used = 0
    row = 0
    for own in range(len(rare.rows)):
        for _ in range(rare.rows[own]):
            repair = _first_repair(rare, own, repairs, set_of, patterns, n_patterns, slots, k)
            found[row] = repair
            row += 1
            if repair == 0:
                continue
            before, after = rare.present[own], rare.present[own] & ~repair
            for i in range(len(compared)):
                old, new = before & compared[i], after & compared[i]
                if old == new:
                    continue
                if used + 2 > _LOAD * len(slots):
                    slots = _larger(slots, rare.codes)
                used += _add(slots, rare.codes, i, old, own, -1)
                used += _add(slots, rare.codes, i, new, own, 1)
                _note(patterns, n_patterns, i, old)
                _note(patterns, n_patterns, i, new)
    return found


@njit()
def _first_repair(
    rare: Rare,
    own: int,
    repairs: NDArray[np.int64],
    set_of: NDArray[np.int64],
    patterns: NDArray[np.int16],
    n_patterns: NDArray[np.int64],
    slots: NDArray[np.int32],
    k: int,
) -> int:
    """Return the cheapest repair with which k rows agree with a row."""
    present = rare.present[own]
    for e in range(rare.tried[own]):
        if repairs[e] & ~present:
            continue  # it names a cell that is missing already: a cheaper repair does the same
        i = set_of[present & ~repairs[e]]
        count = np.int64(rare.counts[own, e])
        for each in range(n_patterns[i]):
            slot = _slot_of(slots, rare.codes, i, patterns[i, each], own)
            if slots[slot, 0] >= 0:
                count += slots[slot, 3]
        if count >= k:
            return int(repairs[e])
    return int(repairs[rare.last[own]])


@njit()
def _note(patterns: NDArray[np.int16], n_patterns: NDArray[np.int64], i: int, pattern: int) -> None:
    for each in range(n_patterns[i]):
        if patterns[i, each] == pattern:
            return
    patterns[i, n_patterns[i]] = pattern
    n_patterns[i] += 1


@njit()
def _slot_of(
    slots: NDArray[np.int32], codes: NDArray[np.int64], i: int, pattern: int, own: int
) -> int:
    """Return the slot of a combination's values on some columns, or the free one for it."""
    key = np.uint64(i) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(pattern)
    for j in range(codes.shape[1]):
        if pattern >> j & 1:
            key = (key ^ (key >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
            key += np.uint64(codes[own, j])
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    slot = np.int64((key ^ (key >> np.uint64(31))) & np.uint64(len(slots) - 1))
    while slots[slot, 0] >= 0:
        if slots[slot, 0] == i and slots[slot, 1] == pattern:
            same = True
            for j in range(codes.shape[1]):
                if pattern >> j & 1 and codes[slots[slot, 2], j] != codes[own, j]:
                    same = False
                    break
            if same:
                break
        slot = (slot + 1) & (len(slots) - 1)
    return int(slot)


@njit()
def _add(
    slots: NDArray[np.int32],
    codes: NDArray[np.int64],
    i: int,
    pattern: int,
    own: int,
    change: int,
) -> int:
    """Change the net count of a combination's values on some columns; return the slots taken."""
    slot = _slot_of(slots, codes, i, pattern, own)
    if slots[slot, 0] >= 0:
        slots[slot, 3] += change
        return 0
    slots[slot, 0], slots[slot, 1], slots[slot, 2], slots[slot, 3] = i, pattern, own, change
    return 1


@njit()
def _larger(slots: NDArray[np.int32], codes: NDArray[np.int64]) -> NDArray[np.int32]:
    larger = np.full((2 * len(slots), 4), -1, dtype=np.int32)
    for old in range(len(slots)):
        if slots[old, 0] >= 0:
            new = _slot_of(larger, codes, slots[old, 0], slots[old, 1], slots[old, 2])
            larger[new] = slots[old]
    return larger
