"""Where numbers lie among sorted values: places by buckets, and codes that tell the nearer one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit_no_nrt

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

__all__ = ["STEP", "find_places", "rank_codes", "rank_values", "start_buckets"]

#: Room between two ranks for a value that lies between them, on either side of their middle.
STEP = 4


@njit_no_nrt
def start_buckets(values: NDArray[Any], scale: float, starts: NDArray[np.int64]) -> None:
    """Write where each bucket of the sorted values begins; the last entry is their number.

    A value's bucket grows with the value, whatever is rounded on the way: so what lies below a
    number lies in its bucket or in one before.
    """
    bucket = 0
    for place in range(len(values)):
        own = _bucket(values[place], values[0], scale, len(starts) - 1)
        while bucket <= own:
            starts[bucket] = place
            bucket += 1
    while bucket < len(starts):
        starts[bucket] = len(values)
        bucket += 1


@njit_no_nrt
def rank_codes(
    ticks: NDArray[Any],
    present: NDArray[np.bool_],
    values: NDArray[Any],
    starts: NDArray[np.int64],
    scale: float,
    null_at: int,
    whole: bool,  # noqa: FBT001 # a kernel's argument
    codes: NDArray[np.int64],
) -> int:
    """Write the code of each number, and return how many lie outside of the values.

    Parameters
    ----------
    ticks, present
        The numbers, and which of them are there.
    values, starts, scale
        The values, at least one, and their buckets.
    null_at
        The place that missing cells take among the values; -1 for none.
    whole
        Whether the numbers are integers.
    codes
        Where to write.
    """
    last = len(values) - 1
    outside = 0
    for i in range(len(ticks)):
        if not present[i]:
            codes[i] = STEP * null_at if null_at >= 0 else 0
            continue
        x = ticks[i]
        if x < values[0] or x > values[last]:
            outside += 1
        above = _first_not_below(x, values, starts, scale)
        place, shift = above, 0
        if above > last:
            place, shift = last, 1
        elif values[above] != x:
            shift = -1
            if above > 0 and _nearer(x, values[above - 1], values[above], whole):
                place, shift = above - 1, 1
        if 0 <= null_at <= place:
            place += 1
        codes[i] = STEP * place + shift
    return outside


@njit_no_nrt
def rank_values(
    codes: NDArray[np.int64],
    present: NDArray[np.bool_],
    values: NDArray[Any],
    null_at: int,
    ticks: NDArray[Any],
    kept: NDArray[np.bool_],
) -> int:
    """Write the value of each code and whether it is one; return how many codes stand for none."""
    lost = 0
    for i in range(len(codes)):
        kept[i] = False
        ticks[i] = 0
        if not present[i]:
            continue
        place, rest = codes[i] // STEP, codes[i] % STEP
        if rest == 0 and place == null_at and null_at >= 0:
            continue
        if 0 <= null_at < place:
            place -= 1
        if rest != 0 or place < 0 or place >= len(values):
            lost += 1
            continue
        ticks[i] = values[place]
        kept[i] = True
    return lost


@njit_no_nrt
def find_places(
    ticks: NDArray[Any],
    present: NDArray[np.bool_],
    values: NDArray[Any],
    starts: NDArray[np.int64],
    scale: float,
    places: NDArray[np.int64],
) -> None:
    """Write the place of each number among the values; -1 if it is none, -2 if it is missing."""
    for i in range(len(ticks)):
        if not present[i]:
            places[i] = -2
            continue
        place = _first_not_below(ticks[i], values, starts, scale)
        places[i] = place if place < len(values) and values[place] == ticks[i] else -1


@njit_no_nrt
def _bucket(x: float, low: float, scale: float, n_buckets: int) -> int:
    """Return the bucket of a number from the lowest value to the highest.

    A scale of 0 stands for one bucket: of one value, or where a distance may be infinite.
    """
    if scale == 0:
        return 0
    return min(n_buckets - 1, int((np.float64(x) - np.float64(low)) * scale))


@njit_no_nrt
def _first_not_below(
    x: float, values: NDArray[Any], starts: NDArray[np.int64], scale: float
) -> int:
    """Return the place of the first value that isn't below a number."""
    if x <= values[0]:
        return 0
    if x > values[len(values) - 1]:
        return len(values)
    bucket = _bucket(x, values[0], scale, len(starts) - 1)
    low, high = starts[bucket], starts[bucket + 1]
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < x:
            low = middle + 1
        else:
            high = middle
    return int(low)


@njit_no_nrt
def _nearer(x: float, below: float, above: float, whole: bool) -> bool:  # noqa: FBT001 # as above
    """Return whether a number lies at or below the middle of two others."""
    if whole:
        # Differences of int64 extremes wrap around to the right unsigned number.
        return bool(np.uint64(x) - np.uint64(below) <= np.uint64(above) - np.uint64(x))
    # Scikit-learn's own middle; halves first, where the sum would overflow.
    return bool(x <= below / 2 + above / 2)
