"""Which node of a tree of paths a key leads to: one table for the keys of all nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit_unchecked
from halfmask.kernels.text.json_tokens import SPREAD
from halfmask.kernels.text.wide_loads import word_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["child_of", "enter_children"]

_ALL, _ONE, _EIGHT = np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64(1), np.uint64(8)
_BITS, _FOLD = np.uint64(64), np.uint64(32)


@njit_unchecked
def _key_hash(data: NDArray[np.uint8], start: int, length: int, node: int) -> np.uint64:
    """Return a hash of a key's first and last eight bytes, its length and its node."""
    first = np.uint64(0)
    last = np.uint64(0)
    if length > 8:
        first = word_at(data, start)
        last = word_at(data, start + length - 8)
    elif length > 0:
        first = word_at(data, start) & (_ALL >> (_BITS - np.uint64(length) * _EIGHT))
    value = (first ^ (np.uint64(node) << np.uint64(40)) ^ np.uint64(length)) * SPREAD
    value = (value ^ (value >> _FOLD) ^ last) * SPREAD
    return value ^ (value >> _FOLD)


@njit_unchecked
def child_of(
    data: NDArray[np.uint8],
    start: int,
    stop: int,
    node: int,
    parents: NDArray[np.int32],
    spans: NDArray[np.int64],
    names: NDArray[np.uint8],
    table: NDArray[np.int32],
) -> int:
    """Return the child of a node that has a key, or -1.

    Parameters
    ----------
    data, start, stop
        The key in canonical form; eight bytes can be read from any of its bytes on.
    node
        Whose child is looked for.
    parents, spans
        Of each node: its parent, and where its key stands in `names`.
    names
        Keys; eight bytes can be read from any on.
    table
        Nodes by hash, -1 where there is none; its length is a power of two.
    """
    length = stop - start
    mask = np.uint64(len(table) - 1)
    place = _key_hash(data, start, length, node) & mask
    while True:
        child = int(table[place])
        if child < 0:
            return -1
        if parents[child] == node:
            name = spans[child, 0]
            if spans[child, 1] - name == length:
                i = 0
                while i < length and data[start + i] == names[name + i]:
                    i += 1
                if i == length:
                    return child
        place = (place + _ONE) & mask


@njit_unchecked
def enter_children(
    first: int,
    count: int,
    parents: NDArray[np.int32],
    spans: NDArray[np.int64],
    names: NDArray[np.uint8],
    table: NDArray[np.int32],
) -> None:
    """Enter nodes into the table that `child_of` looks into.

    Parameters
    ----------
    first, count
        Nodes from the first up to, but without, the count; those without a key (their span begins
        at -1) aren't entered.
    parents, spans, names
        As of `child_of`.
    table
        Written; with more room than there are nodes.
    """
    mask = np.uint64(len(table) - 1)
    for node in range(first, count):
        start = spans[node, 0]
        if start < 0:
            continue
        length = spans[node, 1] - start
        place = _key_hash(names, start, length, parents[node]) & mask
        while table[place] >= 0:
            place = (place + _ONE) & mask
        table[place] = node
