"""Sets of two or three items: of how many distinct owners each occurs, and what may stay."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit_no_nrt
from halfmask.kernels.text.json_tokens import SPREAD

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["count_sets", "prune_sets"]

_FOLD = np.uint64(29)


@njit_no_nrt
def _slot_of(key: int, keys: NDArray[np.int64]) -> np.int64:
    """Return where a key stands, or the free place where it would."""
    mixed = np.uint64(key) * SPREAD
    mixed ^= mixed >> _FOLD
    at = np.int64(mixed & np.uint64(len(keys) - 1))
    while keys[at] >= 0 and keys[at] != key:
        at = (at + 1) & (len(keys) - 1)
    return at


@njit_no_nrt
def _enter(
    key: int,
    owner: int,
    keys: NDArray[np.int64],
    counts: NDArray[np.int32],
    last: NDArray[np.int32],
) -> int:
    """Count a set of an owner; return how many sets are new by it."""
    at = _slot_of(key, keys)
    new = int(keys[at] < 0)
    keys[at] = key
    # An owner's baskets stand together, so that the last one is enough to count each once.
    if owner >= 0 and last[at] != owner:
        counts[at] += 1
        last[at] = owner
    return new


@njit_no_nrt
def count_sets(
    offsets: NDArray[np.int64],
    items: NDArray[np.int64],
    owners: NDArray[np.int64],
    size: int,
    width: int,
    keys: NDArray[np.int64],
    counts: NDArray[np.int32],
    last: NDArray[np.int32],
) -> int:
    """Count the distinct owners of each pair, or each triple, of items that a basket has.

    Parameters
    ----------
    offsets
        Where each basket begins in `items`, and where the last one ends.
    items
        Of each basket ascending and different, below `width`.
    owners
        Of each basket; baskets of one owner stand together. -1: nobody known, not counted.
    size
        Of the sets: 2 or 3.
    width
        Above all items; its cube, or square, fits into 63 bits.
    keys
        Written: an open hash table, a power of two in length, filled with -1. A pair's key is
        ``a * width + b``, a triple's ``(a * width + b) * width + c``.
    counts, last
        Written: filled with 0 and -1; how many owners, and the last one.

    Returns
    -------
    int
        How many sets there are; -1 if the table is too small, and its content useless.
    """
    used = 0
    for basket in range(len(owners)):
        owner, stop = owners[basket], offsets[basket + 1]
        for i in range(offsets[basket], stop):
            for j in range(i + 1, stop):
                pair = items[i] * width + items[j]
                if size == 2:
                    used += _enter(pair, owner, keys, counts, last)
                else:
                    for h in range(j + 1, stop):
                        used += _enter(pair * width + items[h], owner, keys, counts, last)
                        if 2 * used > len(keys):
                            return -1
                if 2 * used > len(keys):
                    return -1
    return used


@njit_no_nrt
def _fits(
    item: int,
    chosen: NDArray[np.int64],
    count: int,
    k: int,
    width: int,
    pair_keys: NDArray[np.int64],
    pair_counts: NDArray[np.int32],
    triple_keys: NDArray[np.int64],
    triple_counts: NDArray[np.int32],
) -> bool:
    """Return whether all sets of an item with those that were chosen have k owners."""
    for a in range(count):
        if pair_counts[_slot_of(chosen[a] * width + item, pair_keys)] < k:
            return False
    if len(triple_keys) > 0:
        for a in range(count):
            for b in range(a + 1, count):
                key = (chosen[a] * width + chosen[b]) * width + item
                if triple_counts[_slot_of(key, triple_keys)] < k:
                    return False
    return True


@njit_no_nrt
def prune_sets(
    offsets: NDArray[np.int64],
    items: NDArray[np.int64],
    k: int,
    width: int,
    pair_keys: NDArray[np.int64],
    pair_counts: NDArray[np.int32],
    triple_keys: NDArray[np.int64],
    triple_counts: NDArray[np.int32],
    chosen: NDArray[np.int64],
    keep: NDArray[np.bool_],
) -> int:
    """Choose items of each basket so that no set of them has fewer than k owners.

    Parameters
    ----------
    offsets, items, width
        As of `count_sets`. Items are taken in their order: those that shall stay come first.
    k
        How many owners a set must have.
    pair_keys, pair_counts, triple_keys, triple_counts
        What `count_sets` wrote; those of triples are empty where they don't matter.
    chosen
        Room for the items of the longest basket.
    keep
        Written: for each of `items`, whether it stays.

    Returns
    -------
    int
        How many items don't stay.
    """
    removed = 0
    for basket in range(len(offsets) - 1):
        count = 0
        for i in range(offsets[basket], offsets[basket + 1]):
            keep[i] = _fits(
                items[i], chosen, count, k, width,
                pair_keys, pair_counts, triple_keys, triple_counts,
            )  # fmt: skip
            if keep[i]:
                chosen[count] = items[i]
                count += 1
            else:
                removed += 1
    return removed
