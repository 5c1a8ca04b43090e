"""Choices between two values for inner cells, so that totals stay near their true values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.kernels.compiling import njit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["improve"]


@njit()
def improve(
    starts: NDArray[np.int64],
    cells: NDArray[np.int64],
    weight: NDArray[np.float64],
    distance: NDArray[np.float64],
    raised: NDArray[np.bool_],
    step: float,
    order: NDArray[np.int64],
    most: int,
) -> int:
    """Raise or lower inner cells, one after the other, as long as the squared distance gets less.

    Parameters
    ----------
    starts, cells
        Of each choice the cells that its inner cell counts in, itself among them.
    weight
        Of each cell in the sum of squared distances.
    distance
        Of each cell to its true value; kept up.
    raised
        Which choices have the higher of their two values; changed.
    step
        By how much the two values differ.
    order
        The order in which choices are tried.
    most
        How often all are gone through at most.

    Returns
    -------
    int
        How often a choice was changed.
    """
    n_changes = 0
    for _ in range(most):
        before = n_changes
        for choice in order:
            change = -step if raised[choice] else step
            gain = 0.0
            for at in range(starts[choice], starts[choice + 1]):
                cell = cells[at]
                gain += weight[cell] * (2 * change * distance[cell] + change * change)
            if gain < -1e-9:
                raised[choice] = not raised[choice]
                n_changes += 1
                for at in range(starts[choice], starts[choice + 1]):
                    distance[cells[at]] += change
        if n_changes == before:
            break
    return n_changes
