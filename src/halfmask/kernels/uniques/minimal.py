"""Minimal sample uniques: sets of columns on which a row is alone, and on no part of them.

Sets of columns are visited from one to the next that has one column more, and only the rows that
are not alone yet are kept, in groups of rows that agree. A set is visited after all of its parts,
so that a row which is alone on it is compared with what was found for the parts. The search is that
of A. Manning, D. Haglin and J. Keane, "A recursive search algorithm for statistical disclosure
assessment", Data Mining and Knowledge Discovery 16, 2008.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from halfmask.kernels.compiling import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Alone", "minimal_uniques"]


class Alone(NamedTuple):
    """What is found for each candidate, written in place.

    Attributes
    ----------
    score
        The sum of the weights of its minimal uniques: (candidates,).
    parts
        The same over those that hold a column: (candidates, columns).
    smallest
        The size of its smallest minimal unique, 0 for none: (candidates,).
    by_size
        How many minimal uniques of each size there are over all candidates: (largest + 1,).
    bits
        On which sets it was found alone: (sets of up to largest - 1 columns, bytes of candidates).
    """

    score: NDArray[np.float64]
    parts: NDArray[np.float64]
    smallest: NDArray[np.int8]
    by_size: NDArray[np.int64]
    bits: NDArray[np.uint8]


@njit()
def minimal_uniques(
    codes: NDArray[np.int32],
    candidate: NDArray[np.int32],
    weights: NDArray[np.float64],
    binomials: NDArray[np.int64],
    limit: int,
    found: Alone,
) -> bool:
    """Find the minimal uniques of all candidates.

    Parameters
    ----------
    codes
        The cells, -1 where one is missing and may be any value: (columns, combinations).
    candidate
        The number of each combination among the candidates, those of one row; -1 for others.
    weights
        The weight of a minimal unique of each size, (largest + 1,).
    binomials
        Binomial coefficients, (columns + 1, largest + 1).
    limit
        How many entries the groups of one set may have: missing cells stand in several groups.
    found
        Written.

    Returns
    -------
    bool
        Whether the groups stayed within the limit. If not, what is found is incomplete.
    """
    n_columns, n_rows = codes.shape
    largest = len(weights) - 1
    first_present = np.full(n_rows, n_columns, dtype=np.int32)
    widest = np.int64(0)
    for j in range(n_columns - 1, -1, -1):
        for i in range(n_rows):
            if codes[j, i] >= 0:
                first_present[i] = j
                widest = max(widest, np.int64(codes[j, i]))
    tally = np.zeros((3, widest + 1), dtype=np.int64)
    touched = np.empty(widest + 1, dtype=np.int64)
    entries = [np.empty(n_rows, dtype=np.int32) for _ in range(largest + 1)]
    starts = [np.zeros(n_rows + 2, dtype=np.int64) for _ in range(largest + 1)]
    for i in range(n_rows):
        entries[0][i] = i if candidate[i] >= 0 else ~i
    starts[0][1] = n_rows
    n_groups = np.zeros(largest + 1, dtype=np.int64)
    n_groups[0] = 1
    chosen = np.full(largest + 2, n_columns, dtype=np.int64)
    following = np.zeros(largest + 2, dtype=np.int64)
    parts_of = np.zeros(largest + 1, dtype=np.int64)
    depth = 0
    while depth >= 0:
        if following[depth] == chosen[depth]:
            depth -= 1
            continue
        column = following[depth]
        following[depth] += 1
        size = depth + 1
        chosen[size] = column
        own = _parts_of(chosen, size, n_columns, binomials, parts_of) if largest > 1 else 0
        out, out_starts = entries[size], starts[size]
        used, groups = 0, 0
        for group in range(n_groups[depth]):
            first, last = starts[depth][group], starts[depth][group + 1]
            source = entries[depth]
            wild, n_touched, stuck = 0, 0, False
            for i in range(first, last):
                entry = source[i]
                row = entry if entry >= 0 else ~entry
                code = codes[column, row]
                if code < 0:
                    wild += 1
                    stuck = stuck or first_present[row] > column
                    continue
                if tally[0, code] == 0:
                    touched[n_touched] = code
                    n_touched += 1
                tally[0, code] += 1
                if entry >= 0:
                    tally[1, code] += 1
                elif column > 0 and first_present[row] == column:
                    tally[1, code] -= n_rows  # nothing tells it from a candidate in larger sets
            for t in range(n_touched):
                code = touched[t]
                held = tally[0, code] + wild
                tally[2, code] = -1
                if tally[1, code] <= 0 or stuck:
                    continue
                if held == 1:
                    tally[2, code] = -2
                    continue
                if size == largest or column == 0:
                    continue
                if used + held > len(out):
                    if used + held > limit:
                        return False
                    larger = np.empty(2 * (used + held), dtype=np.int32)
                    for at in range(used):
                        larger[at] = out[at]
                    out = larger
                if groups + 2 > len(out_starts):
                    more = np.zeros(2 * len(out_starts), dtype=np.int64)
                    for at in range(groups + 1):
                        more[at] = out_starts[at]
                    out_starts = more
                tally[2, code] = used
                used += held
                groups += 1
                out_starts[groups] = used
            for i in range(first, last):
                entry = source[i]
                row = entry if entry >= 0 else ~entry
                code = codes[column, row]
                if code < 0:
                    continue
                place = tally[2, code]
                if place >= 0:
                    out[place] = entry
                    tally[2, code] += 1
                elif place == -2:
                    _note(candidate[row], size, own, parts_of, chosen, weights, found)
            if wild > 0 and not stuck:
                for i in range(first, last):
                    entry = source[i]
                    row = entry if entry >= 0 else ~entry
                    if codes[column, row] < 0:
                        for t in range(n_touched):
                            code = touched[t]
                            if tally[2, code] >= 0:
                                out[tally[2, code]] = ~row
                                tally[2, code] += 1
            for t in range(n_touched):
                tally[0, touched[t]] = 0
                tally[1, touched[t]] = 0
        entries[size], starts[size] = out, out_starts
        n_groups[size] = groups
        if groups > 0:
            following[size] = 0
            depth = size
    return True


@njit()
def _parts_of(
    chosen: NDArray[np.int64],
    size: int,
    n_columns: int,
    binomials: NDArray[np.int64],
    parts_of: NDArray[np.int64],
) -> int:
    """Return the number of a set among all sets; write those of its parts with the last column."""
    for out in range(1, size + 1):
        rank, place = np.int64(0), 1
        for i in range(size, 0, -1):
            if i != out or out == size:
                rank += binomials[chosen[i], place]
                place += 1
        smaller = size if out == size else size - 1
        for each in range(1, smaller):
            rank += binomials[n_columns, each]
        parts_of[out] = rank
    return int(parts_of[size])


@njit()
def _note(
    own: int,
    size: int,
    number: int,
    parts_of: NDArray[np.int64],
    chosen: NDArray[np.int64],
    weights: NDArray[np.float64],
    found: Alone,
) -> None:
    """Note that a candidate is alone on a set of columns: a minimal unique, or not."""
    byte, bit = own >> 3, np.uint8(1 << (own & 7))
    if size < len(weights) - 1:
        found.bits[number, byte] |= bit
    for out in range(1, size):
        if found.bits[parts_of[out], byte] & bit:
            return
    found.by_size[size] += 1
    found.score[own] += weights[size]
    for i in range(1, size + 1):
        found.parts[own, chosen[i]] += weights[size]
    if found.smallest[own] == 0 or size < found.smallest[own]:
        found.smallest[own] = size
