"""Rare sets of items: found by projecting rows on one item after the other, and hit by few items.

The rows that have all items of a prefix are known by the positions of its last item. What follows
these positions in their rows is the prefix's projection: each item in it makes a set of one item
more (Han, Pei and Yin 2000, without their tree).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["hit_sets", "rare_sets"]


@njit()
def rare_sets(
    offsets: NDArray[np.int64],
    items: NDArray[np.int32],
    n_items: int,
    size: int,
    k: int,
    most: int,
) -> NDArray[np.int32]:
    """Find the sets of so many items that some rows have, but fewer than k.

    Parameters
    ----------
    offsets
        Where each row begins in `items`, and where the last one ends.
    items
        Of each row ascending and different, below `n_items`.
    n_items
        How many items there are.
    size
        Of the sets, at least 2.
    k
        How many rows a set must have.
    most
        How many sets are found; a search that finds so many stops there.

    Returns
    -------
    ndarray
        One set in each row.
    """
    ends = np.repeat(offsets[1:], np.diff(offsets))
    # What follows the prefix of each depth: how often each item, which, and at which positions.
    counts = np.zeros((size, n_items), dtype=np.int64)
    seen = np.empty((size, n_items), dtype=np.int32)
    n_seen = np.zeros(size, dtype=np.int64)
    cursor = np.zeros(size, dtype=np.int64)
    starts = np.zeros((size, n_items), dtype=np.int64)
    positions = np.empty((size - 1, len(items)), dtype=np.int64)
    found = np.empty((1024, size), dtype=np.int32)
    n_found = 0
    depth = 0
    for i in range(len(items)):
        counts[0, items[i]] += 1
    n_seen[0] = n_items
    for item in range(n_items):
        seen[0, item] = item
        if item:
            starts[0, item] = starts[0, item - 1] + counts[0, item - 1]
    order = np.argsort(items, kind="mergesort")
    for i in range(len(items)):
        positions[0, i] = order[i]
    chosen = np.empty(size, dtype=np.int32)
    while depth >= 0:
        if cursor[depth] == n_seen[depth]:
            counts[depth, seen[depth, : n_seen[depth]]] = 0
            depth -= 1
            continue
        item = seen[depth, cursor[depth]]
        cursor[depth] += 1
        chosen[depth] = item
        first = starts[depth, item]
        own = positions[depth, first : first + counts[depth, item]]
        depth += 1
        n_seen[depth] = _project(own, ends, items, counts[depth], seen[depth])
        if depth < size - 1:
            _place(
                own, ends, items, counts[depth], seen[depth, : n_seen[depth]], starts[depth],
                positions[depth],
            )  # fmt: skip
            cursor[depth] = 0
            continue
        for last in seen[depth, : n_seen[depth]]:
            if counts[depth, last] < k:
                if n_found == most:
                    return found[:n_found]
                if n_found == len(found):
                    found = np.concatenate((found, np.empty_like(found)))
                for at in range(depth):
                    found[n_found, at] = chosen[at]
                found[n_found, depth] = last
                n_found += 1
            counts[depth, last] = 0
        depth -= 1
    return found[:n_found]


@njit()
def _project(
    prefix: NDArray[np.int64],
    ends: NDArray[np.int64],
    items: NDArray[np.int32],
    counts: NDArray[np.int64],
    seen: NDArray[np.int32],
) -> int:
    """Count each item that follows a position in its row; return how many different ones do."""
    n_seen = 0
    for at in prefix:
        for i in range(at + 1, ends[at]):
            item = items[i]
            if counts[item] == 0:
                seen[n_seen] = item
                n_seen += 1
            counts[item] += 1
    return n_seen


@njit()
def _place(
    prefix: NDArray[np.int64],
    ends: NDArray[np.int64],
    items: NDArray[np.int32],
    counts: NDArray[np.int64],
    seen: NDArray[np.int32],
    starts: NDArray[np.int64],
    positions: NDArray[np.int64],
) -> None:
    """Write the positions that follow, item by item, and where those of each item begin."""
    start = 0
    for item in seen:
        starts[item] = start
        start += counts[item]
    for at in prefix:
        for i in range(at + 1, ends[at]):
            positions[starts[items[i]]] = i
            starts[items[i]] += 1
    for item in seen:
        starts[item] -= counts[item]


@njit()
def hit_sets(sets: NDArray[np.int32], costs: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Choose items so that each set has one: the one with most sets by its cost, then the next.

    Parameters
    ----------
    sets
        Items; one set in each row.
    costs
        What it costs to choose each item, above 0.

    Returns
    -------
    ndarray
        For each item whether it is chosen.

    Notes
    -----
    The greedy algorithm for weighted set cover (Chvatal 1979): at most ln(n) + 1 times the least
    cost, n being the most sets that have one item.
    """
    n_items = len(costs)
    left = np.zeros(n_items, dtype=np.int64)
    for one in sets.flat:
        left[one] += 1
    starts = np.zeros(n_items + 1, dtype=np.int64)
    for item in range(n_items):
        starts[item + 1] = starts[item] + left[item]
    of_item = np.empty(sets.size, dtype=np.int64)
    place = starts[:-1].copy()
    for row in range(len(sets)):
        for item in sets[row]:
            of_item[place[item]] = row
            place[item] += 1
    is_hit = np.zeros(len(sets), dtype=np.bool_)
    chosen = np.zeros(n_items, dtype=np.bool_)
    while True:
        best, item = 0.0, -1
        for each in range(n_items):
            if left[each] > best * costs[each]:
                best, item = left[each] / costs[each], each
        if item < 0:
            return chosen
        chosen[item] = True
        for row in of_item[starts[item] : starts[item + 1]]:
            if not is_hit[row]:
                is_hit[row] = True
                for other in sets[row]:
                    left[other] -= 1
