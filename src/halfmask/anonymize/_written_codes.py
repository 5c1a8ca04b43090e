"""The number of what is written for each cell in each column, before it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray


def written_codes(
    columns: Iterable[tuple[NDArray[np.integer], NDArray[np.integer], int]], n_cells: int
) -> NDArray[np.int64]:
    """Return the number of what is written for each cell in each column, (cells, columns).

    Notes
    -----
    **Guarantees.** Cells of one number have one text, by the recodings `Ranges` and `Level`: their
    texts depend on the least and the greatest value of a cell, and on whether cells are missing.
    """
    return np.column_stack([_numbers(*column, n_cells) for column in columns])


def _numbers(
    cells: NDArray[np.integer], codes: NDArray[np.integer], n_values: int, n_cells: int
) -> NDArray[np.int64]:
    low = np.full(n_cells, n_values, dtype=np.int64)
    high = np.full(n_cells, -1, dtype=np.int64)
    missing = np.zeros(n_cells, dtype=np.int64)
    held = codes < n_values
    np.minimum.at(low, cells[held], codes[held].astype(np.int64))
    np.maximum.at(high, cells[held], codes[held].astype(np.int64))
    missing[cells[~held]] = 1
    keys = (low * (n_values + 1) + high + 1) * 2 + missing
    numbers: NDArray[np.int64] = np.unique(keys, return_inverse=True)[1].astype(np.int64)
    return numbers
