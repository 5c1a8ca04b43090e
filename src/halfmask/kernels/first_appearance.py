"""Numbers by first appearance, begun anew in each group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.kernels.lean import lean

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["number_within"]


@lean
def number_within(
    codes: NDArray[np.int32],
    firsts: NDArray[np.int64],
    seen: NDArray[np.int64],
    given: NDArray[np.int64],
    numbers: NDArray[np.int64],
) -> None:
    """Write 1, 2, 3, ... by first appearance of a code within its group.

    Parameters
    ----------
    codes
        From 0 on; below 0 isn't numbered.
    firsts
        The first slot of each slot's group; the slots of a group are neighbours.
    seen
        Room for each code, all -1.
    given
        Room for each code.
    numbers
        Written, where a code is.
    """
    group, count = -1, 0
    for i in range(len(codes)):
        if firsts[i] != group:
            group, count = firsts[i], 0
        code = codes[i]
        if code < 0:
            continue
        if seen[code] != group:
            seen[code] = group
            count += 1
            given[code] = count
        numbers[i] = given[code]
