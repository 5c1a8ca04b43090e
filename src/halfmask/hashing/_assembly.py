"""Putting the hashes of slots and bags into rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask.hashing._loops import siphash

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.hashing._bags import BagCounts
    from halfmask.hashing._slots import Coded

#: Rows that are written slot by slot: so many stay in the cache.
_BLOCK = 8192
_SIGN = np.uint64(63)


def dense(
    coded: Sequence[Coded], n_rows: int, *, bits: int, signed: bool
) -> tuple[NDArray[np.uint32], NDArray[np.float32] | None]:
    """Return the indices, and values if there are any, of rows of as many features as slots."""
    indices = np.empty((n_rows, len(coded)), np.uint32)
    loops, mask = siphash(), np.uint64((1 << bits) - 1)
    tables = [None if it.codes is None else _indices(it.hashes, mask) for it in coded]
    for first in range(0, n_rows, _BLOCK):
        rows = slice(first, first + _BLOCK)
        for slot, (table, it) in enumerate(zip(tables, coded, strict=True)):
            if table is None or it.codes is None:
                loops.place_hashes(it.hashes[rows], mask, first, slot, indices)
            else:
                loops.place(table, it.codes[rows], first, slot, indices)
    if not signed and all(it.values is None for it in coded):
        return indices, None
    values = np.ones((n_rows, len(coded)), np.float32)
    for slot, it in enumerate(coded):
        if it.values is not None:
            values[:, slot] = it.values
        if signed:
            signs = _signs(it.hashes)
            values[:, slot] *= signs if it.codes is None else signs[it.codes]
    return indices, values


def flat(
    indices: NDArray[np.uint32],
    values: NDArray[np.float32] | None,
    bags: Sequence[BagCounts],
    *,
    bits: int,
    signed: bool,
) -> dict[str, Any]:
    """Return rows of the flat layout: the dense features of each row, then those of its bags."""
    n_rows, width = indices.shape
    sizes = width + sum((bag.counts for bag in bags), np.zeros(n_rows, np.int64))
    bounds = np.zeros(n_rows + 1, np.int64)
    np.cumsum(sizes, out=bounds[1:])
    found = np.empty(bounds[-1], np.uint32)
    weights = None if values is None and not signed else np.ones(bounds[-1], np.float32)
    starts = bounds[:-1].copy()
    places = starts[:, None] + np.arange(width)
    found[places] = indices
    if weights is not None and values is not None:
        weights[places] = values
    starts += width
    for bag in bags:
        # Where the first of a row's hashes goes, less how many went before it in the bag.
        shift = starts - (np.cumsum(bag.counts) - bag.counts)
        at = np.arange(len(bag.hashes)) + np.repeat(shift, bag.counts)
        found[at] = _indices(bag.hashes, np.uint64((1 << bits) - 1))
        if signed and weights is not None:
            weights[at] = _signs(bag.hashes)
        starts += bag.counts
    return {"indices": found, "indptr": bounds, "values": weights}


def _indices(hashes: NDArray[np.uint64], mask: np.uint64) -> NDArray[np.uint32]:
    return (hashes & mask).astype(np.uint32)


def _signs(hashes: NDArray[np.uint64]) -> NDArray[np.float32]:
    """Return 1, or -1 where the upper bit is set: no index reaches it."""
    return (1.0 - 2.0 * (hashes >> _SIGN)).astype(np.float32)
