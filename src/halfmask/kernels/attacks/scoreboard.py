"""Scores of traces by facts: how well each trace of events fits what is known of somebody.

Rows are sorted by item and then by time, so that a fact meets the rows of its item within a window
of time and no others. All scratch is the caller's: nothing is allocated here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit_unchecked

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["scoreboard"]

#: A fact fits a trace where its best row agrees by at least a half; supports are counted by it.
_HALF = 0.5
#: Beyond so many decays an agreement in time is next to nothing.
_DECAYS = 3.0
#: Scores that differ by less are equal: they were added up in the same order.
_TIE = 1e-12


@njit_unchecked
def _first_at(time: NDArray[np.float64], low: int, high: int, least: float) -> int:
    """Return the first of some sorted times that isn't below a least one."""
    while low < high:
        middle = (low + high) >> 1
        if time[middle] < least:
            low = middle + 1
        else:
            high = middle
    return low


@njit_unchecked
def _meet(
    trace: NDArray[np.int32],
    time: NDArray[np.float64],
    numbers: NDArray[np.float64],
    start: int,
    stop: int,
    timed: bool,  # noqa: FBT001 # by place: numba knows no keywords
    earliest: float,
    latest: float,
    decay: float,
    fact: NDArray[np.float64],
    scales: NDArray[np.float64],
    reaches: NDArray[np.float64],
    best: NDArray[np.float64],
    fitting: NDArray[np.bool_],
    met: NDArray[np.int32],
) -> int:
    """Note of each trace how well its best row agrees with one fact; return how many were met."""
    n_met = 0
    seen, shared = -np.inf, 0.0
    width = len(scales)
    terms = width + 1 if timed else width
    for row in range(start, stop):
        total, fits = 0.0, True
        if timed:
            if time[row] > latest + _DECAYS * decay:
                break
            off = max(earliest - time[row], time[row] - latest)
            if time[row] != seen:  # rows of one time follow each other
                seen = time[row]
                shared = np.exp(-off / decay) if off > 0.0 else 1.0
            fits = off <= 0.0
            total += shared
        for k in range(width):
            off = abs(numbers[row, k] - fact[k])
            if not off <= reaches[k]:
                fits = False
            if off == 0.0:
                total += 1.0
            elif scales[k] > 0.0 and off < np.inf:
                total += np.exp(-off / scales[k])
        agreement = total / terms if terms else 1.0
        which = trace[row]
        if best[which] < 0.0:
            met[n_met] = which
            n_met += 1
            best[which] = agreement
            fitting[which] = fits
        else:
            best[which] = max(best[which], agreement)
            fitting[which] = fitting[which] or fits
    return n_met


@njit_unchecked
def _lead(
    touched: NDArray[np.int32],
    n_touched: int,
    score: NDArray[np.float64],
    fits: NDArray[np.int64],
    needed: int,
) -> tuple[int, float, int, int]:
    """Return the best trace, its lead, how many traces match and one of them; clear the scores."""
    first, second, leader = 0.0, 0.0, -1
    total, squares, matching, sole = 0.0, 0.0, 0, -1
    for k in range(n_touched):
        which = touched[k]
        value = score[which]
        total += value
        squares += value * value
        if value > first + _TIE:
            first, second, leader = value, first, which
        else:
            second = max(second, value)
            if value >= first - _TIE:
                leader = min(leader, which)
        if fits[which] >= needed:
            matching += 1
            sole = which
        score[which] = 0.0
        fits[which] = 0
    n = len(score)
    spread = np.sqrt(max(squares / n - (total / n) ** 2, 0.0))
    lead = first - second
    return leader, lead / spread if spread > 0.0 and lead > _TIE else 0.0, matching, sole


@njit_unchecked
def scoreboard(
    trace: NDArray[np.int32],
    time: NDArray[np.float64],
    numbers: NDArray[np.float64],
    item_starts: NDArray[np.int64],
    offsets: NDArray[np.int64],
    fact_item: NDArray[np.int64],
    fact_time: NDArray[np.float64],
    fact_numbers: NDArray[np.float64],
    fact_weight: NDArray[np.float64],
    needed: NDArray[np.int64],
    timed: bool,  # noqa: FBT001 # by place: numba knows no keywords
    low: float,
    high: float,
    decay: float,
    scales: NDArray[np.float64],
    reaches: NDArray[np.float64],
    best: NDArray[np.float64],
    fitting: NDArray[np.bool_],
    met: NDArray[np.int32],
    score: NDArray[np.float64],
    fits: NDArray[np.int64],
    touched: NDArray[np.int32],
    top: NDArray[np.int64],
    eccentricity: NDArray[np.float64],
    n_fit: NDArray[np.int64],
    sole: NDArray[np.int64],
) -> None:
    """Score all traces by the facts about each target.

    Parameters
    ----------
    trace, time, numbers
        Of each row, sorted by item and then by time (missing times last, as infinity).
    item_starts
        The first row of each item, and the number of rows.
    offsets
        The first fact about each target, and the number of facts.
    fact_item, fact_time, fact_numbers, fact_weight
        What is known; an item of -1 is in no row.
    needed
        How many facts a trace must fit to be a match.
    timed, low, high, decay
        Whether times are compared; by how many seconds a row's may lie behind a fact's at least and
        at most, and by how many more its agreement falls to 1/e.
    scales, reaches
        Of each number, by how much an agreement falls to 1/e, and up to where it fits.
    best, fitting, met, score, fits, touched
        Scratch, one for each trace: -1, anything, anything, 0, 0, anything.
    top, eccentricity, n_fit, sole
        Of each target: the best trace (-1: none), by how many standard deviations of all scores it
        leads, how many traces fit all that is needed, and one of them.
    """
    for target in range(len(offsets) - 1):
        n_touched = 0
        for fact in range(offsets[target], offsets[target + 1]):
            item = fact_item[fact]
            if item < 0:
                continue
            start, stop = item_starts[item], item_starts[item + 1]
            earliest, latest = fact_time[fact] + low, fact_time[fact] + high
            if timed:
                start = _first_at(time, start, stop, earliest - _DECAYS * decay)
            n_met = _meet(
                trace, time, numbers, start, stop, timed, earliest, latest, decay,
                fact_numbers[fact], scales, reaches, best, fitting, met,
            )  # fmt: skip
            support = 0
            for k in range(n_met):
                support += best[met[k]] >= _HALF
            weight = fact_weight[fact] / np.log(1.0 + max(support, 1))
            for k in range(n_met):
                which = met[k]
                if score[which] == 0.0 and best[which] > 0.0:
                    touched[n_touched] = which
                    n_touched += 1
                score[which] += weight * best[which]
                fits[which] += fitting[which]
                best[which] = -1.0
        top[target], eccentricity[target], n_fit[target], sole[target] = _lead(
            touched, n_touched, score, fits, needed[target]
        )
