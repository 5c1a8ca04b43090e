"""Where the cells and rows of delimited text end.

J. Langdale and D. Lemire, "Parsing gigabytes of JSON per second" (VLDB Journal 2019), section 3.1:
64 bytes are compared at once, and what lies between quotes is masked by the
parity of the quotes before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit_unchecked
from halfmask.kernels.text.wide_loads import WIDTH, lowest, matches

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["end_of_rows", "find_separators", "survey"]

_NONE, _ONE, _ALL = np.uint64(0), np.uint64(1), np.uint64(0xFFFFFFFFFFFFFFFF)
_NEWLINE = np.uint8(10)


@njit_unchecked
def _between(quotes: np.uint64, inside: np.uint64) -> np.uint64:
    """Return which bytes have an odd number of quotes before them or at them."""
    for shift in (1, 2, 4, 8, 16, 32):
        quotes ^= quotes << np.uint64(shift)
    return quotes ^ inside


@njit_unchecked
def find_separators(
    data: NDArray[np.uint8],
    size: int,
    delimiter: np.uint8,
    quote: np.uint8,
    quoted: bool,  # noqa: FBT001 # by place: numba knows no keywords
    places: NDArray[np.int32],
) -> int:
    """Write the place of each delimiter and line end that isn't between quotes.

    Parameters
    ----------
    data
        Text; 64 bytes more than its size can be read, none of them is looked at.
    size
        How many bytes the text has.
    delimiter, quote
        What ends a cell but the last of a row, and what is around cells.
    quoted
        Whether there are quotes at all.
    places
        Written; as long as the text.

    Returns
    -------
    int
        How many there are; -1 if a quote isn't closed.
    """
    count, inside = 0, _NONE
    for at in range(0, size, WIDTH):
        found = matches(data, at, delimiter) | matches(data, at, _NEWLINE)
        if quoted:
            between = _between(matches(data, at, quote), inside)
            found &= ~between
            inside = _ALL if between >> np.uint64(63) else _NONE
        if size - at < WIDTH:
            found &= (_ONE << np.uint64(size - at)) - _ONE
        while found != _NONE:
            places[count] = at + lowest(found)
            count += 1
            found &= found - _ONE
    return -1 if inside != _NONE else count


@njit_unchecked
def end_of_rows(data: NDArray[np.uint8], size: int, quote: np.uint8) -> int:
    """Return how many bytes all complete rows have: up to the last line end between no quotes."""
    inside, end = _NONE, 0
    for at in range(0, size, WIDTH):
        between = _between(matches(data, at, quote), inside)
        found = matches(data, at, _NEWLINE) & ~between
        inside = _ALL if between >> np.uint64(63) else _NONE
        if size - at < WIDTH:
            found &= (_ONE << np.uint64(size - at)) - _ONE
        while found != _NONE:
            end = at + lowest(found) + 1
            found &= found - _ONE
    return end


@njit_unchecked
def survey(data: NDArray[np.uint8], size: int, quote: np.uint8) -> tuple[bool, bool, bool]:
    """Return whether text has quotes, returns that end no line, and bytes beyond ASCII.

    Parameters
    ----------
    data, size, quote
        As of `find_separators`; the last byte is a line end.
    """
    quoted, lone = _NONE, _NONE
    for at in range(0, size, WIDTH):
        quoted |= matches(data, at, quote)
        returns = matches(data, at, np.uint8(13))
        if returns != _NONE:
            followed = matches(data, at + 1, _NEWLINE)
            lone |= returns & ~followed
    beyond = np.uint8(0)
    for i in range(size):
        beyond |= data[i]
    return bool(quoted != _NONE), bool(lone != _NONE), bool(beyond > np.uint8(127))
