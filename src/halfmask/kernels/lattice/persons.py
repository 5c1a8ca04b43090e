"""Which classes a person is in, once classes are merged or dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.kernels.compiling import njit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["merged_pairs"]


@njit()
def merged_pairs(
    classes: NDArray[np.int64],
    keys: NDArray[np.int64],
    into: NDArray[np.int64],
    seen: NDArray[np.int64],
    merged: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> int:
    """Write each pair of a key and a merged class once; return how many there are.

    Parameters
    ----------
    classes, keys
        Pairs, with equal keys one after the other; a key is 0 or more.
    into
        The new class of each class; -1 drops it.
    seen
        Scratch: -1 for each new class.
    merged
        Written: the new classes and the keys, in the order of the keys.

    Notes
    -----
    A class remembers the last key that was seen in it. Since equal keys follow each other, that
    says whether a pair is new: nothing is sorted or hashed.
    """
    found = 0
    new_classes, new_keys = merged
    for i in range(len(classes)):
        target = into[classes[i]]
        if target >= 0 and seen[target] != keys[i]:
            seen[target] = keys[i]
            new_classes[found], new_keys[found] = target, keys[i]
            found += 1
    return found
