"""From the runs in which Parquet keeps the codes of categories to hashed rows.

A column with a dictionary is a list of codes, in runs: one code many times, or many codes of a few
bits each (Apache Parquet format, "Run Length Encoding / Bit-Packing Hybrid"). The index of each
entry of the dictionary is known beforehand, so that a cell costs a shift and a look into a table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit_unchecked
from halfmask.kernels.text.wide_loads import word_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BLOCK", "READABLE", "find_runs", "place_coded", "spread_levels"]

#: Rows that are written column by column: so many stay in the cache, and so does their buffer.
BLOCK = 1024
#: How many bytes must be readable behind the last one.
READABLE = 8
_MOST_WIDTH = 32
_ONE = np.uint64(1)


@njit_unchecked
def _run(data: NDArray[np.uint8], at: int, end: int, width: int, run: NDArray[np.int64]) -> bool:
    """Read the start of a run: how many values, its code or -1, where its bits are, its end."""
    head, shift = 0, 0
    while True:
        if at >= end or shift > _MOST_WIDTH:
            return False
        byte = int(data[at])
        at += 1
        head |= (byte & 127) << shift
        shift += 7
        if byte < 128:  # no byte follows
            break
    if head & 1:
        run[0], run[1], run[2] = (head >> 1) * 8, -1, at * 8
        # The last run may be cut short.
        run[3] = min(end, at + (head >> 1) * width)
        return True
    size = (width + 7) >> 3
    if size > end - at:
        return False
    code = 0
    for k in range(size):
        code |= int(data[at + k]) << (8 * k)
    run[0], run[1], run[2], run[3] = head >> 1, code, 0, at + size
    return True


@njit_unchecked
def find_runs(
    data: NDArray[np.uint8],
    start: int,
    end: int,
    width: int,
    count: int,
    before: int,
    done: int,
    firsts: NDArray[np.int64],
    places: NDArray[np.int64],
    widths: NDArray[np.uint8],
    run: NDArray[np.int64],
) -> int:
    """Write the runs of a page.

    Parameters
    ----------
    data
        Bytes of pages.
    start, end
        Where the runs of the page begin and end.
    width
        How many bits a code has, up to 32.
    count
        How many codes the page has.
    before
        How many codes the pages before have.
    done
        How many runs are written already.
    firsts, places, widths
        Written from ``done`` on: the number of each run's first code; where its first bit is, or
        -1 less the code if all are the same; and the width. As many as there are bytes will do.
    run
        Four elements, overwritten.

    Returns
    -------
    int
        How many runs are written then; -1 if the bytes aren't runs of so many codes.
    """
    at, seen = start, 0
    if width > _MOST_WIDTH:
        return -1
    while seen < count:
        if done == len(firsts) or not _run(data, at, end, width, run):
            return -1
        here, at = min(run[0], count - seen), run[3]
        if run[1] < 0 and run[2] + here * width > end * 8:
            return -1
        if here == 0:
            continue
        firsts[done], widths[done] = before + seen, width
        places[done] = run[2] if run[1] < 0 else -1 - run[1]
        done += 1
        seen += here
    return done


@njit_unchecked
def spread_levels(
    data: NDArray[np.uint8],
    start: int,
    end: int,
    first: int,
    count: int,
    there: NDArray[np.uint8],
    run: NDArray[np.int64],
) -> int:
    """Write whether each cell of a page is there; return how many are, or -1 if that isn't known.

    Where all are, as in most pages, nothing may be written.

    Parameters
    ----------
    data, start, end, run
        As of `find_runs`; the runs of levels, of one bit each.
    first, count
        Which rows the page has.
    there
        Written, one for each row.
    """
    at, seen, present = start, 0, 0
    while seen < count:
        if not _run(data, at, end, 1, run):
            return -1
        here, at = min(run[0], count - seen), run[3]
        if run[1] > 1 or (run[1] < 0 and run[2] + here > end * 8):
            return -1
        if run[1] == 1 and here == count:
            return count
        row = first + seen
        if run[1] >= 0:
            for i in range(here):
                there[row + i] = run[1]
            present += here * run[1]
        else:
            present += _spread(data, run[2] >> 3, here, there[row : row + here])
        seen += here
    return present


@njit_unchecked
def _spread(data: NDArray[np.uint8], place: int, n: int, there: NDArray[np.uint8]) -> int:
    """Write n bits as bytes; return how many are set."""
    whole = n >> 3
    for j in range(whole):
        byte = data[place + j]
        for k in range(8):
            there[8 * j + k] = (byte >> k) & 1
    for i in range(8 * whole, n):
        there[i] = (data[place + (i >> 3)] >> (i & 7)) & 1
    present = 0
    for i in range(n):
        present += there[i]
    return present


@njit_unchecked
def _run_of(firsts: NDArray[np.int64], code: int) -> int:
    """Return which run a code is in: the last that begins at it or before."""
    low, high = 0, len(firsts)
    while low < high:
        middle = (low + high) // 2
        if firsts[middle] <= code:
            low = middle + 1
        else:
            high = middle
    return max(low - 1, 0)


@njit_unchecked
def _unpack(
    data: NDArray[np.uint8],
    firsts: NDArray[np.int64],
    places: NDArray[np.int64],
    widths: NDArray[np.uint8],
    run: int,
    at: int,
    n: int,
    codes: NDArray[np.uint32],
) -> int:
    """Write n codes from the at-th on; return the run of the last one."""
    done = 0
    while done < n:
        while run + 1 < len(firsts) and firsts[run + 1] <= at + done:
            run += 1
        end = firsts[run + 1] if run + 1 < len(firsts) else at + n
        here = min(n - done, end - at - done)
        if places[run] < 0:
            for i in range(here):
                codes[done + i] = -1 - places[run]
        else:
            width = np.int64(widths[run])
            bit = places[run] + (at + done - firsts[run]) * width
            mask = (_ONE << np.uint64(width)) - _ONE
            for i in range(here):
                codes[done + i] = (word_at(data, bit >> 3) >> np.uint64(bit & 7)) & mask
                bit += width
        done += here
    return run


@njit_unchecked
def place_coded(  # arrays and numbers by place: numba knows no keywords
    data: NDArray[np.uint8],
    firsts: NDArray[np.int64],
    places: NDArray[np.int64],
    widths: NDArray[np.uint8],
    run_starts: NDArray[np.int64],
    there: NDArray[np.uint8],
    before: NDArray[np.int64],
    tables: NDArray[np.uint32],
    table_starts: NDArray[np.int64],
    slots: NDArray[np.int64],
    first: int,
    cursors: NDArray[np.int64],
    codes: NDArray[np.uint32],
    indices: NDArray[np.uint32],
) -> bool:
    """Write the indices of rows whose columns are all codes.

    Parameters
    ----------
    data
        The pages of all columns, and `READABLE` bytes more.
    firsts, places, widths, run_starts
        The runs of all columns, as `find_runs` writes them, and where those of each begin.
    there
        (columns, rows): whether cells are there; looked at where a column lacks some.
    before
        (columns,): how many codes of each column come before the first row; -1 less that number
        where each cell is there.
    tables, table_starts
        The index of each entry of all dictionaries, behind each of them that of a missing cell;
        and where those of each column begin.
    slots
        Which column of the indices each column is written to.
    first
        The first row.
    cursors
        (2, columns), overwritten.
    codes
        `BLOCK` elements and one more, overwritten.
    indices
        (rows, all slots), written.

    Returns
    -------
    bool
        Whether each code is of an entry. If not, what was written is of no meaning.
    """
    width, rows = len(slots), len(indices)
    for c in range(width):
        start = before[c] if before[c] >= 0 else -1 - before[c]
        cursors[0, c] = _run_of(firsts[run_starts[c] : run_starts[c + 1]], start)
        cursors[1, c] = start
    for start in range(0, rows, BLOCK):
        n = min(BLOCK, rows - start)
        for c in range(width):
            low, high = run_starts[c], run_starts[c + 1]
            table, slot = tables[table_starts[c] : table_starts[c + 1]], slots[c]
            needed, row = n, first + start
            if before[c] >= 0:
                needed = 0
                for i in range(n):
                    needed += there[c, row + i]
            if needed and low == high:
                return False
            cursors[0, c] = _unpack(
                data, firsts[low:high], places[low:high], widths[low:high], cursors[0, c],
                cursors[1, c], needed, codes,
            )  # fmt: skip
            cursors[1, c] += needed
            # The table's last element is of missing cells: no code is that.
            last, highest = np.uint32(len(table) - 1), np.uint32(0)
            for i in range(needed):
                highest = max(highest, codes[i])
            if needed and highest >= last:
                return False
            if before[c] < 0:
                for i in range(n):
                    indices[start + i, slot] = table[codes[i]]
            else:
                k = 0
                for i in range(n):
                    is_there = there[c, row + i]
                    # What lies behind the last code is read, and not used.
                    code = codes[k] if is_there else last
                    indices[start + i, slot] = table[code]
                    k += is_there
    return True
