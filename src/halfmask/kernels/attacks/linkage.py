"""How far each of some known values is from each released cell, added up over columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["add_category_gaps", "add_number_gaps"]


@njit()
def add_number_gaps(
    values: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    admits: NDArray[np.bool_],
    blank: NDArray[np.float64],
    weight: float,
    missing_cost: float,
    squared: bool,  # noqa: FBT001 # kernels take no keywords
    out: NDArray[np.float64],
) -> None:
    """Add to each pair how far the value lies outside the cell's range, times a weight.

    Parameters
    ----------
    values
        Known numbers, NaN where missing.
    low, high
        Ends of the cells; minus and plus infinity where a cell says nothing.
    admits
        Whether a cell may stand for a missing value.
    blank
        What is added for each cell to a known value: above 0 where the cell says nothing.
    weight
        What a gap of 1 costs, before it is squared.
    missing_cost
        What a missing value costs compared with a cell that can't be missing.
    squared
        Whether to add the squares of gaps.
    out
        (values, cells), added to.
    """
    for i in range(len(values)):
        value = values[i]
        if np.isnan(value):
            for r in range(len(low)):
                out[i, r] += 0.0 if admits[r] else missing_cost
        else:
            for r in range(len(low)):
                gap = max(low[r] - value, value - high[r], 0.0) * weight
                out[i, r] += (gap * gap if squared else gap) + blank[r]


@njit()
def add_category_gaps(
    values: NDArray[np.float64],
    codes: NDArray[np.int64],
    sets: NDArray[np.bool_],
    admits: NDArray[np.bool_],
    blank: NDArray[np.float64],
    missing_cost: float,
    out: NDArray[np.float64],
) -> None:
    """Add to each pair 1 where the category isn't among those of the cell.

    Parameters
    ----------
    values
        Codes of known categories, NaN where missing.
    codes
        Of each cell: the code of its category, -1 if it says nothing, -2 - s if it is the set s.
    sets
        (sets, categories): what is in a set.
    admits, blank, missing_cost, out
        As for numbers.
    """
    for i in range(len(values)):
        if np.isnan(values[i]):
            for r in range(len(codes)):
                out[i, r] += 0.0 if admits[r] else missing_cost
            continue
        value = int(values[i])
        for r in range(len(codes)):
            code = codes[r]
            if code >= 0:
                out[i, r] += 1.0 if code != value else 0.0
            elif code == -1:
                out[i, r] += blank[r]
            else:
                out[i, r] += 0.0 if sets[-2 - code, value] else 1.0
