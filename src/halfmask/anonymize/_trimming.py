"""Suppression that pays: rows at the rim of a cell that widen it for all the others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from halfmask.anonymize._growth import engine_rules

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.anonymize._fitted import Fitted
    from halfmask.anonymize._partition import Partition

__all__ = ["trim"]

#: A cell gives up one rim a round; more rounds than this find next to nothing.
MOST_ROUNDS = 8


def trim(fitted: Fitted, *, max_rows: int) -> Fitted:
    """Suppress the rows whose going saves the others more than it costs.

    Parameters
    ----------
    fitted
        Cells that keep every guarantee, and all their rows.
    max_rows
        How many rows may be suppressed in all.

    Returns
    -------
    Fitted
        Narrower cells; ``cell_of_row`` is -1 for a suppressed row.

    Notes
    -----
    **Guarantees.** Every cell still keeps every guarantee, no cell vanishes, and the sum of the
    rows' losses (a cell's mean normalized width; 1 for a suppressed row) is lower than before, or
    nothing was done. Greedy: in each round every cell offers its best rim, and those that save most
    for each suppressed row are taken while they fit.

    **Edge cases.** Nothing is trimmed where t-closeness is promised: suppression would move the
    distribution that all classes are held against.
    """
    rules, k = engine_rules(fitted.guarantees, fitted.sensitive)
    if max_rows < 1 or any(guarantee.relative for guarantee in fitted.guarantees):
        return fitted
    from halfmask.kernels.trimming import Moves, best_moves  # noqa: PLC0415 # the compiler

    n_cells = fitted.partition.n_cells
    codes = np.stack([column.astype(np.int64) for column in fitted.codes])
    sensitive = np.stack([column.codes for column in fitted.sensitive] or [codes[0][:0]])
    scale = np.array([1.0 / max(1, coding.n_codes - 1) for coding in fitted.codings])
    cell_of_row, left = fitted.cell_of_row.copy(), max_rows
    for _ in range(MOST_ROUNDS):
        rows, starts = _by_cell(cell_of_row, n_cells)
        moves = Moves(
            np.zeros(n_cells),
            np.zeros(n_cells, dtype=np.int64),
            np.zeros(n_cells, dtype=np.int64),
            np.zeros(n_cells, dtype=np.int64),
        )
        best_moves(codes, sensitive, rows, starts, scale, k, rules, moves)
        taken = _affordable(moves.gain, moves.cost, left)
        if not len(taken):
            break
        left -= int(moves.cost[taken].sum())
        leaving = np.full(n_cells, -1, dtype=np.int64)
        leaving[taken] = moves.code[taken]
        kept = np.flatnonzero(cell_of_row >= 0)
        cells = cell_of_row[kept]
        gone = kept[codes[moves.column[cells], kept] == leaving[cells]]
        cell_of_row[gone] = -1
    if left == max_rows:
        return fitted
    return replace(fitted, cell_of_row=cell_of_row, partition=_shrunk(fitted, codes, cell_of_row))


def _by_cell(
    cell_of_row: NDArray[np.int32], n_cells: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the numbers of the rows that stay, cell after cell, and where each cell starts."""
    order = np.argsort(cell_of_row, kind="stable").astype(np.int64)
    n_gone = int((cell_of_row < 0).sum())
    sizes = np.bincount(cell_of_row[cell_of_row >= 0], minlength=n_cells)
    return order[n_gone:], np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _affordable(
    gain: NDArray[np.float64], count: NDArray[np.int64], left: int
) -> NDArray[np.int64]:
    """Return the cells whose offers save most for each suppressed row, as many as fit."""
    paying = np.flatnonzero(gain > 0)
    ranked = paying[np.argsort(-gain[paying] / count[paying], kind="stable")]
    return ranked[np.cumsum(count[ranked]) <= left]


def _shrunk(fitted: Fitted, codes: NDArray[np.int64], cell_of_row: NDArray[np.int32]) -> Partition:
    """Return the partition with the extents and sizes of the rows that stay."""
    kept = cell_of_row >= 0
    cells = cell_of_row[kept]
    low = np.full_like(fitted.partition.low, np.iinfo(np.int64).max)
    high = np.full_like(fitted.partition.high, -1)
    for j in range(len(codes)):
        np.minimum.at(low[:, j], cells, codes[j, kept])
        np.maximum.at(high[:, j], cells, codes[j, kept])
    sizes = np.bincount(cells, minlength=fitted.partition.n_cells).astype(np.int64)
    return replace(fitted.partition, low=low, high=high, sizes=sizes)
