"""Which rows at the rim of a cell cost the others more than they are worth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from halfmask.kernels.compiling import njit
from halfmask.kernels.partition.criteria import Int, Rules, rules_hold

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Moves", "best_moves"]


class Moves(NamedTuple):
    """For each cell the suppression that pays best, (cells,) each.

    Attributes
    ----------
    gain
        By how much the sum of the rows' losses falls; 0 where none pays.
    cost
        How many rows it suppresses.
    column, code
        The rows: those of the cell with this code in this column.
    """

    gain: NDArray[np.float64]
    cost: NDArray[np.int64]
    column: NDArray[np.int64]
    code: NDArray[np.int64]


@njit()
def best_moves(
    codes: NDArray[np.unsignedinteger[Any]],
    sensitive: NDArray[np.unsignedinteger[Any]],
    starts: NDArray[np.int64],
    scale: NDArray[np.float64],
    k: int,
    rules: Rules,
    moves: Moves,
) -> None:
    """Find for each cell the rim whose suppression pays best.

    A row's loss is the mean over the columns of its cell's normalized width, a suppressed row's is
    1. A rim is all rows of a cell that have its least, or its greatest, code in one column.

    Parameters
    ----------
    codes
        The rows, cell after cell, (columns, rows).
    sensitive
        The same rows' sensitive codes, (sensitive columns, rows).
    starts
        Where each cell starts, (cells + 1,).
    scale
        What one code's step is worth, (columns,).
    k, rules
        What the rows that stay must keep.
    moves
        Written.
    """
    n_columns = codes.shape[0]
    counts = np.zeros((4, rules.offsets[-1] + 1), dtype=np.int64)
    scratch = np.zeros((4, rules.offsets[-1]), dtype=np.float64)
    rims = np.zeros((n_columns, 6), dtype=np.int64)
    for cell in range(starts.shape[0] - 1):
        first, last = starts[cell], starts[cell + 1]
        moves.gain[cell], moves.cost[cell] = 0.0, 0
        size = last - first
        if size <= k:
            continue
        loss = 0.0
        for j in range(n_columns):
            _rims(codes[j], first, last, rims[j])
            loss += (rims[j, 3] - rims[j, 0]) * scale[j] / n_columns
        for j in range(n_columns):
            for side in range(2):
                edge, count, inner = rims[j, 3 * side], rims[j, 3 * side + 1], rims[j, 3 * side + 2]
                if inner < 0 or size - count < k:
                    continue
                saved = abs(edge - inner) * scale[j] / n_columns * (size - count)
                gain = saved - count * (1.0 - loss)
                if gain > moves.gain[cell] and _rest_holds(
                    codes[j], sensitive, first, last, edge, count, rules, counts, scratch
                ):
                    moves.gain[cell], moves.cost[cell] = gain, count
                    moves.column[cell], moves.code[cell] = j, edge


@njit()
def _rims(
    codes: NDArray[np.unsignedinteger[Any]],
    first: Int,
    last: Int,
    rims: NDArray[np.int64],
) -> None:
    """Write the least code, how many rows have it, and the next; the same from the greatest."""
    least, n_least, above = np.int64(np.iinfo(np.int64).max), 0, np.int64(-1)
    most, n_most, below = np.int64(-1), 0, np.int64(-1)
    for i in range(first, last):
        code = np.int64(codes[i])
        if code < least:
            above = least if n_least > 0 else np.int64(-1)
            least, n_least = code, 1
        elif code == least:
            n_least += 1
        elif above < 0 or code < above:
            above = code
        if code > most:
            below = most
            most, n_most = code, 1
        elif code == most:
            n_most += 1
        elif code > below:
            below = code
    rims[0], rims[1], rims[2] = least, n_least, above
    rims[3], rims[4], rims[5] = most, n_most, below


@njit()
def _rest_holds(
    codes: NDArray[np.unsignedinteger[Any]],
    sensitive: NDArray[np.unsignedinteger[Any]],
    first: Int,
    last: Int,
    edge: Int,
    count: Int,
    rules: Rules,
    counts: NDArray[np.int64],
    scratch: NDArray[np.float64],
) -> bool:
    """Return whether a cell without its rows of one code keeps every rule."""
    if rules.kinds.shape[0] == 0:
        return True
    for value in range(rules.offsets[-1]):
        counts[0, value] = 0
    for i in range(first, last):
        if codes[i] != edge:
            for s in range(sensitive.shape[0]):
                counts[0, rules.offsets[s] + sensitive[s, i]] += 1
    return bool(rules_hold(counts, 0, last - first - count, rules, scratch, False))
