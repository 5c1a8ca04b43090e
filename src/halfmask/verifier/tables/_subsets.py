"""Classes over each set of so many quasi-identifiers, counted one set after the other."""

from __future__ import annotations

import functools
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Final

import numpy as np

from halfmask.verifier.tables._counting import Counted, sum_cells
from halfmask.verifier.tables._rules import Unjudgeable
from halfmask.verifier.tables._wildcards import compatible_cells, row_ids

if TYPE_CHECKING:
    from collections.abc import Callable

    from halfmask.verifier.tables._counting import Cells

#: More sets than these take hours.
MOST_SETS: Final = 100_000


def worst_of_subsets(
    counted: Counted,
    column: str | None,
    size: int,
    level: Callable[[Cells], float],
    worst: Callable[[float, float], float],
) -> tuple[float, float]:
    """Return the worst level over all sets of columns: missing as a value, and as a wildcard."""
    n_columns = counted.codes.shape[1]
    if not 1 <= size <= n_columns or comb(n_columns, size) > MOST_SETS:
        raise Unjudgeable("it is about more quasi-identifiers than there are, or too many sets")
    value, wildcard = [], []
    for columns in combinations(range(n_columns), size):
        projected = _projected(counted, column, list(columns))
        value.append(level(projected.row_cells if column is None else projected.cells[column]))
        wildcard += _wildcard_levels(projected, column, level) or value[-1:]
    return functools.reduce(worst, value), functools.reduce(worst, wildcard)


def _wildcard_levels(
    counted: Counted, column: str | None, level: Callable[[Cells], float]
) -> list[float]:
    if counted.codes.all():
        return []
    return [level(block) for block in compatible_cells(counted, column)]


def _projected(counted: Counted, column: str | None, columns: list[int]) -> Counted:
    """Merge the classes that agree in some columns."""
    codes = counted.codes[:, columns]
    _, first, into = np.unique(row_ids(codes), return_index=True, return_inverse=True)
    sizes = np.bincount(into, weights=counted.sizes).astype(np.int64)
    cells = {}
    if column is not None:
        own = counted.cells[column]
        n_values = int(own.values.max()) + 1
        cells[column] = sum_cells(into[own.owners], own.values, own.counts, n_values)
    return Counted(sizes, cells, codes[first])
