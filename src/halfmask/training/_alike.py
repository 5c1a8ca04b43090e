"""Alike: which rows of numbers are equal, found by sorting few whole rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def alike(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return a number for each row, the same for rows that are equal in every column.

    Notes
    -----
    Rows are told apart by a random weighted sum, and one row of each sum is sorted whole. Equal
    rows may get sums that differ in the last bit, and others the same one: the first are brought
    together again where whole rows are sorted, the second are looked for at the end, and then all
    rows are sorted.

    **Edge cases.** Minus zero is zero. What isn't a number is like nothing, not even itself.
    """
    weights = np.random.default_rng(0).standard_normal(values.shape[1])  # any find the same
    with np.errstate(over="ignore", invalid="ignore"):  # such sums tell nothing apart
        sums = values @ weights
    _, firsts, numbers = np.unique(sums, return_index=True, return_inverse=True)
    different, again = np.unique(values[firsts], axis=0, return_inverse=True)
    found: NDArray[np.int64] = again.reshape(-1)[numbers.reshape(-1)]
    if not np.array_equal(different[found], values):
        found = np.unique(values, axis=0, return_inverse=True)[1].reshape(-1)
    return found.astype(np.int64)
