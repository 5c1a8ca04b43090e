"""Sums over the rows that agree with each row, where a missing cell agrees with every value.

Rows that ask and rows that are offered are split by one column after another. An offered row with
a missing cell goes to every part, an asking row with one meets all that are offered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["agreeing_sums"]

#: So few pairs are compared one by one.
_FEW_PAIRS = 256


@njit()
def agreeing_sums(
    asked: NDArray[np.int32], offered: NDArray[np.int32], sums: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Add up the offered sums that agree with each combination that is asked.

    Parameters
    ----------
    asked, offered
        Combinations of codes, -1 where a cell is missing: (columns, combinations).
    sums
        The numbers of each offered combination: (combinations, numbers).

    Returns
    -------
    ndarray
        The sums of each asked combination: (combinations, numbers).
    """
    n_columns, n_asked = asked.shape
    n_offered = offered.shape[1]
    found = np.zeros((n_asked, sums.shape[1]))
    if n_asked == 0 or n_offered == 0:
        return found
    widest = max(np.int64(asked.max()), np.int64(offered.max()), np.int64(0))
    tally = np.zeros((4, widest + 1), dtype=np.int64)
    touched = np.empty(widest + 1, dtype=np.int64)
    asking = [np.empty(n_asked, dtype=np.int32) for _ in range(n_columns + 1)]
    giving = [np.empty(n_offered, dtype=np.int32) for _ in range(n_columns + 1)]
    # The parts of each depth: where they start and end among those that ask and are offered.
    parts = [np.zeros((1, 4), dtype=np.int64) for _ in range(n_columns + 1)]
    n_parts = np.zeros(n_columns + 1, dtype=np.int64)
    following = np.zeros(n_columns + 1, dtype=np.int64)
    # Loops, no slices on the left: for those numba compiles the texts of errors, for two seconds.
    for i in range(n_asked):
        asking[0][i] = i
    for i in range(n_offered):
        giving[0][i] = i
    parts[0][0, 1], parts[0][0, 3] = n_asked, n_offered
    n_parts[0] = 1
    depth = 0
    while depth >= 0:
        if following[depth] == n_parts[depth]:
            depth -= 1
            continue
        first, last, start, end = parts[depth][following[depth]]
        following[depth] += 1
        mine, theirs = asking[depth], giving[depth]
        if depth == n_columns:
            _add_all(mine[first:last], theirs[start:end], sums, found)
            continue
        if last - first == 1 or (last - first) * (end - start) <= _FEW_PAIRS:
            _add_pairs(mine[first:last], theirs[start:end], depth, asked, offered, sums, found)
            continue
        wild, n_touched = 0, 0
        for i in range(first, last):
            code = asked[depth, mine[i]]
            if code < 0:
                wild += 1
                continue
            if tally[0, code] == 0:
                touched[n_touched] = code
                n_touched += 1
            tally[0, code] += 1
        missing = 0
        for i in range(start, end):
            code = offered[depth, theirs[i]]
            if code < 0:
                missing += 1
            elif tally[0, code] > 0:
                tally[1, code] += 1
        if n_touched + 1 > len(parts[depth + 1]):
            parts[depth + 1] = np.zeros((2 * n_touched + 1, 4), dtype=np.int64)
        below, n_below, at, place = parts[depth + 1], 0, 0, 0
        for t in range(n_touched):
            code = touched[t]
            held = tally[1, code] + missing
            if held == 0:
                tally[2, code] = -1
                continue
            tally[2, code], tally[3, code] = at, place
            below[n_below, 0], below[n_below, 1] = at, at + tally[0, code]
            below[n_below, 2], below[n_below, 3] = place, place + held
            n_below += 1
            at += tally[0, code]
            place += held
        if wild > 0:
            below[n_below, 0], below[n_below, 1] = at, at + wild
            below[n_below, 2], below[n_below, 3] = place, place + end - start
            n_below += 1
        room = place + (end - start if wild > 0 else 0)
        if room > len(giving[depth + 1]):
            giving[depth + 1] = np.empty(room + room // 2, dtype=np.int32)
        out, given = asking[depth + 1], giving[depth + 1]
        for i in range(first, last):
            code = asked[depth, mine[i]]
            if code < 0:
                out[at] = mine[i]
                at += 1
            elif tally[2, code] >= 0:
                out[tally[2, code]] = mine[i]
                tally[2, code] += 1
        for i in range(start, end):
            code = offered[depth, theirs[i]]
            if code < 0:
                for t in range(n_touched):
                    given[tally[3, touched[t]]] = theirs[i]
                    tally[3, touched[t]] += 1
            elif tally[0, code] > 0:
                given[tally[3, code]] = theirs[i]
                tally[3, code] += 1
        if wild > 0:
            for i in range(end - start):
                given[place + i] = theirs[start + i]
        for t in range(n_touched):
            tally[:, touched[t]] = 0
        n_parts[depth + 1], following[depth + 1] = n_below, 0
        depth += 1
    return found


@njit()
def _add_all(
    mine: NDArray[np.int32],
    theirs: NDArray[np.int32],
    sums: NDArray[np.float64],
    found: NDArray[np.float64],
) -> None:
    """Add the sums of all that are offered to each that asks."""
    for number in range(sums.shape[1]):
        total = 0.0
        for j in range(len(theirs)):
            total += sums[theirs[j], number]
        for i in range(len(mine)):
            found[mine[i], number] += total


@njit()
def _add_pairs(
    mine: NDArray[np.int32],
    theirs: NDArray[np.int32],
    depth: int,
    asked: NDArray[np.int32],
    offered: NDArray[np.int32],
    sums: NDArray[np.float64],
    found: NDArray[np.float64],
) -> None:
    """Compare each pair on the columns that are left."""
    n_columns = asked.shape[0]
    for i in range(len(mine)):
        for j in range(len(theirs)):
            agrees = True
            for column in range(depth, n_columns):
                own, other = asked[column, mine[i]], offered[column, theirs[j]]
                if own != other and own >= 0 and other >= 0:
                    agrees = False
                    break
            if agrees:
                for number in range(sums.shape[1]):
                    found[mine[i], number] += sums[theirs[j], number]
