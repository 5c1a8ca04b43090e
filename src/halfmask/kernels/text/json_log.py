"""What a line of JSON noted so far, so that it can be taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.kernels.compiling import njit_unchecked

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["SLOTS", "forget_line"]

#: What of an entry is the slot; the node is above.
SLOTS = 0xFFFFFFFF
_ARRAY = 8


@njit_unchecked
def forget_line(
    log: NDArray[np.int64],
    logged: int,
    element: NDArray[np.int32],
    level: NDArray[np.int32],
    base: NDArray[np.int64],
    counts: NDArray[np.int64],
    kinds: NDArray[np.uint8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
) -> None:
    """Take back what a line's values were noted as, and the slots that its arrays took.

    Parameters
    ----------
    log, logged
        Entries of the line, and how many: the node and the slot of each value.
    element, level, base, counts, kinds, starts, stops
        As of `json_scan.scan_lines`.
    """
    for entry in range(logged - 1, -1, -1):
        node = log[entry] >> 32
        place = base[node] + (log[entry] & SLOTS)
        if kinds[place] == _ARRAY and element[node] >= 0:
            counts[level[element[node]]] = starts[place]
        kinds[place] = 0
        starts[place] = stops[place] = 0
