"""Times on a grid, from token to token, and clocks that go back: where a zone's clock is even.

Such a zone is as far before UTC at any time: UTC itself, and the zones ``Etc/...``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.kernels.compiling import njit_no_nrt
from halfmask.kernels.text.iso_times import NO_ZONE, NOT_A_TIME, put_time, time_at
from halfmask.kernels.text.wide_loads import AHEAD, fetch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["ANY", "BEFORE", "DOWN", "NEAREST", "STEPS_BACK", "UP", "coarsen_times", "count_back"]

#: Which point of the grid is written.
DOWN, NEAREST, UP = 0, 1, 2
#: What `count_back` knows: whether there was a time, the last one, and how often one went back.
ANY, BEFORE, STEPS_BACK = 0, 1, 2
_NULL, _STRING = 1, 6


@njit_no_nrt
def coarsen_times(
    data: NDArray[np.uint8],
    kinds: NDArray[np.uint8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    zoneless: int,
    behind: int,
    ahead: int,
    earliest: int,
    latest: int,
    every: int,
    origin: int,
    to: int,
    form: int,
    out: NDArray[np.uint8],
    became: NDArray[np.uint8],
    begins: NDArray[np.int64],
    ends: NDArray[np.int64],
    left: NDArray[np.bool_],
) -> int:
    """Write the point of a grid for each text that is a time.

    Parameters
    ----------
    data, kinds, starts, stops
        Tokens of JSON. NULL stays.
    zoneless, behind
        1 if texts may have no zone, and how far their clock is before UTC then, in
        microseconds.
    ahead
        How far the clock that is written is before UTC.
    earliest, latest
        Times that are within, of UTC and of what is written.
    every, origin
        The grid: its points are so many microseconds apart, and one is there.
    to
        `DOWN`, `NEAREST` or `UP`.
    form
        As of `iso_times.write_times`.
    out
        Written; `iso_times.LONGEST` bytes for each slot.
    became, begins, ends
        Written: the kind of what was made, and where it stands.
    left
        Written: which slots have something else, that isn't worked on here.

    Returns
    -------
    int
        How many are left.
    """
    at, others = 0, 0
    for i in range(len(kinds)):
        if i + AHEAD < len(starts):
            fetch(data, starts[i + AHEAD])
        begins[i] = at
        became[i] = 0
        left[i] = False
        if kinds[i] == _STRING:
            time, found = time_at(data, starts[i], stops[i])
            if found == NO_ZONE:
                time -= behind
            clock = time + ahead
            point = (clock - origin) // every * every + origin
            if to == UP:
                point += every if clock > point else 0
            elif to == NEAREST:
                point += every if clock - point >= point + every - clock else 0
            if (
                found == NOT_A_TIME
                or (found == NO_ZONE and not zoneless)
                or not earliest <= time <= latest
                or not earliest <= point <= latest
                or not earliest <= point - ahead <= latest
            ):
                left[i] = True
                others += 1
            else:
                at = put_time(out, at, point, ahead, form)
                became[i] = _STRING
        elif kinds[i] == _NULL:
            became[i] = _NULL
        elif kinds[i] != 0:
            left[i] = True
            others += 1
        ends[i] = at
    return others


@njit_no_nrt
def count_back(
    data: NDArray[np.uint8],
    kinds: NDArray[np.uint8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    zoneless: int,
    behind: int,
    earliest: int,
    latest: int,
    known: NDArray[np.int64],
) -> None:
    """Count how often a time is before the one that came before it.

    Parameters
    ----------
    data, kinds, starts, stops
        Tokens of JSON; what isn't a text that is a time is passed over.
    zoneless, behind, earliest, latest
        As of `coarsen_times`.
    known
        Written: by `ANY`, `BEFORE` and `STEPS_BACK`.
    """
    for i in range(len(kinds)):
        if i + AHEAD < len(starts):
            fetch(data, starts[i + AHEAD])
        if kinds[i] != _STRING:
            continue
        time, found = time_at(data, starts[i], stops[i])
        if found == NO_ZONE:
            time -= behind
        if (
            found == NOT_A_TIME
            or (found == NO_ZONE and not zoneless)
            or not earliest <= time <= latest
        ):
            continue
        if known[ANY] and time < known[BEFORE]:
            known[STEPS_BACK] += 1
        known[ANY], known[BEFORE] = 1, time
