"""Swaps between areas: each record that is wanted gets a free one of its group elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["swap_between_areas"]


@njit()
def swap_between_areas(
    wanted: NDArray[np.int64],
    members: NDArray[np.int64],
    starts: NDArray[np.int64],
    group: NDArray[np.int64],
    area: NDArray[np.int64],
    pair: NDArray[np.int64],
    draws: NDArray[np.float64],
    partner: NDArray[np.int64],
    room: int,
) -> int:
    """Swap records with free ones of the same group and another area.

    Parameters
    ----------
    wanted
        The records to swap, in the order in which they choose.
    members
        All records that may be swapped, by group, in a random order within each.
    starts
        Where each group starts in ``members``, and at the end their number.
    group, area, pair
        Of each record: its group, its area, and the number of its group and area together.
    draws
        A number between 0 and 1 for each record: where it starts to look.
    partner
        For each record its partner, itself where it is free. Changed in place.
    room
        How many records may be swapped at most; the last swap may go one beyond it.

    Returns
    -------
    int
        How many records were swapped.

    Notes
    -----
    Free records only become fewer. So once a record finds none, no other of its group and area
    will, and none looks again.
    """
    swapped = 0
    without = np.zeros(pair.max() + 1 if len(pair) else 0, np.bool_)
    for i in range(len(wanted)):
        if swapped >= room:
            break
        one = wanted[i]
        if partner[one] != one or without[pair[one]]:
            continue
        low = starts[group[one]]
        size = starts[group[one] + 1] - low
        first = int(draws[one] * size)
        found = -1
        for step in range(size):
            other = members[low + (first + step) % size]
            if partner[other] == other and area[other] != area[one]:
                found = other
                break
        if found < 0:
            without[pair[one]] = True
        else:
            partner[one], partner[found] = found, one
            swapped += 2
    return swapped
