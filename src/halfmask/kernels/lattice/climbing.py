"""Walk the nodes of a lattice that a search hasn't settled.

Nodes are numbered in the order of their levels, the last column fastest, so that a flat array holds
one number for each. `flags` has a byte for each node: the bits below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit_no_nrt

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FAILS", "HOLDS", "JUDGED", "climb", "next_open"]

#: The node is known to fail.
FAILS = 1
#: The node is known to hold.
HOLDS = 2
#: The node holds and was judged.
JUDGED = 4
# Knuth's linear congruential generator of MMIX. Only its high bits are used.
_FACTOR, _SUMMAND = np.uint64(6364136223846793005), np.uint64(1442695040888963407)
_HIGH = np.uint64(33)


@njit_no_nrt
def next_open(
    bounds: NDArray[np.float64],
    flags: NDArray[np.uint8],
    least_loss: float,
    stride: int,
    visited: int,
) -> int:
    """Return how many nodes are visited before the next that may still be the best.

    Nodes are visited in steps of `stride`, which has no common factor with their number. The
    result is the number of nodes where none is left.

    Parameters
    ----------
    bounds
        A loss that no node at or above each node falls below, (nodes,).
    flags
        What is known of each node, (nodes,).
    least_loss
        The least loss that was found.
    stride
        The step.
    visited
        How many were visited.
    """
    n_nodes = bounds.shape[0]
    node = (visited * stride) % n_nodes
    while visited < n_nodes and (flags[node] != 0 or bounds[node] >= least_loss):
        visited += 1
        node += stride
        if node >= n_nodes:
            node -= n_nodes
    return visited


@njit_no_nrt
def climb(
    node: int,
    bounds: NDArray[np.float64],
    flags: NDArray[np.uint8],
    least_loss: float,
    sizes: NDArray[np.int64],
) -> int:
    """Return a node above a given one that has nothing open above it.

    Each step goes to any open node above, all equally likely: climbs from nearby nodes end far from
    each other. The choice depends on the numbers of the nodes only, so that it is repeatable.

    Parameters
    ----------
    node
        An open node: it may still have less than the least loss, and isn't known to hold or fail.
    bounds, flags, least_loss
        As in :func:`next_open`.
    sizes
        The number of levels of each column, (columns,).
    """
    state = np.uint64(node)
    while True:
        chosen = -1
        n_open = np.uint64(0)
        step = 1
        for place in range(sizes.shape[0] - 1, -1, -1):
            above = node + step
            if (
                (node // step) % sizes[place] + 1 < sizes[place]
                and flags[above] == 0
                and bounds[above] < least_loss
            ):
                n_open += np.uint64(1)
                state = state * _FACTOR + _SUMMAND
                if (state >> _HIGH) % n_open == 0:
                    chosen = above
            step *= sizes[place]
        if chosen < 0:
            return node
        node = chosen
