"""The values of a person's classes that all releases have: the candidates of an attacker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["keep_common"]

_BITS = 64


@njit(error_model="numpy")
def keep_common(
    class_of: NDArray[np.int64],
    pairs: NDArray[np.int64],
    n_values: int,
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    left: NDArray[np.int64],
) -> None:
    """Keep of each group's values those that its class in one more release has too.

    Parameters
    ----------
    class_of
        The class of each group, -1 where it has none: its values stay.
    pairs
        Which class has which value: class * n_values + value, in order.
    n_values
        How many values there are.
    starts, lengths
        Where each group's values are, and how many: -1 where it takes all of its class. Lengths are
        changed.
    left
        The values of the groups, in order, with room for those that are taken. Changed.
    """
    n_classes = pairs[-1] // n_values + 1
    bounds = np.zeros(n_classes + 1, dtype=np.int64)
    some = np.zeros(n_classes, dtype=np.uint64)  # bits of a class: most others need no search
    for i in range(len(pairs)):
        own = pairs[i] // n_values
        bounds[own + 1] = i + 1
        some[own] |= np.uint64(1) << np.uint64((pairs[i] - own * n_values) % _BITS)
    for own in range(n_classes):  # one without rows ends where it starts
        bounds[own + 1] = max(bounds[own], bounds[own + 1])
    for group in range(len(class_of)):
        own = class_of[group]
        if own < 0:
            continue
        place, end, kept = bounds[own], bounds[own + 1], starts[group]
        if lengths[group] < 0:
            for i in range(place, end):
                left[kept] = pairs[i] - own * n_values
                kept += 1
        for i in range(starts[group], starts[group] + lengths[group]):
            value = left[i]
            if not (some[own] >> np.uint64(value % _BITS)) & np.uint64(1):
                continue
            wanted = own * n_values + value
            while n_values > _BITS and place < end and pairs[place] < wanted:
                place += 1
            if n_values <= _BITS or (place < end and pairs[place] == wanted):
                left[kept] = value
                kept += 1
        lengths[group] = kept - starts[group]
