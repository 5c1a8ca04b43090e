"""The values that all classes of a person have: what is left who knows several releases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["count_common"]


@njit(nogil=True, cache=True)
def count_common(
    of_groups: NDArray[np.int64],
    of_classes: NDArray[np.int64],
    n_groups: int,
    n_classes: int,
    n_values: int,
    newest: int,
) -> NDArray[np.int64]:
    """Count the values that all classes of each group have.

    Parameters
    ----------
    of_groups
        Which group has which class: group * n_classes + class, in order.
    of_classes
        Which class has which value: class * n_values + value, in order.
    n_groups, n_classes, n_values
        How many there are.
    newest
        The first class of the newest release.

    Returns
    -------
    ndarray
        The counts, and those without the newest release: (2, groups). 0 for no class.
    """
    ends = np.zeros(n_classes + 1, dtype=np.int64)  # of a class, at the place after it
    values = np.empty(len(of_classes), dtype=np.int32)
    for i in range(len(of_classes)):
        values[i] = of_classes[i] % n_values
        ends[of_classes[i] // n_values + 1] = i + 1
    for own in range(n_classes):  # one without rows ends where it starts
        ends[own + 1] = max(ends[own], ends[own + 1])
    counts = np.zeros((2, n_groups), dtype=np.int64)
    left = np.empty(len(values), dtype=np.int32)
    n_left, previous = 0, -1
    for pair in of_groups:
        group, own = pair // n_classes, pair % n_classes
        start, end = ends[own], ends[own + 1]
        if group != previous:
            n_left, previous = end - start, group
            left[:n_left] = values[start:end]
        else:
            kept = 0
            for i in range(n_left):
                while start < end and values[start] < left[i]:
                    start += 1
                if start < end and values[start] == left[i]:
                    left[kept] = left[i]
                    kept += 1
            n_left = kept
        counts[0, group] = n_left
        if own < newest:
            counts[1, group] = n_left
    return counts
