"""The values that all classes of a person have: what is left who knows several releases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.kernels.compiling import njit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["keep_common"]


@njit(nogil=True, cache=True)
def keep_common(
    class_of: NDArray[np.int64],
    bounds: NDArray[np.int64],
    class_values: NDArray[np.int32],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    values: NDArray[np.int32],
) -> None:
    """Keep of each group's values those that its class has too.

    Parameters
    ----------
    class_of
        The class of each group, -1 where it has none: its values stay.
    bounds
        Where the values of each class start and end.
    class_values
        The values of each class, in order.
    starts, lengths
        Where each group's values are; a length of -1 stands for a group that takes all values of
        its class. Lengths are changed.
    values
        The values of the groups, in order, with room for those of the class. Changed.
    """
    for group in range(len(class_of)):
        if class_of[group] < 0:
            continue
        theirs, end = bounds[class_of[group]], bounds[class_of[group] + 1]
        first, kept = starts[group], starts[group]
        if lengths[group] < 0:
            for i in range(theirs, end):
                values[kept] = class_values[i]
                kept += 1
        else:
            for i in range(first, first + lengths[group]):
                while theirs < end and class_values[theirs] < values[i]:
                    theirs += 1
                if theirs < end and class_values[theirs] == values[i]:
                    values[kept] = values[i]
                    kept += 1
        lengths[group] = kept - first
