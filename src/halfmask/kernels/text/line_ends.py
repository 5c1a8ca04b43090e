"""Lines: how many there are, and where each ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit_unchecked
from halfmask.kernels.text.wide_loads import WIDTH, lowest, matches

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["count_lines", "last_line_end", "line_end"]

_NONE, _ONE = np.uint64(0), np.uint64(1)
_NEWLINE = np.uint8(10)


@njit_unchecked
def count_lines(data: NDArray[np.uint8], size: int) -> int:
    """Return how many line ends there are.

    Parameters
    ----------
    data, size
        Text and its size; 64 bytes can be read behind it.
    """
    count = 0
    for at in range(0, size, WIDTH):
        found = matches(data, at, _NEWLINE)
        if size - at < WIDTH:
            found &= (_ONE << np.uint64(size - at)) - _ONE
        while found != _NONE:
            count += 1
            found &= found - _ONE
    return count


@njit_unchecked
def line_end(data: NDArray[np.uint8], at: int) -> int:
    """Return the place of the next line end.

    Parameters
    ----------
    data, at
        Text, and where to look; there is a line end, and 64 bytes can be read behind it.
    """
    found = matches(data, at, _NEWLINE)
    while found == _NONE:
        at += WIDTH
        found = matches(data, at, _NEWLINE)
    return at + lowest(found)


@njit_unchecked
def last_line_end(data: NDArray[np.uint8], start: int, stop: int) -> int:
    """Return the place of the last line end between two places; -1 if there is none.

    Parameters
    ----------
    data, start, stop
        Text, and where to look.
    """
    for at in range(stop - 1, start - 1, -1):
        if data[at] == _NEWLINE:
            return at
    return -1
