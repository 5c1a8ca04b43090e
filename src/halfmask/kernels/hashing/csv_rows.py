"""From the bytes of delimited text to hashed rows, without a table in between.

Cells are taken column by column, a few hundred rows at a time: one key and one way to hash at a
time, many cells side by side, and all of it stays in the cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit_unchecked
from halfmask.kernels.hashing.siphash import hash_words
from halfmask.kernels.hashing.siphash_lanes import LANES, hash_cells
from halfmask.kernels.text.plain_numbers import number_at, whole_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BINNED", "CELLS", "LABEL", "LOGGED", "NUMBER", "SKIPPED", "TEXT", "WHOLE", "hash_rows"]

#: What is done with a column: nothing, its texts or whole numbers are hashed, its numbers are put
#: into bins whose indices are known, its cells or its numbers are handed on as labels.
SKIPPED = 0
TEXT = 1
WHOLE = 2
BINNED = 3
LOGGED = 4
CELLS = 5
NUMBER = 6
LABEL = (CELLS, NUMBER)
_RETURN, _NEWLINE = np.uint8(13), np.uint8(10)
#: Up to here it is faster to look at all edges than to search among them.
_MOST_COUNTED = 128


@njit_unchecked
def _bounds(
    data: NDArray[np.uint8],
    places: NDArray[np.int32],
    first: int,
    column: int,
    width: int,
    quote: np.uint8,
    quoted: bool,  # noqa: FBT001 # by place: numba knows no keywords
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
) -> bool:
    """Write where the cells of some rows begin and end; return whether all are plain."""
    for i in range(len(starts)):
        k = (first + i) * width + column
        start = np.int64(places[k - 1]) + 1 if k > 0 else 0
        stop = np.int64(places[k])
        if column == width - 1 and stop > start and data[stop - 1] == _RETURN:
            stop -= 1
        if quoted and stop > start:
            if data[start] == quote:
                if stop - start < 2 or data[stop - 1] != quote:
                    return False
                start += 1
                stop -= 1
            for at in range(start, stop):
                if data[at] == quote:
                    return False
        starts[i], stops[i] = start, stop
    return True


@njit_unchecked
def rows_end_alike(
    data: NDArray[np.uint8], places: NDArray[np.int32], count: int, width: int
) -> bool:
    """Return whether each row has `width` cells."""
    if count % width:
        return False
    for row in range(0, count, width):
        for k in range(row, row + width - 1):
            if data[places[k]] == _NEWLINE:
                return False
        if data[places[row + width - 1]] != _NEWLINE:
            return False
    return True


@njit_unchecked
def _bins(
    numbers: NDArray[np.float64], edges: NDArray[np.float64], codes: NDArray[np.int32]
) -> None:
    """Write how many edges are at most each number; for NaN one more than there are edges."""
    for i in range(len(numbers)):
        codes[i] = 0
    if len(edges) <= _MOST_COUNTED:
        for j in range(len(edges)):
            edge = edges[j]
            for i in range(len(numbers)):
                codes[i] += edge <= numbers[i]
    else:
        for i in range(len(numbers)):
            low, high = 0, len(edges)
            while low < high:
                middle = (low + high) // 2
                if edges[middle] <= numbers[i]:
                    low = middle + 1
                else:
                    high = middle
            codes[i] = low
    for i in range(len(numbers)):
        if numbers[i] != numbers[i]:
            codes[i] = len(edges) + 1


@njit_unchecked
def hash_rows(
    data: NDArray[np.uint8],
    places: NDArray[np.int32],
    quote: np.uint8,
    quoted: bool,  # noqa: FBT001 # by place: numba knows no keywords
    whats: NDArray[np.int8],
    slots: NDArray[np.int64],
    keys: NDArray[np.uint64],
    missing: NDArray[np.uint32],
    tables: NDArray[np.uint32],
    table_starts: NDArray[np.int64],
    edges: NDArray[np.float64],
    edge_starts: NDArray[np.int64],
    log_bits: int,
    mask: np.uint64,
    indices: NDArray[np.uint32],
    label_bounds: NDArray[np.int64],
    label_numbers: NDArray[np.float64],
    room: NDArray[np.uint64],
    numbers: NDArray[np.float64],
    codes: NDArray[np.int32],
    bounds: NDArray[np.int64],
    words: NDArray[np.uint64],
) -> bool:
    """Write the indices and the labels of rows.

    Parameters
    ----------
    data, quote, quoted, places
        As :func:`halfmask.kernels.text.separators.find_separators` takes and writes them; as many
        places as rows have cells.
    whats, slots
        What is done with each column, and which of a row's indices it gives.
    keys, missing
        Of each column: the two words of its key, and the index of a missing cell.
    tables, table_starts
        The indices of all bins, and where those of each column begin.
    edges, edge_starts
        The edges of `BINNED` columns, and where those of each begin; one start more than columns.
    log_bits
        How many bits of a number's fraction count in `LOGGED` columns.
    mask
        The bits of a hash that are an index.
    indices
        Written, (rows, features).
    label_bounds
        Written, (2, rows), if there is a column of `CELLS`: where each label begins and ends.
    label_numbers
        Written, (rows,), if there is one of `NUMBER`; a missing one is NaN.
    room, numbers, codes, bounds, words
        `ROOM`, `LANES`, `LANES`, (3, `LANES`) and (`LANES`, 1) elements, overwritten.

    Returns
    -------
    bool
        Whether all cells were plain, numbers without zeros in front included. If not, what was
        written is of no meaning.
    """
    width, rows = len(whats), len(indices)
    if not rows_end_alike(data, places, rows * width, width):
        return False
    found = bounds[2].view(np.uint64)
    for first in range(0, rows, LANES):
        n = min(LANES, rows - first)
        starts, stops, hashes = bounds[0, :n], bounds[1, :n], found[:n]
        for column in range(width):
            what, slot = whats[column], slots[column]
            if what == SKIPPED:
                continue
            if not _bounds(data, places, first, column, width, quote, quoted, starts, stops):
                return False
            if what == TEXT:
                hash_cells(data, starts, stops, keys[column, 0], keys[column, 1], hashes, room)
                for i in range(n):
                    index = np.uint32(hashes[i] & mask)
                    indices[first + i, slot] = index if stops[i] > starts[i] else missing[column]
            elif what == WHOLE:
                for i in range(n):
                    words[i, 0] = 0
                    if stops[i] > starts[i] and not whole_at(
                        data, starts[i], stops[i], words[i].view(np.int64)
                    ):
                        return False
                hash_words(words[:n], keys[column, 0], keys[column, 1], hashes)
                for i in range(n):
                    index = np.uint32(hashes[i] & mask)
                    indices[first + i, slot] = index if stops[i] > starts[i] else missing[column]
            elif what == CELLS:
                for i in range(n):
                    label_bounds[0, first + i], label_bounds[1, first + i] = starts[i], stops[i]
            else:
                for i in range(n):
                    numbers[i] = np.nan
                    if stops[i] > starts[i]:
                        numbers[i] = number_at(data, starts[i], stops[i])
                        if numbers[i] == np.inf:
                            return False
                if what == NUMBER:
                    for i in range(n):
                        label_numbers[first + i] = numbers[i]
                    continue
                if what == BINNED:
                    _bins(
                        numbers[:n], edges[edge_starts[column] : edge_starts[column + 1]], codes[:n]
                    )
                else:
                    bits = numbers.view(np.uint64)
                    for i in range(n):
                        codes[i] = np.int32(bits[i] >> np.uint64(52 - log_bits))
                        if numbers[i] != numbers[i]:
                            codes[i] = 1 << (12 + log_bits)
                start = table_starts[column]
                for i in range(n):
                    indices[first + i, slot] = tables[start + codes[i]]
    return True
