"""Keep the largest contributions of each cell, and add up owners that are in several cells.

A list of the largest is in descending order of their size; of the same size, the lower number of an
owner comes first. So lists don't depend on the order in which contributions come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from halfmask.kernels.compiling import inlined, njit_no_nrt

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Lists", "OwnerRoom", "add_owners", "keep_largest"]


class Lists(NamedTuple):
    """The largest contributions of each cell; changed in place.

    Parameters
    ----------
    sizes
        Contributions, with their signs; 0 where there is none.
    weights
        The weight of each.
    owners
        The number of each owner; -1 where there is none.
    """

    sizes: NDArray[np.float64]
    weights: NDArray[np.float64]
    owners: NDArray[np.int64]


class OwnerRoom(NamedTuple):
    """Scratch memory for one owner at a time; ``last`` starts at -1.

    Parameters
    ----------
    last
        For each cell the owner who was seen there last.
    slot
        For each cell the place of this owner's sums.
    cell
        The cell of each place.
    plain, weighted, heavy
        The sums of contributions, weighted contributions and weights of each place.
    """

    last: NDArray[np.int64]
    slot: NDArray[np.int64]
    cell: NDArray[np.int64]
    plain: NDArray[np.float64]
    weighted: NDArray[np.float64]
    heavy: NDArray[np.float64]


@inlined
def _insert(lists: Lists, cell: int, size: float, weight: float, owner: int) -> None:
    """Put a contribution into the list of a cell, if it is large enough."""
    places = lists.sizes.shape[1]
    if lists.owners[cell, places - 1] >= 0:
        least = abs(lists.sizes[cell, places - 1])
        if abs(size) < least:
            return
        if abs(size) == least and owner > lists.owners[cell, places - 1]:
            return
    at = places - 1
    while at > 0:
        before = lists.owners[cell, at - 1]
        other = abs(lists.sizes[cell, at - 1])
        if before >= 0 and (other > abs(size) or (other == abs(size) and before < owner)):
            break
        lists.sizes[cell, at] = lists.sizes[cell, at - 1]
        lists.weights[cell, at] = lists.weights[cell, at - 1]
        lists.owners[cell, at] = before
        at -= 1
    lists.sizes[cell, at] = size
    lists.weights[cell, at] = weight
    lists.owners[cell, at] = owner


@njit_no_nrt
def keep_largest(
    cells: NDArray[np.int64],
    sizes: NDArray[np.float64],
    weights: NDArray[np.float64],
    owners: NDArray[np.int64],
    lists: Lists,
) -> None:
    """Put contributions into the lists of their cells.

    Parameters
    ----------
    cells
        The cell of each contribution.
    sizes, weights
        Each contribution and its weight.
    owners
        The number of each owner, who is once in a cell; below 0: no contribution.
    lists
        The lists, of all cells.
    """
    for at in range(len(cells)):
        if owners[at] >= 0:
            _insert(lists, cells[at], sizes[at], weights[at], owners[at])


@njit_no_nrt
def add_owners(
    starts: NDArray[np.int64],
    owners: NDArray[np.int64],
    parts: tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    covers: tuple[NDArray[np.int64], NDArray[np.int64]],
    room: OwnerRoom,
    found: tuple[NDArray[np.float64], NDArray[np.float64], Lists],
) -> None:
    """Add owners who are in several inner cells to each cell that covers one of these, once.

    Parameters
    ----------
    starts
        The first part of each owner, and the end.
    owners
        The number of each owner.
    parts
        The inner cell, contribution, weighted contribution and weight of each part.
    covers
        For each inner cell where its covering cells start, and these cells.
    room
        Scratch memory.
    found
        The contributors, the sum of weighted sizes and the lists of each cell; changed in place.
    """
    inner, plain, weighted, heavy = parts
    cover_starts, cover_cells = covers
    count, absolute, lists = found
    for at in range(len(owners)):
        used = 0
        for part in range(starts[at], starts[at + 1]):
            for where in range(cover_starts[inner[part]], cover_starts[inner[part] + 1]):
                cell = cover_cells[where]
                if room.last[cell] != at:
                    room.last[cell] = at
                    room.slot[cell] = used
                    room.cell[used] = cell
                    room.plain[used] = 0.0
                    room.weighted[used] = 0.0
                    room.heavy[used] = 0.0
                    used += 1
                place = room.slot[cell]
                room.plain[place] += plain[part]
                room.weighted[place] += weighted[part]
                room.heavy[place] += heavy[part]
        for place in range(used):
            cell = room.cell[place]
            count[cell] += 1.0
            absolute[cell] += abs(room.weighted[place])
            weight = room.heavy[place]
            if room.plain[place] != 0.0:
                weight = room.weighted[place] / room.plain[place]
            _insert(lists, cell, room.plain[place], weight, owners[at])
