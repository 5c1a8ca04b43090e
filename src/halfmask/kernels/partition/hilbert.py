"""The Hilbert curve: a row of codes as one long number, and the run of the curve that holds it.

J. Skilling, "Programming the Hilbert curve", AIP Conference Proceedings 707 (2004). Neighbours on
the curve are neighbours in space; a number of many columns takes several 64-bit words, the upper
one first, and is compared word by word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from halfmask.kernels.compiling import njit_no_nrt

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.kernels.partition.criteria import Int

__all__ = ["curve_keys", "find_runs"]

WORD_BITS = 64


@njit(nogil=True, cache=True)
def curve_keys(
    points: NDArray[np.int32], greatest: NDArray[np.int64], bits: Int, keys: NDArray[np.uint64]
) -> None:
    """Write where each row lies on the curve.

    Parameters
    ----------
    points
        The rows' codes, none negative, (rows, columns).
    greatest
        The greatest code of each column, (columns,). A column's codes are spread over the whole
        side of the cube: a column of two codes is otherwise as good as ignored next to one of many.
    bits
        Bits of a side: at least those of every greatest code.
    keys
        Written, (rows, words).
    """
    axes = np.empty(points.shape[1], dtype=np.int64)
    for i in range(points.shape[0]):
        _key(points, i, greatest, bits, axes, keys[i])


@njit(nogil=True, cache=True)
def find_runs(
    points: NDArray[np.int32],
    greatest: NDArray[np.int64],
    bits: Int,
    lasts: NDArray[np.uint64],
    runs: NDArray[np.int64],
) -> None:
    """Write the first run of the curve whose end isn't before each row; behind all ends the last.

    Parameters
    ----------
    points, greatest, bits
        As for :func:`curve_keys`; a row with a negative code has no place, and no run (-1).
    lasts
        Where each run ends, ascending, (runs, words).
    runs
        Written, (rows,).
    """
    axes = np.empty(points.shape[1], dtype=np.int64)
    key = np.empty(lasts.shape[1], dtype=np.uint64)
    for i in range(points.shape[0]):
        runs[i] = -1
        placed = True
        for j in range(points.shape[1]):
            placed = placed and points[i, j] >= 0
        if not placed:
            continue
        _key(points, i, greatest, bits, axes, key)
        first, last = 0, lasts.shape[0] - 1
        while first < last:
            middle = (first + last) // 2
            if _before(lasts, middle, key):
                first = middle + 1
            else:
                last = middle
        runs[i] = first


@njit_no_nrt
def _before(lasts: NDArray[np.uint64], run: Int, key: NDArray[np.uint64]) -> bool:
    for word in range(key.shape[0]):
        if lasts[run, word] != key[word]:
            return bool(lasts[run, word] < key[word])
    return False


@njit_no_nrt
def _key(
    points: NDArray[np.int32],
    row: Int,
    greatest: NDArray[np.int64],
    bits: Int,
    axes: NDArray[np.int64],
    key: NDArray[np.uint64],
) -> None:
    n_axes, side = axes.shape[0], (np.int64(1) << bits) - 1
    for j in range(n_axes):
        axes[j] = np.int64(points[row, j]) * side // max(np.int64(1), greatest[j])
    _transpose(axes, bits)
    for word in range(key.shape[0]):
        key[word] = np.uint64(0)
    place = 0
    for bit in range(bits - 1, -1, -1):
        for j in range(n_axes):
            word = place // WORD_BITS
            key[word] = (key[word] << np.uint64(1)) | np.uint64((axes[j] >> bit) & 1)
            place += 1


@njit_no_nrt
def _transpose(axes: NDArray[np.int64], bits: Int) -> None:
    """Turn coordinates into the curve's number, whose bits lie across the axes.

    Skilling's steps: undo the turns and mirrors of each cube in its parent, from the largest on,
    then the Gray code.
    """
    n_axes = axes.shape[0]
    for level in range(bits - 1, 0, -1):
        cube = np.int64(1) << level
        inside = cube - 1
        for j in range(n_axes):
            if axes[j] & cube:
                axes[0] ^= inside
            else:
                swapped = (axes[0] ^ axes[j]) & inside
                axes[0] ^= swapped
                axes[j] ^= swapped
    for j in range(1, n_axes):
        axes[j] ^= axes[j - 1]
    mirrored = np.int64(0)
    for level in range(bits - 1, 0, -1):
        cube = np.int64(1) << level
        if axes[n_axes - 1] & cube:
            mirrored ^= cube - 1
    for j in range(n_axes):
        axes[j] ^= mirrored
