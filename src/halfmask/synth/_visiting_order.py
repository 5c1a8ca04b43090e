"""The order in which columns are synthesized: each is drawn given those before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.metrics import mutual_info_score

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.synth._column_codes import ColumnCodes

__all__ = ["by_mutual_information"]

#: Columns are compared in so many bins, and on so many rows.
BINS = 20
ROWS = 20_000


def by_mutual_information(
    columns: Sequence[ColumnCodes], codes: Sequence[NDArray[np.int32]], *, seed: int
) -> list[int]:
    """Return the columns' places: next always the one that says most of those chosen.

    The first says most of all others. Mutual information is of values in at most 20 bins, on at
    most 20,000 rows.

    Parameters
    ----------
    columns, codes
        The columns, and the codes of all rows.
    seed
        Which rows are compared.
    """
    n = len(codes[0])
    rows = np.arange(n)
    if n > ROWS:
        rows = np.random.default_rng(seed).choice(n, ROWS, replace=False)
    binned = [_binned(column, code[rows]) for column, code in zip(columns, codes, strict=True)]
    d = len(binned)
    shared = np.zeros((d, d))
    for i in range(d):
        for j in range(i):
            shared[i, j] = shared[j, i] = mutual_info_score(binned[i], binned[j])
    left = list(range(d))
    chosen = [int(np.argmax(shared.sum(axis=1)))]
    left.remove(chosen[0])
    while left:
        best = max(left, key=lambda place: (shared[place, chosen].sum(), -place))
        chosen.append(best)
        left.remove(best)
    return chosen


def _binned(column: ColumnCodes, codes: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return numbers by ranks; of categories the most frequent, all others as one."""
    if column.n_codes <= BINS:
        return codes.astype(np.int64)
    if column.is_number:
        return np.floor(column.ranks * (BINS - 1)).astype(np.int64)[codes]
    bins = np.full(column.n_codes, BINS - 1)
    frequent = np.argsort(-column.counts, kind="stable")[: BINS - 1]
    bins[frequent] = np.arange(len(frequent))
    return bins[codes]
