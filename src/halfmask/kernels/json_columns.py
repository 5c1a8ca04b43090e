"""From the tape of a scan to columns: sorted by node, then one slot for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.kernels.lean import swift

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["spread", "sum_of_array", "untape"]

_ARRAY = 8


@swift
def untape(
    tape: NDArray[np.int32],
    count: int,
    ends: NDArray[np.int64],
    slots: NDArray[np.int64],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    kinds: NDArray[np.uint8],
) -> None:
    """Sort the entries of a tape by node; those of a node stay in their order.

    Parameters
    ----------
    tape, count
        As `json_scan.scan_lines` wrote it.
    ends
        Written: where each node's entries end; zeros at first, one more than there are nodes.
    slots, starts, stops, kinds
        Written: the entries' parts.
    """
    for entry in range(count):
        ends[(tape[entry, 3] >> 4) + 1] += 1
    total = 0
    for node in range(len(ends)):
        total += ends[node]
        ends[node] = total
    # Each end is where the next node's entries begin, and moves up while they are written.
    for entry in range(count):
        node = tape[entry, 3] >> 4
        at = ends[node]
        ends[node] = at + 1
        slots[at], starts[at], stops[at] = tape[entry, 0], tape[entry, 1], tape[entry, 2]
        kinds[at] = tape[entry, 3] & 15


@swift
def spread(
    slots: NDArray[np.int64],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    kinds: NDArray[np.uint8],
    all_starts: NDArray[np.int64],
    all_stops: NDArray[np.int64],
    all_kinds: NDArray[np.uint8],
) -> None:
    """Write the entries of a node where their slots are.

    Parameters
    ----------
    slots, starts, stops, kinds
        Of each entry.
    all_starts, all_stops, all_kinds
        Written: of each slot; zeros at first.
    """
    for i in range(len(slots)):
        slot = slots[i]
        all_kinds[slot] = kinds[i]
        if kinds[i] != _ARRAY:
            all_starts[slot], all_stops[slot] = starts[i], stops[i]


@swift
def sum_of_array(
    slots: NDArray[np.int64],
    sizes: NDArray[np.int64],
    kinds: NDArray[np.uint8],
    counts: NDArray[np.int64],
    present: NDArray[np.bool_],
) -> None:
    """Write how many elements the arrays of a node have, and where there is an array.

    Parameters
    ----------
    slots, sizes, kinds
        Of each entry; what isn't an array has none.
    counts, present
        Written: of each slot; zeros at first.
    """
    for i in range(len(slots)):
        if kinds[i] == _ARRAY:
            counts[slots[i]] = sizes[i]
            present[slots[i]] = True
