"""Classes, unique rows and pairs of equal rows on every set of up to so many columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["count_sets"]


@njit()
def count_sets(
    codes: NDArray[np.int32],
    rows: NDArray[np.int64],
    largest: int,
    sets: NDArray[np.int16],
    counts: NDArray[np.int64],
) -> None:
    """Count on every set of columns, from one to the next that has one column more.

    Combinations that agree with no other stay apart in all larger sets: only their sums are kept.

    Parameters
    ----------
    codes
        The cells, (columns, combinations).
    rows
        How many rows have each combination.
    largest
        The most columns of a set.
    sets
        Written: the columns of each set, then -1: (sets, largest).
    counts
        Written: the classes, the rows that are alone in one, and the pairs of rows in the same
        class: (sets, 3).
    """
    n_columns, n_rows = codes.shape
    widest = np.int64(0)
    for j in range(n_columns):
        for i in range(n_rows):
            widest = max(widest, np.int64(codes[j, i]))
    held = np.zeros(widest + 1, dtype=np.int64)
    people = np.zeros(widest + 1, dtype=np.int64)
    place = np.zeros(widest + 1, dtype=np.int64)
    touched = np.empty(widest + 1, dtype=np.int64)
    members = np.empty((largest + 1, n_rows), dtype=np.int32)
    starts = np.zeros((largest + 1, n_rows // 2 + 2), dtype=np.int64)
    for i in range(n_rows):
        members[0, i] = i
    starts[0, 1] = n_rows
    n_groups = np.zeros(largest + 1, dtype=np.int64)
    n_groups[0] = 1
    apart = np.zeros((largest + 1, 3), dtype=np.int64)
    chosen = np.full(largest + 1, -1, dtype=np.int64)
    following = np.zeros(largest + 2, dtype=np.int64)
    depth, number = 0, 0
    while depth >= 0:
        if following[depth] == n_columns:
            depth -= 1
            continue
        column = following[depth]
        following[depth] += 1
        size = depth + 1
        chosen[size] = column
        apart[size] = apart[depth]
        classes, pairs, used, groups = np.int64(0), np.int64(0), np.int64(0), 0
        for group in range(n_groups[depth]):
            first, last = starts[depth, group], starts[depth, group + 1]
            n_touched = 0
            for i in range(first, last):
                row = members[depth, i]
                code = codes[column, row]
                if held[code] == 0:
                    touched[n_touched] = code
                    n_touched += 1
                held[code] += 1
                people[code] += rows[row]
            for t in range(n_touched):
                code = touched[t]
                n = people[code]
                if held[code] == 1:
                    place[code] = -1
                    apart[size, 0] += 1
                    apart[size, 1] += n == 1
                    apart[size, 2] += n * (n - 1) // 2
                else:
                    classes += 1
                    pairs += n * (n - 1) // 2
                    place[code] = used
                    used += held[code]
                    groups += 1
                    starts[size, groups] = used
            if size < largest:
                for i in range(first, last):
                    row = members[depth, i]
                    code = codes[column, row]
                    if place[code] >= 0:
                        members[size, place[code]] = row
                        place[code] += 1
            for t in range(n_touched):
                held[touched[t]] = 0
                people[touched[t]] = 0
        for i in range(1, size + 1):
            sets[number, i - 1] = chosen[i]
        for i in range(size, largest):
            sets[number, i] = -1
        counts[number, 0] = apart[size, 0] + classes
        counts[number, 1] = apart[size, 1]
        counts[number, 2] = apart[size, 2] + pairs
        number += 1
        n_groups[size] = groups
        if size < largest:
            following[size] = column + 1
            depth = size
