"""Which sibling of its category a row falls to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.kernels.compiling import njit_no_nrt

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["count_cuts"]


@njit_no_nrt
def count_cuts(
    places: NDArray[np.int64],
    score: NDArray[np.float64],
    cuts: NDArray[np.float64],
    starts: NDArray[np.int64],
    within: NDArray[np.int64],
) -> None:
    """Write for each row how many cuts of its category its score isn't below.

    Parameters
    ----------
    places
        The number of each row's category; below 0 for none.
    score
        The score of each row.
    cuts, starts
        The cuts of all categories, ascending in each, and where each category's begin.
    within
        Where to write; 0 for a row without a category.
    """
    for i in range(len(places)):
        within[i] = 0
        if places[i] < 0:
            continue
        first, low, high = starts[places[i]], starts[places[i]], starts[places[i] + 1]
        while low < high:
            middle = (low + high) >> 1
            if cuts[middle] <= score[i]:
                low = middle + 1
            else:
                high = middle
        within[i] = low - first
