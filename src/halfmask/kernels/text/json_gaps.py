"""Gaps: what stands between two values of an object of JSON lines, remembered unchanged.

Lines of a stream are alike. Each gap, such as ``,"price":``, is remembered with the one that
followed it: where the same bytes come again, 64 of them are compared at once, and the key isn't
looked up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import inlined, njit_unchecked
from halfmask.kernels.text.wide_loads import WIDTH, alike, peek

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CHILD", "GAP", "LENGTH", "LONGEST", "gap_after", "is_gap", "remember"]

#: Parts of a gap: where it stands, its length, the object's node (or -1 less that: it is the first
#: of its object), the key's node, the gap that followed; and how many they are.
_STANDS, LENGTH, _PARENT, CHILD, _NEXT, GAP = range(6)
#: A gap must be shorter than what is compared at once.
LONGEST = WIDTH - 1
#: How many gaps that aren't there are passed over: fields that not all objects have.
_TRIES = 3
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@inlined
def is_gap(
    data: NDArray[np.uint8], at: int, gap: int, parent: int, gaps: NDArray[np.int64]
) -> bool:
    """Return whether a gap that is remembered stands at a place.

    Parameters
    ----------
    data, at
        JSON lines, and the place; 64 bytes can be read from it on.
    gap, parent
        Which gap, and the node of the object; -1 less that where it is the first of its object.
    gaps
        `GAP` numbers for each gap.
    """
    row = gap * GAP
    same = alike(data, at, peek(gaps, row + _STANDS))
    whole = same | (_ALL << np.uint64(peek(gaps, row + LENGTH))) == _ALL
    return bool(whole and peek(gaps, row + _PARENT) == parent)


@inlined
def gap_after(
    data: NDArray[np.uint8], at: int, gap: int, parent: int, gaps: NDArray[np.int64]
) -> int:
    """Return the gap that stands at a place, of those that may follow another; -1 if none does.

    Parameters
    ----------
    data, at, gap, parent, gaps
        As of `is_gap`; the gap is the one before.
    """
    for _ in range(_TRIES):
        gap = peek(gaps, gap * GAP + _NEXT)
        if gap < 0:
            return -1
        if is_gap(data, at, gap, parent, gaps):
            return gap
    return -1


@njit_unchecked
def remember(
    gaps: NDArray[np.int64],
    made: int,
    before: int,
    parent: int,
    child: int,
    start: int,
    length: int,
) -> None:
    """Write a gap in the place of another.

    Parameters
    ----------
    gaps
        Written.
    made, before
        Which gap, and the one that it follows or, as the first of its object, stands in for; -1 if
        there is none.
    parent, child
        The node of the object, as of `is_gap`, and that of the key; -1 if it is skipped.
    start, length
        Where it stands.
    """
    row = made * GAP
    # What was expected there may follow: fields that not all objects have are passed over.
    following = -1
    if before >= 0:
        following = gaps[before * GAP + _NEXT]
        if parent >= 0:
            gaps[before * GAP + _NEXT] = made
    gaps[row + _STANDS], gaps[row + LENGTH] = start, length
    gaps[row + _PARENT], gaps[row + CHILD], gaps[row + _NEXT] = parent, child, following
