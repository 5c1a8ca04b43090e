"""Columns of tokens put one behind the other, for the writer of lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.kernels.compiling import njit_unchecked

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["join_column"]

_INTEGER, _STRING = 4, 6


@njit_unchecked
def join_column(
    kinds: NDArray[np.uint8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    shift: int,
    words: NDArray[np.int64],
    first: int,
    all_kinds: NDArray[np.uint8],
    all_starts: NDArray[np.int64],
    all_stops: NDArray[np.int64],
) -> int:
    """Copy a column behind others.

    Parameters
    ----------
    kinds, starts, stops
        The column.
    shift
        Where its bytes begin among those of all columns.
    words
        Where the words begin that stand for null, false and true among them, one place on.
    first
        Where its first slot is to be.
    all_kinds, all_starts, all_stops
        Written.

    Returns
    -------
    int
        How many bytes its tokens have; words not counted.
    """
    size = 0
    for i in range(len(kinds)):
        kind = int(kinds[i])
        start, stop = starts[i] + shift, stops[i] + shift
        if kind < _INTEGER:
            start, stop = words[kind], words[kind + 1]
        elif kind <= _STRING:
            size += stop - start
        all_kinds[first + i] = kind
        all_starts[first + i] = start
        all_stops[first + i] = stop
    return size
