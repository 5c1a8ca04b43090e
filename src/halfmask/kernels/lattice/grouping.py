"""Group items by the nodes that a level of each column makes of their codes.

The nodes of an item are one number in mixed radix. Where that number would need more than 62 bits,
what was packed so far is numbered from 0 on, and packing goes on with these numbers: two items
share a group if and only if they share all nodes. A hash only chooses where a search for the number
begins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from halfmask.kernels.compiling import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "GroupRoom",
    "NodeTables",
    "codes_of_groups",
    "group_items",
    "group_room",
    "nodes_of_groups",
    "rows_of_small",
    "same_groups",
]

#: Packed numbers stay below this.
MAX_PACKED = np.int64(1 << 62)
#: Numbers are looked up in a plain table where it needs at most so many places for each item.
PLAIN_PLACES = 4
#: Spreads packed numbers over a hash table: 2**64 divided by the golden ratio, odd.
SPREAD = np.uint64(0x9E3779B97F4A7C15)


class NodeTables(NamedTuple):
    """What each level of each column makes of each code.

    Parameters
    ----------
    nodes
        The tables of all levels of all columns, one behind the other.
    starts
        Where the table of a level of a column starts, (columns, levels).
    widths
        How many nodes it has, (columns, levels).
    """

    nodes: NDArray[np.int32]
    starts: NDArray[np.int64]
    widths: NDArray[np.int64]


class GroupRoom(NamedTuple):
    """Room for groups of some number of items.

    Parameters
    ----------
    keys
        Scratch, (items,).
    places
        Scratch for a table: at least four times as many as there are items, and 4.
    group
        Written: the group of each item, numbered in the order of their first items, (items,).
    sizes
        Written: the weights of each group, (items,) of which the first groups count.
    first
        Written: the first item of each group, likewise.
    """

    keys: NDArray[np.int64]
    places: NDArray[np.int32]
    group: NDArray[np.int32]
    sizes: NDArray[np.int64]
    first: NDArray[np.int32]


@njit()
def group_items(
    codes: NDArray[np.integer[Any]],
    weights: NDArray[np.int64],
    tables: NodeTables,
    levels: NDArray[np.int64],
    room: GroupRoom,
) -> int:
    """Group the items of a node; return how many groups there are.

    Parameters
    ----------
    codes
        The codes of the items, (columns, items).
    weights
        How many rows each item stands for, (items,).
    tables
        What levels make of codes.
    levels
        The level of each column.
    room
        Where the groups are written.
    """
    n = codes.shape[1]
    keys, group, sizes = room.keys, room.group, room.sizes
    packed = np.int64(1)
    for i in range(n):
        keys[i] = 0
    for j in range(codes.shape[0]):
        width = tables.widths[j, levels[j]]
        if width == 1:
            continue
        if packed > MAX_PACKED // width:
            packed = np.int64(_number(keys, n, packed, room.places, group, room.first))
            for i in range(n):
                keys[i] = group[i]
        table = tables.nodes[tables.starts[j, levels[j]] :]
        column = codes[j]
        for i in range(n):
            keys[i] += packed * table[column[i]]
        packed *= width
    n_groups = _number(keys, n, packed, room.places, group, room.first)
    for g in range(n_groups):
        sizes[g] = 0
    for i in range(n):
        sizes[group[i]] += weights[i]
    return n_groups


@njit()
def _number(
    keys: NDArray[np.int64],
    n: int,
    packed: np.int64,
    places: NDArray[np.int32],
    group: NDArray[np.int32],
    first: NDArray[np.int32],
) -> int:
    """Write the number of each key, from 0 on, in the order in which they first occur.

    All are below ``packed``.
    """
    found = 0
    if packed <= PLAIN_PLACES * n:
        for place in range(packed):
            places[place] = -1
        for i in range(n):
            number = places[keys[i]]
            if number < 0:
                number = found
                places[keys[i]] = number
                first[found] = i
                found += 1
            group[i] = number
        return found
    bits = 1
    while (1 << bits) < 2 * n:
        bits += 1
    last = (1 << bits) - 1
    for place in range(last + 1):
        places[place] = -1
    shift = np.uint64(64 - bits)
    for i in range(n):
        key = keys[i]
        at = np.int64((np.uint64(key) * SPREAD) >> shift)
        number = places[at]
        while number >= 0 and keys[first[number]] != key:
            at = (at + 1) & last
            number = places[at]
        if number < 0:
            number = found
            places[at] = number
            first[found] = i
            found += 1
        group[i] = number
    return found


@njit()
def codes_of_groups(
    codes: NDArray[np.integer[Any]], items: NDArray[np.int32], picked: NDArray[np.integer[Any]]
) -> None:
    """Write the codes of some items.

    Parameters
    ----------
    codes
        The codes of all items, (columns, items).
    items
        Which of them.
    picked
        Written, (columns, items).
    """
    for j in range(codes.shape[0]):
        for i in range(items.shape[0]):
            picked[j, i] = codes[j, items[i]]


@njit()
def nodes_of_groups(
    codes: NDArray[np.integer[Any]],
    items: NDArray[np.int32],
    tables: NodeTables,
    levels: NDArray[np.int64],
    nodes: NDArray[np.int32],
) -> None:
    """Write the node of some items in each column.

    Parameters
    ----------
    codes
        The codes of all items, (columns, items).
    items
        Which of them.
    tables, levels
        As of `group_items`.
    nodes
        Written, (items, columns).
    """
    for j in range(codes.shape[0]):
        table = tables.nodes[tables.starts[j, levels[j]] :]
        column = codes[j]
        for i in range(items.shape[0]):
            nodes[i, j] = table[column[items[i]]]


def same_groups(
    groups: NDArray[np.int32], items: NDArray[np.int32], widths: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the group that has the nodes of each item; -1 where none has.

    Parameters
    ----------
    groups
        The nodes of each group, all different, (columns, groups).
    items
        The nodes of each item, (columns, items).
    widths
        How many nodes each column has.
    """
    n_columns, n_groups = groups.shape
    both = np.concatenate([groups, items], axis=1)
    n = both.shape[1]
    starts = np.concatenate([[0], np.cumsum(widths)[:-1]]).astype(np.int64)[:, None]
    nodes = np.concatenate([np.arange(width, dtype=np.int32) for width in widths])
    tables = NodeTables(nodes, starts, widths.astype(np.int64)[:, None])
    room = group_room(n)
    lowest = np.zeros(n_columns, dtype=np.int64)
    group_items(both, np.ones(n, dtype=np.int64), tables, lowest, room)
    # The groups come first and differ: they have the first numbers.
    found = room.group[n_groups:].astype(np.int64)
    return np.where(found < n_groups, found, -1)


def group_room(n_items: int) -> GroupRoom:
    """Return room to group at most so many items.

    Parameters
    ----------
    n_items
        How many items there may be.
    """
    return GroupRoom(
        np.empty(n_items, dtype=np.int64),
        np.empty(PLAIN_PLACES * max(1, n_items), dtype=np.int32),
        np.empty(n_items, dtype=np.int32),
        np.empty(n_items, dtype=np.int64),
        np.empty(n_items, dtype=np.int32),
    )


@njit()
def rows_of_small(sizes: NDArray[np.int64], n_groups: int, least: int) -> int:
    """Return how many rows lie in groups of fewer than some rows.

    Parameters
    ----------
    sizes
        The rows of each group.
    n_groups
        How many groups there are.
    least
        The rows that a group must have.
    """
    total = 0
    for g in range(n_groups):
        if sizes[g] < least:
            total += sizes[g]
    return total
